"""What the dataclasses of a record are made of, and how they become JSON. Standard library only."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, field, fields
from functools import cache
from typing import Any

Reading = float | list[float | None] | list[list[float | None]] | None
"""What an instrument saw: of the head one number, of blocks a list, of their heads a list each."""


class RecordPart:
    """A record or a part of it: a dataclass whose attributes are the keys of its JSON object.

    A key that is a word of Python has an underscore behind it here.
    """


def left_out(make: Callable[[], Any] | None = None) -> Any:
    """A field whose key is not written while it has its default: None, or what `make` makes."""
    metadata = {"nothing": "left out"}
    if make is None:
        return field(default=None, metadata=metadata)
    return field(default_factory=make, metadata=metadata)


def null(make: Callable[[], Any]) -> Any:
    """A field that is written as null while it has its default, an empty list or part."""
    return field(default_factory=make, metadata={"nothing": "null"})


def content_of(part: RecordPart) -> dict[str, Any]:
    """Return a part as JSON would hold it; numbers that are not finite are still themselves."""
    content: dict[str, Any] = {}
    for key, attribute in _fields_of(part):
        value = vars(part)[attribute.name]
        nothing = attribute.metadata.get("nothing")
        empty = isinstance(value, RecordPart) and value == type(value)()
        if nothing and value == _default(attribute):
            if nothing == "null":
                content[key] = None
        else:
            content[key] = None if nothing and empty else _json(value)
    return content


def changed_content(source: Any, before: Any, now: Any) -> Any:
    """Return `source`, the JSON that `before` was read from, with what is different in `now`.

    Whatever else it holds (keys of other versions, values that could not be read) stays as it is
    and where it is; a key that was missing and is still without a value stays missing.
    """
    if now == before:
        return source
    if isinstance(now, RecordPart) and isinstance(source, dict):
        changes = {
            key: changed_content(
                source.get(key), vars(before)[attribute.name], vars(now)[attribute.name]
            )
            for key, attribute in _fields_of(now)
            if vars(before)[attribute.name] != vars(now)[attribute.name]
        }
        return {**source, **changes}
    if isinstance(now, list) and isinstance(source, list) and len(source) == len(before):
        kept = [changed_content(*three) for three in zip(source, before, now, strict=False)]
        return kept + [_json(item) for item in now[len(kept) :]]
    return _json(now)


def _json(value: Any) -> Any:
    if isinstance(value, RecordPart):
        return content_of(value)
    if isinstance(value, Mapping):
        return {key: _json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json(item) for item in value]
    return value


def _default(attribute: "Field[Any]") -> Any:
    factory = attribute.default_factory
    return attribute.default if factory is MISSING else factory()


def _fields_of(part: RecordPart) -> tuple[tuple[str, "Field[Any]"], ...]:
    kind: Any = type(part)
    return json_fields(kind)


@cache
def json_fields(kind: Any) -> tuple[tuple[str, "Field[Any]"], ...]:
    """The key and the field of all that stands in JSON."""
    return tuple((f.name.rstrip("_"), f) for f in fields(kind) if f.init)
