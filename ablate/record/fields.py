"""What the dataclasses of a record are made of. Standard library only."""

from collections.abc import Callable
from dataclasses import Field, field, fields
from functools import cache
from typing import Any, ClassVar

Reading = float | list[float | None] | list[list[float | None]] | None
"""What an instrument saw: of the head one number, of blocks a list, of their heads a list each."""


class RecordPart:
    """A record or a part of it: a dataclass whose attributes are the keys of its JSON object.

    A key that is a word of Python has an underscore behind it here.
    """

    along: ClassVar[str | None] = None
    """Of a table: the list that all other lists of the part have one value each for."""
    source: Any = None
    """The JSON that it was read from, with what this version cannot read; None if it was not."""


def left_out(make: Callable[[], Any] | None = None) -> Any:
    """A field whose key is not written while it has its default: None, or what `make` makes."""
    metadata = {"nothing": "left out"}
    if make is None:
        return field(default=None, metadata=metadata)
    return field(default_factory=make, metadata=metadata)


def null(make: Callable[[], Any]) -> Any:
    """A field that is written as null while it has its default, an empty list or part."""
    return field(default_factory=make, metadata={"nothing": "null"})


@cache
def json_fields(kind: Any) -> tuple[tuple[str, "Field[Any]"], ...]:
    """The key and the field of all that stands in JSON."""
    return tuple((f.name.rstrip("_"), f) for f in fields(kind))
