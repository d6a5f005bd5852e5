"""Texts of a table's cells: numbers with their interval, settings, counts of statuses.

Everything that comes from a record or a folder's name passes `clean`, so that no name can write
control codes to a terminal.
"""

from collections import Counter

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


def number(value: float, column: Column) -> str:
    """Return a number at the precision of its column.

    >>> from ablate.report.runs.columns import BY_KEY
    >>> number(5.5452, BY_KEY["first_loss"]), number(0.012, BY_KEY["excess"])
    ('5.545', '+0.012')
    >>> number(0.0000123, BY_KEY["grad_ratio"]), number(12345.6, BY_KEY["first_loss"])
    ('1.23e-05', '1.235e+04')
    """
    if column.scale == "log":
        return f"{value:#.3g}".removesuffix(".")
    sign = "+" if column.signed else ""
    if column.decimals and abs(value) >= 1000:
        return f"{value:{sign}.4g}"
    return f"{value:{sign}z.{column.decimals}f}"  # z: no "-0.000"


def cell_parts(cell: TableCell, column: Column, runs: int) -> list[str]:
    """Return a cell's text in parts that may stand on lines of their own.

    The mean with its interval, and how many of the row's runs it is over if not all.
    """
    mean, half = cell.interval.mean, cell.interval.half_width
    if mean is None:
        return [Missing.UNDEFINED.value if cell.undefined else NONE]
    told = number(mean, column)
    if half is not None and column.scale == "log":
        told += f" ×÷{half:#.3g}".removesuffix(".")
    elif half is not None:
        told += f" ±{number(half, column).removeprefix('+')}"
    return [told] if cell.runs == runs else [told, f"({cell.runs} of {runs})"]


def counts(counted: Counter[str], runs: int, known: tuple[str, ...]) -> list[str]:
    """Return "done" for one run, "2 done", "1 diverged" for several, in the order of `known`."""
    names = sorted(counted, key=lambda name: known.index(name) if name in known else len(known))
    if runs == 1:
        return [clean(name) for name in names] or [NONE]
    return [f"{counted[name]} {clean(name)}" for name in names] or [NONE]


def status_parts(row: TableRow) -> list[str]:
    """Return the counts of a row's statuses, finished first."""
    return counts(row.status, len(row.runs), ("done", *STATUSES))


def label_parts(row: TableRow) -> list[str]:
    """Return the counts of a row's labels, healthy first."""
    return counts(row.label, len(row.runs), LABELS)
