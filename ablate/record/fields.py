"""Between JSON and the dataclasses of a record, by their type hints alone. Standard library only.

Reading never raises: what is missing, null or of another type reads as the field's default, and
what is of another type is named. Writing leaves what was read and not changed as it stood.
"""

import types
from collections.abc import Callable, Mapping
from dataclasses import Field, field, fields
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

LARGEST = 1e150
"""A number whose square overflows would break every later sum; none beyond this is read."""

Reading = float | list[float | None] | list[list[float | None]] | None
"""What an instrument saw: of the head one number, of blocks a list, of their heads a list each."""

Misfits = list[str]
Reader = Callable[[Any, str, Misfits], Any]
"""From (a value of JSON that is not null, its path, where to name what does not fit)."""


class RecordPart:
    """A record or a part of it: a dataclass whose attributes are the keys of its JSON object.

    A key that is a word of Python has an underscore behind it here.
    """


AnyPart = TypeVar("AnyPart", bound=RecordPart)


def left_out(make: Callable[[], Any] = lambda: None) -> Any:
    """A field whose key is not written while it has its default, such as "not measured"."""
    return field(default_factory=make, metadata={"nothing": "left out"})


def null(make: Callable[[], Any]) -> Any:
    """A field that is written as null while it has its default, an empty list or part."""
    return field(default_factory=make, metadata={"nothing": "null"})


def parse(kind: type[AnyPart], content: Any) -> tuple[AnyPart, Misfits]:
    """Return the part that JSON `content` describes, and what in it does not fit, each by its path.

    >>> from ablate.record.record import Loss
    >>> loss, misfits = parse(Loss, {"first": 5.5, "final": True, "median": 4.0})
    >>> loss.first, loss.final, misfits
    (5.5, None, ['`final` is not a number that can be used'])
    """
    misfits: Misfits = []
    read: Reader = _reader(kind)  # type: ignore[arg-type]  # mypy: instances have no hash
    part = None if content is None else read(content, "", misfits)
    return (kind() if part is None else part), misfits


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
    factory: Any = attribute.default_factory
    return factory()


def _fields_of(part: RecordPart) -> tuple[tuple[str, "Field[Any]"], ...]:
    kind: Any = type(part)
    return _json_fields(kind)


@cache
def _json_fields(kind: Any) -> tuple[tuple[str, "Field[Any]"], ...]:
    """The key and the field of all that stands in JSON."""
    return tuple((f.name.rstrip("_"), f) for f in fields(kind) if f.init)


@cache
def _reader(hint: Any) -> Reader:
    """The reader of values of a type hint; it returns None for what cannot be used at all."""
    if hint == Reading:
        return _read_reading
    hint, _ = _without_none(hint)
    if get_origin(hint) is list:
        return _list_reader(*get_args(hint))
    if get_origin(hint) is dict:
        return _dict_reader(get_args(hint)[1])
    if hint is Any:
        return lambda value, path, misfits: value
    if isinstance(hint, type) and issubclass(hint, RecordPart):
        return _part_reader(hint)
    return {str: _read_text, bool: _read_flag, int: _read_whole, float: _read_number}[hint]


def _without_none(hint: Any) -> tuple[Any, bool]:
    """Take "or None" off a hint; whether it was there."""
    if isinstance(hint, types.UnionType) or get_origin(hint) is Union:
        (known,) = (kind for kind in get_args(hint) if kind is not types.NoneType)
        return known, True
    return hint, False


def _part_reader(kind: Any) -> Reader:
    hints = get_type_hints(kind)
    table = tuple((key, f.name, _reader(hints[f.name])) for key, f in _json_fields(kind))

    def read(value: Any, path: str, misfits: Misfits) -> Any:
        if not isinstance(value, dict):
            return _misfit(value, "an object", path, misfits)
        part, prefix = kind(), f"{path}." if path else ""
        for key, name, read_field in table:
            content = value.get(key)
            if content is not None:
                usable = read_field(content, prefix + key, misfits)
                if usable is not None:
                    part.__dict__[name] = usable
        return part

    return read


