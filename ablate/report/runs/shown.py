"""What a table shows: its runs, its columns, and the facts that they have in common."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ablate.report.runs.collect import Run
from ablate.report.runs.columns import COLUMNS, Column, Missing
from ablate.report.runs.tables import Table, distinct


@dataclass(frozen=True)
class TableFacts:
    """How many of what a table shows; the lists have each value once, in order."""

    studies: list[str]
    runs: int
    runs_shown: int
    runs_without_record: int
    arms: int
    seeds: list[Any]
    corpora: list[Any]
    train_lengths: list[Any]
    ln_vocabulary: list[float]


def shown(table: Table) -> list[Run]:
    """Return the runs that the rows are made of."""
    return [run for row in table.rows for run in row.runs]


def facts(table: Table) -> TableFacts:
    """Return the facts of the runs shown; of studies also those without a record."""
    runs = shown(table)
    records = [run.record for run in runs]
    return TableFacts(
        studies=distinct(run.study for run in (runs or table.runs)),
        runs=len(table.runs),
        runs_shown=len(records),
        runs_without_record=len(table.left_out),
        arms=len({(run.study, run.arm) for run in runs}),
        seeds=distinct(record.seed for record in records),
        corpora=distinct(known(record.corpus.name for record in records)),
        train_lengths=distinct(known(record.seq_len for record in records)),
        ln_vocabulary=distinct(known(record.loss.uniform for record in records)),
    )


def known(values: Iterable[Any]) -> list[Any]:
    """Return the values that are not None."""
    return [value for value in values if value is not None]


def columns_shown(table: Table) -> list[Column]:
    """Return the table's columns: the usual ones, what was measured, what it is sorted by."""
    sorted_by = {key.removeprefix("-") for key in table.sorted_by}
    return [
        column
        for column in COLUMNS
        if column.key in sorted_by
        or (column.panel and (not column.optional or _measured(column, shown(table))))
    ]


def _measured(column: Column, runs: Iterable[Run]) -> bool:
    """Whether any of the runs has measured a column, be it only to find it undefined."""
    return any(column.extract(run.record) is not Missing.UNMEASURED for run in runs)
