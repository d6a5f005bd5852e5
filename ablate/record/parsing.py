"""From JSON to the dataclasses of a record, by their type hints alone. Standard library only.

Nothing is raised: what is missing, null or of another type reads as the field's default, and what
is of another type is named. The lists of what was read are those of the JSON where they fit.
"""

import math
import types
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from ablate.record.fields import Reading, RecordPart, json_fields

LARGEST = 1e150
"""A number whose square overflows would break every later sum; none beyond this is read."""

AnyPart = TypeVar("AnyPart", bound=RecordPart)


@dataclass
class Misfit:
    """A value that does not fit. It is found without its path, and told it on the way out."""

    problem: str
    path: str = ""

    def inside(self, key: str) -> None:
        """It stands in what has this key."""
        self.path = f"{key}.{self.path}" if self.path else key


Misfits = list[Misfit]
Reader = Callable[[Any, Misfits], Any]
"""From (a value of JSON that is not null, where to name what does not fit); None: of no use."""


def parse(kind: type[AnyPart], content: Any) -> tuple[AnyPart, list[str]]:
    """Return the part that JSON `content` describes, and what in it does not fit, each by its path.

    >>> from ablate.record.record import Loss
    >>> loss, misfits = parse(Loss, {"first": 5.5, "final": "low", "median": 4.0})
    >>> loss.first, loss.final, misfits
    (5.5, None, ['`final` is text, not a number'])
    """
    misfits: Misfits = []
    hint: Any = kind
    part = None if content is None else _reader(hint)(content, misfits)
    return (kind() if part is None else part), [
        f"`{misfit.path}` {misfit.problem}" for misfit in misfits
    ]


@cache
def _reader(hint: Any) -> Reader:
    """The reader of values of a type hint."""
    if hint == Reading:
        return _read_reading
    hint, _ = _without_none(hint)
    if get_origin(hint) is list:
        return _list_reader(*get_args(hint))
    if get_origin(hint) is dict:
        return _dict_reader(get_args(hint)[1])
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
    readers = {key: (each.name, _reader(hints[each.name])) for key, each in json_fields(kind)}
    constants = {each.name: each.default for each in fields(kind) if each.default is not MISSING}
    factories = [
        (each.name, each.default_factory)
        for each in fields(kind)
        if each.default_factory is not MISSING
    ]

    others = _lists_along(kind, hints) if kind.along else []

    def read(value: Any, misfits: Misfits) -> Any:
        if not isinstance(value, dict):
            return _misfit(value, "an object", misfits)
        # Not kind(...): a report reads thousands of parts, most of whose defaults are not wanted.
        part, attributes, before = object.__new__(kind), constants.copy(), len(misfits)
        for key, content in value.items():
            known_field = readers.get(key)
            if content is not None and known_field is not None:
                name, read_field = known_field
                usable = read_field(content, misfits)
                if usable is not None:
                    attributes[name] = usable
                if len(misfits) > before:
                    for misfit in misfits[before:]:
                        misfit.inside(key)
                    before = len(misfits)
        for name, make in factories:
            if name not in attributes:
                attributes[name] = make()
        if kind.along is not None:
            _align(attributes, kind.along, others, misfits)
        part.__dict__ = attributes | {"source": value}
        return part

    return read


def _lists_along(kind: Any, hints: dict[str, Any]) -> list[tuple[str, bool]]:
    """The other lists of a table, and whether each holds None where it was not read."""
    return [
        (each.name, _without_none(*get_args(hint))[1] and not each.metadata)
        for _, each in json_fields(kind)
        if get_origin(hint := hints[each.name]) is list and each.name != kind.along
    ]


def _align(
    attributes: dict[str, Any], along: str, others: list[tuple[str, bool]], misfits: Misfits
) -> None:
    """Empty the lists that are not as long as the one they stand along."""
    size = len(attributes[along])
    for name, may_hold_none in others:
        count = len(attributes[name])
        if count != size:
            if count:
                problem = f"has {count} values, where `{along.rstrip('_')}` has {size}"
                misfits.append(Misfit(problem, name))
            attributes[name] = [None] * size if may_hold_none else []


