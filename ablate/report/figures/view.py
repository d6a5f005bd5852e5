"""What the figures draw: the rows of a table as series, told apart by colour and by panel."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ablate.report.figures.look import Look, is_number, looks
from ablate.report.runs.collect import Run
from ablate.report.runs.tables import Table, TableRow, distinct
from ablate.report.words.cells import NONE, key_text
from ablate.shell.clean import clean

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Drawing:
    """`name` is its file's; the caption says what is drawn, with units, and how to read it."""

    name: str
    title: str
    caption: str
    draw: Callable[[], "Figure"]


PLACEMENT = "norm"
PANELS = 9  # more small multiples than this cannot be read
LINES = 8  # more colours than this cannot be told apart
NAMES = frozenset(("study", "arm"))  # they tell rows apart where no setting does
LONGEST = 44


@dataclass(frozen=True)
class Series:
    """An arm, or a group of arms: what one line of a figure stands for."""

    keys: dict[str, str]
    row: TableRow

    @property
    def runs(self) -> list[Run]:
        """The runs that have a record, all seeds."""
        return self.row.runs

    def named(self, keys: Iterable[str]) -> str:
        """The settings by name, as on the command line, without those that it does not have."""
        known = [key for key in keys if self.keys[key] != NONE]
        return shortened(" ".join(f"{key}={self.keys[key]}" for key in known))


@dataclass(frozen=True)
class Panel:
    """Series that share axes."""

    title: str
    series: list[Series]


@dataclass(frozen=True)
class View:
    """The series of a report in the order of its table (the best validation loss first)."""

    series: list[Series]
    keys: list[str]

    @cached_property
    def colour_key(self) -> str | None:
        """The key whose values have the colours: the first, which is a scheme if any differs."""
        named = [key for key in self.keys if key not in NAMES]
        return next(iter(named or self.keys), None)

    def values(self, key: str) -> list[str]:
        """The values of a key that occur, numbers in order."""
        values = dict.fromkeys(series.keys[key] for series in self.series)
        return sorted(values, key=number_first)

    def looks(self, key: str | None) -> dict[str, Look]:
        """The look of each value of a key."""
        return {} if key is None else looks(key, self.values(key))

    def panels(self, keys: Sequence[str]) -> list[Panel]:
        """Split the series by these keys."""
        groups: dict[tuple[str, ...], list[Series]] = {}
        for series in self.series:
            groups.setdefault(tuple(series.keys[key] for key in keys), []).append(series)
        places = [{value: i for i, value in enumerate(self.values(key))} for key in keys]
        order = sorted(
            groups, key=lambda values: [p[v] for p, v in zip(places, values, strict=True)]
        )
        return [Panel(groups[values][0].named(keys), groups[values]) for values in order]


def in_turn(panels: Sequence[Panel], count: int) -> list[Series]:
    """Return at most `count` series: the best of each panel, then the second best, and so on."""
    most = max((len(panel.series) for panel in panels), default=0)
    turns = [
        panel.series[turn] for turn in range(most) for panel in panels if turn < len(panel.series)
    ]
    return turns[:count]


def view_of(table: Table) -> View:
    """Return the series of a table whose rows are arms or groups."""
    return View(
        [Series({key: key_text(row, key) for key in table.keys}, row) for row in table.rows],
        list(table.keys),
    )


def shortened(text: str, most: int = LONGEST) -> str:
    """Return a text of at most `most` characters, cut in its middle.

    >>> shortened("pos=rope,depth=24", 11)
    'pos=r…th=24'
    """
    text = clean(text)
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}…{text[-(most - most // 2 - 1) :]}"


def seeds(runs: Sequence[Run]) -> int:
    """Return over how many seeds runs are."""
    return len(distinct(run.record.seed for run in runs))


def number_first(value: str) -> tuple[int, float]:
    """Sort key of a setting's text: numbers in order, then words, which keep their order."""
    return (0, float(value)) if is_number(value) else (1, 0.0)
