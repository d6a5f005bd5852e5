"""From runs to rows: group by arm or by chosen keys, average over seeds, sort."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ablate.errors import UserError
from ablate.judge.intervals import Interval, over_seeds
from ablate.judge.keeping import Keeping, Measure
from ablate.judge.profile import profile
from ablate.report.runs.collect import Run
from ablate.report.runs.columns import BY_KEY, Column, Missing
from ablate.report.runs.kept import kept_by_measure
from ablate.report.runs.settings import (
    IDENTITY,
    Settings,
    check_keys,
    differing,
    parse_where,
    select,
    settings,
    text,
)


@dataclass(frozen=True)
class TableCell:
    """A column's value in a row: over how many of the row's runs, and whether it is undefined."""

    interval: Interval
    runs: int
    undefined: bool

    @property
    def mean(self) -> float | None:
        """The mean over seeds, None if no run of the row has a value."""
        return self.interval.mean


class Cells(dict[str, TableCell]):
    """A row's cells by column key, each averaged when it is first asked for.

    A terminal table shows a quarter of the columns, and 1000 runs must not take seconds.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        super().__init__()
        self.runs = runs

    def __missing__(self, key: str) -> TableCell:
        self[key] = _cell(self.runs, BY_KEY[key])
        return self[key]


@dataclass(frozen=True)
class TableRow:
    """An arm, a group of arms (`by`) or a run, with its measurements by column key."""

    keys: Settings
    runs: list[Run]
    status: Counter[str]
    label: Counter[str]
    cells: Cells
    profile: list[float | None]

    @property
    def seeds(self) -> list[Any]:
        """The distinct seeds of the row's runs, in order."""
        return distinct(run.record.seed for run in self.runs)

    @cached_property  # table, legend and files ask for it, and it weighs every document
    def kept(self) -> dict[Measure, dict[float, Keeping]]:
        """What the row keeps of what was learned at L, by measure and context."""
        return kept_by_measure(self.runs)


@dataclass(frozen=True)
class Table:
    """What a report shows. `runs` are all that were found, `left_out` those without a record."""

    keys: list[str]
    rows: list[TableRow]
    sorted_by: list[str]
    grouped: str  # "arm", "run" or "group": what a row is
    runs: list[Run]
    left_out: list[Run]


def distinct(values: Iterable[Any]) -> list[Any]:
    """Return values once each, numbers in order before texts, None last."""
    return sorted(dict.fromkeys(values), key=order)


def order(value: Any) -> tuple[int, float, str]:
    """Sort key of any setting: numbers, then texts, then nothing."""
    if value is None:
        return (2, 0.0, "")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (0, value, "")
    return (1, 0.0, text(value))


def build(
    runs: Sequence[Run],
    *,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    sort: Sequence[str] = (),
    each_run: bool = False,
) -> Table:
    """Build the table of all runs that match `where`; see the help of `ablate report`.

    Without `by` a row is an arm, with its seeds; with `each_run` it is a run. `sort` are keys, with
    a leading "-" for descending. Raises UserError for an unknown key or a condition without a run.
    """
    everything = [(run, settings(run)) for run in runs if run.readable is not None]
    wanted = parse_where(where)
    bare = [key.removeprefix("-") for key in sort]
    selected: list[tuple[Run, Settings]] = []
    if everything:  # else no key is known, and the damaged runs are still to be told
        known = list(dict.fromkeys(key for _, row in everything for key in row))
        shown = [*differing([row for _, row in everything]), *IDENTITY]
        check_keys(by, known, "--by", shown)
        check_keys(wanted, known, "--where", shown)
        check_keys(bare, [*known, *BY_KEY], "--sort", [*BY_KEY, *shown])
        selected = select(everything, wanted)
    keys = list(by) or _arm_keys(selected, each_run)
    # Records of one arm's name with other settings (edited, foreign) are rows of their own.
    names = [] if by else ["study", "name" if each_run else "arm"]
    groups = _grouped(selected, [*names, *keys])
    own = [key for key in dict.fromkeys((*keys, *bare)) if key not in BY_KEY]
    rows = [_row(group, own) for group in groups]
    default = ["val_loss", *keys]
    return Table(
        keys=keys,
        rows=_sorted(rows, [*sort, *default]),
        sorted_by=list(sort) or ["val_loss"],
        grouped="group" if by else "run" if each_run else "arm",
        runs=list(runs),
        left_out=[run for run in runs if run.readable is None],
    )


def _arm_keys(selected: Sequence[tuple[Run, Settings]], each_run: bool) -> list[str]:
    """The keys that tell the rows apart: what differs, and names where that is not enough."""
    rows = [row for _, row in selected]
    studies = ["study"] if len({row["study"] for row in rows}) > 1 else []
    differs = differing(rows)
    keys = [*studies, *differs]
    told_apart = {tuple(text(row.get(key)) for key in keys) for row in rows}
    if not differs or len(told_apart) < len({(row["study"], row["arm"]) for row in rows}):
        keys.append("arm")
    return [*keys, "seed"] if each_run else keys


def _grouped(
    selected: Sequence[tuple[Run, Settings]], keys: Sequence[str]
) -> list[list[tuple[Run, Settings]]]:
    groups: dict[tuple[str, ...], list[tuple[Run, Settings]]] = {}
    for run, row in selected:
        # A run of a folder of its own, even if a copied record gives it another's name.
        own = (str(run.directory),) if "name" in keys else ()
        groups.setdefault((*(text(row.get(key)) for key in keys), *own), []).append((run, row))
    return list(groups.values())


def _row(group: list[tuple[Run, Settings]], keys: Iterable[str]) -> TableRow:
    runs = [run for run, _ in group]
    first = group[0][1]
    mixed = [key for key in keys if len({text(row.get(key)) for _, row in group}) > 1]
    if mixed:
        raise UserError(f"--sort {mixed[0]}: differs within a row; add it to --by, or use --runs")
    return TableRow(
        keys={key: first[key] for key in keys if key in first},
        runs=runs,
        status=Counter(run.record.status or "unknown" for run in runs),
        label=Counter(run.label for run in runs if run.label is not None),
        cells=Cells(runs),
        profile=profile([run.record.gradients.parameters_first for run in runs]),
    )


def _cell(runs: Sequence[Run], column: Column) -> TableCell:
    # A single run shows what it measured, whatever became of it; a mean is over finished ones.
    usable = [
        run for run in runs if len(runs) == 1 or not column.trained or run.record.status == "done"
    ]
    values = [(run, column.extract(run.record)) for run in usable]
    numbers = [
        (run.record.seed, run.arm, value) for run, value in values if not isinstance(value, Missing)
    ]
    undefined = any(value is Missing.UNDEFINED for _, value in values)
    return TableCell(over_seeds(numbers, column.scale), len(numbers), undefined and not numbers)


def _sorted(rows: list[TableRow], keys: Sequence[str]) -> list[TableRow]:
    """Sort by several keys, the first foremost; undefined comes last in either direction."""
    for key in reversed(keys):
        rows = _sorted_by(rows, _value(key.removeprefix("-")), key.startswith("-"))
    return rows


def _sorted_by(
    rows: list[TableRow], value: Callable[[TableRow], Any], descending: bool
) -> list[TableRow]:
    known = [row for row in rows if value(row) is not None]
    unknown = [row for row in rows if value(row) is None]
    return sorted(known, key=lambda row: order(value(row)), reverse=descending) + unknown


def _value(key: str) -> Callable[[TableRow], Any]:
    if key in BY_KEY:
        return lambda row: row.cells[key].mean
    return lambda row: row.keys.get(key)
