"""A table as programs read it: csv and json, at full precision, null where nothing is defined."""

import csv
import io
import json
from dataclasses import asdict
from typing import Any

from ablate.record.record import SCHEMA, plain
from ablate.report.inference.analysis import Analysis
from ablate.report.runs.columns import COLUMNS, Column
from ablate.report.runs.measured import measured
from ablate.report.runs.settings import key_value, text
from ablate.report.runs.skipped import skipped
from ablate.report.runs.tables import Table, TableCell, TableRow
from ablate.report.words.cells import label_parts, status_parts
from ablate.report.words.heading import facts, outside, troubles
from ablate.shell.clean import clean


def spread(column: Column) -> str:
    """Name a column's uncertainty: a half-width around the mean, a factor on the log scale."""
    return "factor" if column.scale == "log" else "half_width"


def as_csv(table: Table) -> str:
    """Return one line a row, then one a run without a record (`run` and `problem` are filled).

    Measurements are `X_mean`, `X_half_width` (or `X_factor`) and `X_n`, the runs that the mean is
    over; with a row a run they are `X`.
    """
    each_run = table.grouped == "run"
    measures = [
        name for column in COLUMNS for name in ([column.key] if each_run else _names(column))
    ]
    fields = [*table.keys, "run", "runs", "seeds", "status", "label", *measures, "problem"]
    file = io.StringIO()
    writer = csv.DictWriter(file, list(dict.fromkeys(fields)), lineterminator="\n")
    writer.writeheader()
    happened = dict(troubles(table))
    for row in table.rows:
        writer.writerow(_csv_row(row, each_run, happened))
    for run, problem in outside(table):
        writer.writerow({"run": run, "runs": 1, "problem": problem})
    return file.getvalue()


def _names(column: Column) -> list[str]:
    return [f"{column.key}_{part}" for part in ("mean", spread(column), "n")]


def _csv_row(row: TableRow, each_run: bool, happened: dict[str, str]) -> dict[str, Any]:
    names = [clean(f"{run.study}/{run.name}") for run in row.runs]
    told: dict[str, Any] = {key: clean(key_value(key, value)) for key, value in row.keys.items()}
    told |= {
        "run": names[0] if each_run else "",
        "runs": len(row.runs),
        "seeds": " ".join(text(seed) for seed in row.seeds),
        "status": ", ".join(status_parts(row)),
        "label": ", ".join(label_parts(row)) if row.label else "",
        "problem": "; ".join(f"{name}: {happened[name]}" for name in names if name in happened),
    }
    for column in COLUMNS:
        interval = row.cells[column.key].interval
        if each_run:
            told[column.key] = interval.mean
        else:
            values = (interval.mean, interval.half_width, row.cells[column.key].runs)
            told |= dict(zip(_names(column), values, strict=True))
    return told


def as_json(table: Table, analysis: Analysis) -> str:
    """Return the whole table and its analysis as one standard JSON object."""
    content = {
        "schema": SCHEMA,
        **facts(table),
        "rows_are": table.grouped,
        "keys": table.keys,
        "sorted_by": table.sorted_by,
        "columns": {
            column.key: {"meaning": column.meaning, "scale": column.scale} for column in COLUMNS
        },
        "rows": [_json_row(row) for row in table.rows],
        "not_in_table": _listed(outside(table)),
        "problems": _listed(troubles(table)),
        "left_out_of_studies": [asdict(one) for one in skipped(table.runs)],
        "analysis": asdict(analysis),
    }
    return json.dumps(plain(content), indent=2, allow_nan=False) + "\n"


def _listed(pairs: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"run": name, "problem": problem} for name, problem in pairs]


def _json_row(row: TableRow) -> dict[str, Any]:
    return {
        "keys": row.keys,
        "runs": [f"{run.study}/{run.name}" for run in row.runs],
        "n": len(row.runs),
        "seeds": row.seeds,
        "status": dict(row.status),
        "label": dict(row.label),
        "measures": {column.key: _measure(row.cells[column.key], column) for column in COLUMNS},
        "gradient_profile": row.profile,
        "measured": {
            f"{run.study}/{run.name}": [asdict(one) for one in found]
            for run in row.runs
            if (found := measured(run))
        },
    }


def _measure(cell: TableCell, column: Column) -> dict[str, Any]:
    return {
        "mean": cell.interval.mean,
        spread(column): cell.interval.half_width,
        "n": cell.runs,
        "seeds": cell.interval.n,
        "undefined": cell.undefined,
    }
