"""What a reader must know of a table's columns, and of its means and intervals."""

from collections.abc import Iterable

from ablate.report.runs.columns import LENGTH
from ablate.report.runs.shown import columns_shown, known, shown
from ablate.report.runs.tables import Table, distinct
from ablate.report.words.length_sentences import LEGEND, length_cells
from ablate.report.words.numbers import enumerated


def legend(table: Table) -> list[str]:
    """Return a line for each kind of column, with its unit."""
    columns = columns_shown(table)
    lines = []
    for column in columns:
        if column.panel != LENGTH:
            lines.append(f"{column.name}: {column.meaning}{_more(column.key, table)}")
        if column.key == "grad_ratio":
            lines.append(
                "bars: that norm by block, first to last, log scale, median over seeds; the full"
                " height of the bars is a factor of 10, or the row's range if that is more; · is"
                " zero"
            )
    lines.append(
        "acc. at: share of the same held-out targets predicted right with L to 8L tokens of"
        " context, trained at L; undef.: the scheme cannot do that length"
    )
    if length_cells(table.rows) is not None:
        lines.append(LEGEND)
    if any(column.quantity == "exact" for column in columns):
        lines.append(
            "exact at: share of a generated task's examples of L to 8L tokens whose whole answer is"
            " right, the end token aside; acc. at is then the share of answer tokens"
        )
    return lines


def _more(key: str, table: Table) -> str:
    """What a column's number is to be compared with."""
    if key == "grad_ratio":
        return "; 1 is even, below 1 it vanishes towards the input"
    if key != "val_loss":
        return ""
    losses = known(
        run.record.loss.unigram_windows or run.record.loss.unigram for run in shown(table)
    )
    unigram = enumerated(distinct(f"{loss:.3f}" for loss in losses))
    return f"; a model that knows only frequencies gets {unigram}" if unigram else ""


def notes(table: Table) -> list[str]:
    """Return what a reader must know of this table's means and intervals, if it applies."""
    return [line for line, applies in _notes(table) if applies]


def _notes(table: Table) -> Iterable[tuple[str, bool]]:
    columns = columns_shown(table)  # once: it looks into every record
    cells = [(row, row.cells[column.key]) for row in table.rows for column in columns]
    intervals = [cell.interval for _, cell in cells]
    yield (
        "±: half-width of the 95 % t-interval of the mean over seeds; ×÷: the same as a factor"
        " around the geometric mean",
        any(interval.half_width is not None for interval in intervals),
    )
    yield (
        "a row averages its arms within each seed first; the interval is over seeds",
        table.grouped == "group" and any(len(row.runs) > len(row.seeds) for row in table.rows),
    )
    yield (
        "a value without ± is one seed's: one seed has no interval",
        table.grouped != "run" and any(interval.n == 1 for interval in intervals),
    )
    yield (
        "a mean of several seeds without an interval: its seeds cover different arms, or a norm of"
        " it is zero",
        any(interval.n > 1 and interval.half_width is None for interval in intervals),
    )
    yield (
        "(k of n): the mean is over k of the row's n runs; of a training's results only finished"
        " runs are averaged",
        any(0 < cell.runs < len(row.runs) for row, cell in cells),
    )
