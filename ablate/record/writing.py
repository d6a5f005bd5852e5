"""From the dataclasses of a record to JSON."""

from collections.abc import Mapping
from dataclasses import MISSING, Field
from typing import Any

from ablate.record.fields import RecordPart, json_fields
from ablate.record.parsing import parse


def content_of(part: RecordPart) -> Any:
    """Return a part as JSON would hold it; numbers that are not finite are still themselves.

    Of a part that was read, all that was not changed stays as it stood and where it stood: keys of
    other versions, values that could not be read. A key that was missing and still has no value
    stays missing.
    """
    kind: Any = type(part)
    if part.source is None:
        return _laid_out(part)
    before, _ = parse(kind, part.source)
    if part == before:
        return part.source
    changes = {
        key: _json(vars(part)[attribute.name])
        for key, attribute in json_fields(kind)
        if vars(part)[attribute.name] != vars(before)[attribute.name]
    }
    return {**part.source, **changes} if isinstance(part.source, dict) else _laid_out(part)


def _laid_out(part: RecordPart) -> dict[str, Any]:
    """A part that was made here: every key, but for those that are left out without a value."""
    kind: Any = type(part)
    content: dict[str, Any] = {}
    for key, attribute in json_fields(kind):
        value = vars(part)[attribute.name]
        nothing = attribute.metadata.get("nothing")
        if nothing and value == _default(attribute):
            if nothing == "null":
                content[key] = None
        elif nothing and isinstance(value, RecordPart) and value == type(value)():
            content[key] = None  # it was asked for, and there is nothing to tell
        else:
            content[key] = _json(value)
    return content


def _default(attribute: "Field[Any]") -> Any:
    factory = attribute.default_factory
    return attribute.default if factory is MISSING else factory()


def _json(value: Any) -> Any:
    if isinstance(value, RecordPart):
        return content_of(value)
    if isinstance(value, Mapping):
        return {key: _json(item) for key, item in value.items()}
    return [_json(item) for item in value] if isinstance(value, list) else value
