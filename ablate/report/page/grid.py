"""Tables of the page: cells with what they show and what they are sorted by."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ablate.report.figures.view import number_first

FILTERED = 6  # columns that get a menu to filter by
VALUES = 40  # of a menu


@dataclass(frozen=True)
class Head:
    """A column's heading, what it means, and whether it holds numbers or words to filter by."""

    name: str
    meaning: str = ""
    number: bool = False
    menu: bool = False


@dataclass(frozen=True)
class GridCell:
    """What a cell shows, what it is sorted by if that is another thing, and its kind for colour."""

    text: str
    value: Any = None
    kind: str = ""
    bars: list[float] = field(default_factory=list)
    parts: list[tuple[str, str]] = field(default_factory=list)  # texts, each with its kind


@dataclass(frozen=True)
class Grid:
    """A table with its menus: column → values."""

    name: str
    title: str
    caption: str
    heads: list[Head]
    rows: list[list[GridCell]]

    @property
    def menus(self) -> list[tuple[int, str, list[str]]]:
        """Return (column, heading, values) of the menus."""
        columns = [[row[place].text for row in self.rows] for place in range(len(self.heads))]
        heads = [head.name if head.menu else "" for head in self.heads]
        return menus(list(zip(heads, columns, strict=True)))


def menus(columns: Sequence[tuple[str, Sequence[str]]]) -> list[tuple[int, str, list[str]]]:
    """Return (place, heading, values) of the named columns with a choice, at most `FILTERED`."""
    choices = []
    for place, (name, column) in enumerate(columns):
        values = [value for value in dict.fromkeys(column) if value]
        if name and 1 < len(values) <= VALUES:
            choices.append((place, name, sorted(values, key=number_first)))
    return choices[:FILTERED]
