"""What each arm was given, in words: the ledger's fields, and how its lr came about."""

from ablate.report.inference.ledger import LedgerRow
from ablate.report.inference.ledger_fields import LedgerField
from ablate.report.runs.settings import text
from ablate.report.words.cautions import short
from ablate.report.words.cells import NONE


def lr_choice(row: LedgerRow) -> str:
    """Say how an arm's learning rate, or another key, came about."""
    if row.choice is None:
        return "a factor: not chosen" if row.lr_varies else "the same for all"
    seeds = ", ".join(map(text, row.choice.seeds))
    among = ", ".join(row.choice.among)
    return f"chosen among {among} on seed {seeds}, which is not reported"


def line_value(field: LedgerField, row: LedgerRow) -> str:
    """Return a field's values for a line: counts with separators, hashes shortened."""
    values = row.values[field.key]
    if field.counted:
        values = tuple(f"{float(value):,.0f}" for value in values)
    return " and ".join(map(short, values)) or NONE


def cell_value(field: LedgerField, row: LedgerRow) -> str:
    """Return a field's values for a cell of a table."""
    cut = _grouped if field.number else _cut
    return ", ".join(cut(short(value)) for value in row.values[field.key]) or NONE


def _cut(value: str) -> str:
    return value[:30]


def sort_value(value: str) -> float | None:
    """Return the number that a value is sorted by, None if it is none."""
    try:
        return float(value)
    except ValueError:
        return None


def _grouped(value: str) -> str:
    number = sort_value(value)
    return f"{number:,.0f}" if number is not None and abs(number) >= 1000 else value
