"""The page's table of results: the columns of the report, and the gradient by block as bars."""

from collections.abc import Sequence
from typing import Any

from ablate.judge.profile import logarithms
from ablate.report.page.grid import Grid, GridCell, Head
from ablate.report.runs.columns import LENGTH, Column
from ablate.report.runs.shown import columns_shown, facts
from ablate.report.runs.tables import Table
from ablate.report.words.cells import NameCount, cell_text, key_text, labels, statuses
from ablate.report.words.length_sentences import LEGEND, length_cells


def results(table: Table) -> Grid:
    """The rows of the report's table with its columns, and what each row took."""
    lengths = facts(table).train_lengths
    columns = columns_shown(table)
    heads = [Head(key, menu=True) for key in table.keys]
    heads += [Head("status", "what happened to the processes", menu=True)]
    heads += [Head("label", "what the training curves look like", menu=True)]
    for column in columns:
        heads.append(Head(_heading(column, lengths), column.meaning, number=True))
        if column.key == "grad_ratio":
            meaning = "gradient norm by block at step 1, first to last, log scale"
            heads.append(Head("grad. by block", meaning))
    words_at_length = length_cells(table.rows)
    if words_at_length is not None:
        heads.append(Head(f"against L, {words_at_length[0]}", LEGEND, menu=True))
    rows = []
    for place, row in enumerate(table.rows):
        cells = [GridCell(key_text(row, key), row.keys.get(key)) for key in table.keys]
        cells.append(_counts(statuses(row)))
        cells.append(_counts(labels(row)))
        for column in columns:
            cell = row.cells[column.key]
            shown = " ".join(cell_text(cell, column, len(row.runs)).parts)
            kind = "undefined" if cell.undefined else ""
            cells.append(GridCell(shown, cell.mean, kind))
            if column.key == "grad_ratio":
                cells.append(GridCell("", bars=_heights(row.profile)))
        if words_at_length is not None:
            cells.append(GridCell(words_at_length[1][place]))
        rows.append(cells)
    what = {"arm": "an arm over its seeds", "group": "a group of arms"}.get(table.grouped, "a run")
    return Grid("rows", "Results", f"A row is {what}.", heads, rows)


def _heading(column: Column, lengths: Sequence[Any]) -> str:
    if column.panel == LENGTH and column.factor == 1 and len(lengths) == 1:
        return f"{column.name} = {lengths[0]:g}"
    return column.name


def _counts(counts: Sequence[NameCount]) -> GridCell:
    """A cell of counts such as "2 done", "1 failed", each in the colour of its word."""
    parts = [(count.text, count.name) for count in counts]
    return GridCell(" ".join(count.text for count in counts), parts=parts)


def _heights(profile: Sequence[float | None]) -> list[float]:
    """Return bars of 0 (nothing) or 0.08 to 1, on a log scale that spans at least a decade."""
    logs, low, high = logarithms(profile)
    if all(log is None for log in logs):
        return []
    share = 0.92 / (high - low)
    return [0.0 if log is None else round(0.08 + share * (log - low), 3) for log in logs]
