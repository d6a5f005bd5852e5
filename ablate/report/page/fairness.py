"""The page's ledger, what each arm was given; and what the runs were made with."""

import hashlib
from collections.abc import Sequence
from typing import Any

from ablate.record.writing import content_of
from ablate.report.inference.analysis import Analysis
from ablate.report.inference.ledger import LedgerRow
from ablate.report.inference.ledger_fields import FIELDS, LedgerField
from ablate.report.page.grid import Grid, GridCell, Head
from ablate.report.page.runs import fingerprint
from ablate.report.runs.collect import Run
from ablate.report.runs.settings import text
from ablate.report.runs.tables import distinct
from ablate.report.words.cautions import cell_value, lr_choice, sort_value
from ablate.report.words.cells import NONE
from ablate.shell.clean import clean


def ledger(analysis: Analysis) -> Grid:
    """What each arm was given; what is the same for all stands in the caption."""
    fields = [field for field in FIELDS if field.heading]
    heads = [Head("arm"), *(Head(field.heading, number=field.number) for field in fields)]
    heads += [Head("time, s", "mean of its finished runs", number=True), Head("how lr was chosen")]
    rows = [_row(row, fields) for row in analysis.ledger]
    alike = [
        place
        for place in range(1, len(heads))
        if len(rows) > 1 and len({row[place].text for row in rows}) == 1
    ]
    differing = [place for place in range(len(heads)) if place not in alike]
    shared = ", ".join(f"{heads[place].name} {rows[0][place].text}" for place in alike)
    caption = f"The same for all arms: {shared}. " if shared else ""
    return Grid(
        "ledger",
        "What each arm was given",
        f"{caption}Several values in a cell are those of different runs of the arm.",
        [heads[place] for place in differing],
        [[row[place] for place in differing] for row in rows] if len(differing) > 1 else [],
    )


def _row(row: LedgerRow, fields: list[LedgerField]) -> list[GridCell]:
    cells = [GridCell(clean(row.arm))]
    for field in fields:
        values = row.values[field.key]
        number = sort_value(values[0]) if field.number and values else None
        cells.append(GridCell(cell_value(field, row), number))
    seconds = row.seconds
    cells.append(GridCell(NONE) if seconds is None else GridCell(f"{seconds:,.1f}", seconds))
    return [*cells, GridCell(clean(lr_choice(row)))]


def versions(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Return what the runs were made with, and a hash of all their records."""
    fields: dict[str, list[Any]] = {}
    for run in runs:
        for key, value in content_of(run.record.environment).items():
            fields.setdefault(key, []).append(value)
        sha = run.record.corpus.sha256
        fields.setdefault("corpus sha256", []).append(sha)
    facts = [
        (key, ", ".join(distinct(_text(value) for value in values if value is not None)))
        for key, values in fields.items()
    ]
    digest = hashlib.sha256("".join(sorted(map(fingerprint, runs))).encode()).hexdigest()
    schemas = distinct(run.record.schema for run in runs)
    facts.append(("record schema", ", ".join(map(text, schemas))))
    return [(clean(key), clean(value)) for key, value in (*facts, ("all records, sha256", digest))]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else text(value)
