"""Texts of a table's cells: numbers with their interval, settings, counts of statuses.

Everything that comes from a record or a folder's name passes `clean`, so that no name can write
control codes to a terminal.
"""

from collections import Counter
from dataclasses import dataclass

from ablate.judge.labels import LABELS
from ablate.record.record import STATUSES
from ablate.report.runs.columns import Column, Missing
from ablate.report.runs.settings import key_value
from ablate.report.runs.tables import TableCell, TableRow
from ablate.shell.clean import clean

NONE = Missing.UNMEASURED.value


def key_text(row: TableRow, key: str) -> str:
    """Return a row's setting for the table."""
    return clean(key_value(key, row.keys[key])) if key in row.keys else NONE


def number(value: float, column: Column, signed: bool | None = None) -> str:
    """Return a number at the precision of its column, with a sign if its column has one.

    >>> from ablate.report.runs.columns import BY_KEY
    >>> number(5.5452, BY_KEY["first_loss"]), number(0.012, BY_KEY["excess"])
    ('5.545', '+0.012')
    >>> number(0.0000123, BY_KEY["grad_ratio"]), number(12345.6, BY_KEY["first_loss"])
    ('1.23e-05', '1.235e+04')
    """
    if column.scale == "log":
        return _three_digits(value)
    sign = "+" if (column.signed if signed is None else signed) else ""
    if column.decimals and abs(value) >= 1000:
        return f"{value:{sign}.4g}"
    return f"{value:{sign}z.{column.decimals}f}"  # z: no "-0.000"


def _three_digits(value: float) -> str:
    return f"{value:#.3g}".removesuffix(".")


@dataclass(frozen=True)
class CellText:
    """A cell's number with its interval, and over how many of the row's runs it is if not all."""

    number: str
    spread: str = ""
    share: str = ""

    @property
    def parts(self) -> list[str]:
        """The texts that may stand on lines of their own."""
        mean = f"{self.number} {self.spread}" if self.spread else self.number
        return [mean, self.share] if self.share else [mean]


def cell_text(cell: TableCell, column: Column, runs: int) -> CellText:
    """Return the text of a cell of a row of so many runs."""
    mean, half = cell.interval.mean, cell.interval.half_width
    if mean is None:
        return CellText(Missing.UNDEFINED.value if cell.undefined else NONE)
    spread = ""
    if half is not None:
        log = column.scale == "log"
        spread = f"×÷{_three_digits(half)}" if log else f"±{number(half, column, signed=False)}"
    share = "" if cell.runs == runs else f"({cell.runs} of {runs})"
    return CellText(number(mean, column), spread, share)


@dataclass(frozen=True)
class NameCount:
    """How many runs of a row have a status or a label."""

    text: str
    name: str


def counts(counted: Counter[str], runs: int, known: tuple[str, ...]) -> list[NameCount]:
    """Return "done" for one run, "2 done", "1 diverged" for several, in the order of `known`."""
    names = sorted(counted, key=lambda name: known.index(name) if name in known else len(known))
    each = [NameCount(f"{counted[name]} {clean(name)}", clean(name)) for name in names]
    if runs == 1:
        each = [NameCount(one.name, one.name) for one in each]
    return each or [NameCount(NONE, NONE)]


def statuses(row: TableRow) -> list[NameCount]:
    """Return the counts of a row's statuses, finished first."""
    return counts(row.status, len(row.runs), ("done", *STATUSES))


def labels(row: TableRow) -> list[NameCount]:
    """Return the counts of a row's labels, healthy first."""
    return counts(row.label, len(row.runs), LABELS)