def _list_reader(hint: Any) -> Reader:
    """The reader of a list; an item that does not fit is None where it may be, else empty.

    A list whose items can be neither is read as a whole or not at all.
    """
    kind, may_be_none = _without_none(hint)
    read_item = _reader(kind)
    is_part = isinstance(kind, type) and issubclass(kind, RecordPart)
    name = "a list of numbers" if kind in (float, int) else "a list"

    def read(value: Any, misfits: Misfits) -> Any:
        if not isinstance(value, list):
            return _misfit(value, name, misfits)
        if kind in (float, int) and _all_numbers(value, may_be_none, kind):
            return value
        wrong: Misfits = []
        items = [None if item is None else read_item(item, wrong) for item in value]
        if is_part:
            misfits += wrong  # which of the items it is need not be told
            return [
                _of_no_use(kind, value[i]) if item is None else item for i, item in enumerate(items)
            ]
        if wrong or (None in items and not may_be_none):
            misfits.append(Misfit(f"is not {name}"))
        return items if may_be_none or None not in items else None

    return read


def _of_no_use(kind: Any, content: Any) -> Any:
    """An empty part that stands for what could not be read."""
    part = kind()
    part.source = content
    return part


def _dict_reader(hint: Any) -> Reader:
    if hint is Any:
        return lambda value, misfits: (
            value if isinstance(value, dict) else _misfit(value, "an object", misfits)
        )
    read_item = _reader(hint)

    def read(value: Any, misfits: Misfits) -> Any:
        if not isinstance(value, dict):
            return _misfit(value, "an object", misfits)
        items = {}
        for key, item in value.items():
            before = len(misfits)
            usable = None if item is None else read_item(item, misfits)
            for misfit in misfits[before:]:
                misfit.inside(key)
            if usable is not None:
                items[key] = usable
        return items

    return read


def _all_numbers(values: list[Any], may_be_none: bool, kind: type) -> bool:
    """Whether a list holds usable numbers of one kind alone, and null where it may: most do."""
    kinds = set(map(type, values))
    if kinds == {kind}:
        return min(values) >= -LARGEST and max(values) <= LARGEST
    if may_be_none and kinds == {kind, types.NoneType}:
        return all(value is None or -LARGEST <= value <= LARGEST for value in values)
    return not kinds


def _read_reading(value: Any, misfits: Misfits) -> Any:
    if isinstance(value, list) and _all_numbers(value, True, float):
        return value
    wrong: Misfits = []
    reading = _read_nested(value, wrong)
    if wrong:
        misfits.append(Misfit("is not a number or a list of numbers"))
    return reading


def _read_nested(value: Any, misfits: Misfits) -> Any:
    if not isinstance(value, list):
        return _read_number(value, misfits)
    if _all_numbers(value, True, float):
        return value
    return [None if item is None else _read_nested(item, misfits) for item in value]


def usable(value: Any) -> float | None:
    """Return a value of JSON if it is a number that later sums can bear, else None.

    >>> usable(2.5), usable(True), usable(1e200), usable("2")
    (2.5, None, None, None)
    """
    known = isinstance(value, float | int) and not isinstance(value, bool)
    return value if known and -LARGEST <= value <= LARGEST else None


def _read_number(value: Any, misfits: Misfits) -> Any:
    number = usable(value)
    if number is None and value not in (math.inf, -math.inf):  # these read as null does
        if isinstance(value, int | float):
            misfits.append(Misfit("is not a number that can be used"))
        else:
            _misfit(value, "a number", misfits)
    return number


def _read_whole(value: Any, misfits: Misfits) -> Any:
    number = _read_number(value, misfits)
    if isinstance(number, float) and not number.is_integer():
        misfits.append(Misfit("is not a whole number"))
        return None
    return None if number is None else int(number)


def _read_text(value: Any, misfits: Misfits) -> Any:
    return value if isinstance(value, str) else _misfit(value, "text", misfits)


def _read_flag(value: Any, misfits: Misfits) -> Any:
    return value if isinstance(value, bool) else _misfit(value, "true or false", misfits)


def _misfit(value: Any, expected: str, misfits: Misfits) -> None:
    misfits.append(Misfit(f"is {kind_of(value)}, not {expected}"))


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