def _list_reader(hint: Any) -> Reader:
    """The reader of a list; an item that does not fit is None where it may be, else empty.

    A list whose items can be neither is read as a whole or not at all.
    """
    kind, may_be_none = _without_none(hint)
    read_item = _reader(kind)
    part = kind if isinstance(kind, type) and issubclass(kind, RecordPart) else None
    numbers = kind in (float, int)
    name = "a list of numbers" if numbers else "a list"

    def read(value: Any, path: str, misfits: Misfits) -> Any:
        if not isinstance(value, list):
            return _misfit(value, name, path, misfits)
        if numbers and _all_numbers(value, may_be_none, kind):
            return value
        wrong: Misfits = []
        items = [
            None if item is None else read_item(item, f"{path}[{place}]", wrong)
            for place, item in enumerate(value)
        ]
        if part is not None:
            misfits += wrong
            return [part() if item is None else item for item in items]
        if wrong or (None in items and not may_be_none):
            misfits.append(f"`{path}` is not {name}")
        return items if may_be_none or None not in items else None

    return read


def _all_numbers(values: list[Any], may_be_none: bool, kind: Any = float) -> bool:
    """Whether a list holds usable numbers of one kind alone, and null where it may: most do."""
    return all(
        -LARGEST <= item <= LARGEST if type(item) is kind else item is None and may_be_none
        for item in values
    )


def _dict_reader(hint: Any) -> Reader:
    read_item = _reader(hint)
    plain = hint is Any

    def read(value: Any, path: str, misfits: Misfits) -> Any:
        if not isinstance(value, dict):
            return _misfit(value, "an object", path, misfits)
        if plain:
            return value
        items = (
            (key, None if item is None else read_item(item, f"{path}.{key}", misfits))
            for key, item in value.items()
        )
        return {key: item for key, item in items if item is not None}

    return read


def _read_reading(value: Any, path: str, misfits: Misfits) -> Any:
    wrong: Misfits = []
    found = _nested(value, wrong)
    if wrong:
        misfits.append(f"`{path}` is not a number or a list of numbers")
    return found


def _nested(value: Any, misfits: Misfits) -> Any:
    if isinstance(value, list):
        if _all_numbers(value, may_be_none=True):
            return value
        return [None if item is None else _nested(item, misfits) for item in value]
    return _read_number(value, "", misfits)


def usable(value: Any) -> float | None:
    """Return a value of JSON if it is a number that later sums can bear, else None.

    >>> usable(2.5), usable(True), usable(1e200), usable("2")
    (2.5, None, None, None)
    """
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return value if known and abs(value) <= LARGEST else None


def _read_number(value: Any, path: str, misfits: Misfits) -> Any:
    number = usable(value)
    if number is None and isinstance(value, int | float):
        misfits.append(f"`{path}` is not a number that can be used")
    elif number is None:
        _misfit(value, "a number", path, misfits)
    return number


def _read_whole(value: Any, path: str, misfits: Misfits) -> Any:
    number = _read_number(value, path, misfits)
    if isinstance(number, float) and not number.is_integer():
        misfits.append(f"`{path}` is not a whole number")
        return None
    return None if number is None else int(number)


def _read_text(value: Any, path: str, misfits: Misfits) -> Any:
    return value if isinstance(value, str) else _misfit(value, "text", path, misfits)


def _read_flag(value: Any, path: str, misfits: Misfits) -> Any:
    return value if isinstance(value, bool) else _misfit(value, "true or false", path, misfits)


def _misfit(value: Any, expected: str, path: str, misfits: Misfits) -> None:
    misfits.append(f"`{path}` is {kind_of(value)}, not {expected}")


def kind_of(value: Any) -> str:
    """Name the type of a value of JSON for a person.

    >>> kind_of(None), kind_of(True), kind_of(2), kind_of([])
    ('null', 'true or false', 'a number', 'a list')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "an object" if isinstance(value, dict) else "a list"
