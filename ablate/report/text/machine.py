"""A table as programs read it: csv and json, at full precision, null where nothing is defined."""

import csv
import io
import json
import re
from dataclasses import asdict
from typing import Any

from ablate.record import study_note
from ablate.record.record import SCHEMA
from ablate.report.inference.analysis import Analysis
from ablate.report.runs.columns import COLUMNS, Column
from ablate.report.runs.measured import measured
from ablate.report.runs.settings import key_value, text
from ablate.report.runs.shown import facts
from ablate.report.runs.tables import Table, TableCell, TableRow
from ablate.report.words.cautions import caution, lr_choice
from ablate.report.words.cells import labels, statuses
from ablate.report.words.heading import baseline_reason
from ablate.report.words.length_sentences import context_name, length_sentence
from ablate.report.words.statements import Statement, statements
from ablate.report.words.troubles import outside, troubles
from ablate.shell.clean import clean
from ablate.shell.finite import finite

FORMULA = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


def spread(column: Column) -> str:
    """Name a column's uncertainty: a half-width around the mean, a factor on the log scale."""
    return "factor" if column.scale == "log" else "half_width"


def as_csv(table: Table) -> str:
    """Return one line a row, then one a run without a record (`run` and `problem` are filled).

    Measurements are `X_mean`, `X_half_width` (or `X_factor`) and `X_n`, the runs that the mean is
    over; with a row a run they are `X`. `length_accuracy_8L` is what became at 8L of what was
    learned at L.
    """
    each_run = table.grouped == "run"
    measures = [
        name for column in COLUMNS for name in ([column.key] if each_run else _names(column))
    ]
    at_length = list(dict.fromkeys(name for row in table.rows for name in _length_cells(row)))
    lead = [*table.keys, "run", "runs", "seeds", "status", "label"]
    fields = [*lead, *measures, *at_length, "problem"]
    file = io.StringIO()
    writer = csv.DictWriter(file, list(dict.fromkeys(fields)), lineterminator="\n")
    happened = dict(troubles(table))
    rows: list[dict[str, Any]] = [{name: name for name in fields}]
    rows += [_csv_row(row, each_run, happened) for row in table.rows]
    rows += [{"run": run, "runs": 1, "problem": problem} for run, problem in outside(table)]
    writer.writerows({name: _inert(value) for name, value in row.items()} for row in rows)
    return file.getvalue()


def _inert(value: Any) -> Any:
    """A cell that a spreadsheet does not take for a formula: such a text has a ' before it.

    >>> _inert("=1+2"), _inert("-0.5"), _inert("pos=rope"), _inert(-0.5)
    ("'=1+2", '-0.5', 'pos=rope', -0.5)
    """
    if not isinstance(value, str):
        return value
    text = clean(value)
    return f"'{text}" if text.lstrip()[:1] in FORMULA and not NUMBER.fullmatch(text) else text


def _names(column: Column) -> list[str]:
    return [f"{column.key}_{part}" for part in ("mean", spread(column), "n")]


def _csv_row(row: TableRow, each_run: bool, happened: dict[str, str]) -> dict[str, Any]:
    names = [clean(f"{run.study}/{run.name}") for run in row.runs]
    cells: dict[str, Any] = {key: clean(key_value(key, value)) for key, value in row.keys.items()}
    cells |= {
        "run": names[0] if each_run else "",
        "runs": len(row.runs),
        "seeds": " ".join(text(seed) for seed in row.seeds),
        "status": ", ".join(one.text for one in statuses(row)),
        "label": ", ".join(one.text for one in labels(row)) if row.label else "",
        "problem": "; ".join(f"{name}: {happened[name]}" for name in names if name in happened),
    }
    for column in COLUMNS:
        interval = row.cells[column.key].interval
        if each_run:
            cells[column.key] = interval.mean
        else:
            values = (interval.mean, interval.half_width, row.cells[column.key].runs)
            cells |= dict(zip(_names(column), values, strict=True))
    return cells | _length_cells(row)


def _length_cells(row: TableRow) -> dict[str, str]:
    """The words by column: length_accuracy_8L."""
    return {
        f"length_{measure}_{context}": word
        for measure, words in _words_at_length(row).items()
        for context, word in words.items()
    }


def as_json(table: Table, analysis: Analysis) -> str:
    """Return the whole table and its analysis as one standard JSON object."""
    content = {
        "schema": SCHEMA,
        **asdict(facts(table)),
        "rows_are": table.grouped,
        "keys": table.keys,
        "sorted_by": table.sorted_by,
        "columns": {
            column.key: {"meaning": column.meaning, "scale": column.scale} for column in COLUMNS
        },
        "rows": [_json_row(row) for row in table.rows],
        "not_in_table": _listed(outside(table)),
        "problems": _listed(troubles(table)),
        "left_out_of_studies": [
            asdict(runs) for runs in study_note.read(run.directory for run in table.runs)
        ],
        "analysis": _json_analysis(analysis),
    }
    return json.dumps(finite(content), indent=2, allow_nan=False) + "\n"


def _json_analysis(analysis: Analysis) -> dict[str, Any]:
    """Return the analysis with its sentences beside the facts that they are made of."""
    content = asdict(analysis)
    del content["points"]
    return content | {
        "baseline_reason": baseline_reason(analysis),
        "baseline_choice": asdict(analysis.baseline_reason),
        "ledger": [asdict(row) | {"lr_choice": lr_choice(row)} for row in analysis.ledger],
        "flags": [
            {"field": flag.field, "text": caution(flag), "unfair": flag.unfair} | asdict(flag)
            for flag in analysis.flags
        ],
        "sentences": [_json_statement(statement) for statement in statements(analysis)],
        "length_sentences": [length_sentence(fact).text for fact in analysis.lengths],
    }


def _json_statement(statement: Statement) -> dict[str, Any]:
    sentence = statement.sentence
    return {
        "kind": statement.kind,
        "text": sentence.text,
        "claim": sentence.claim,
        "evidence": sentence.support,
        "about": type(statement.fact).__name__,
        "fact": asdict(statement.fact),
    }


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
        "length": _words_at_length(row),
        "measured": {
            f"{run.study}/{run.name}": [asdict(one) for one in measurements]
            for run in row.runs
            if (measurements := measured(run))
        },
    }


def _words_at_length(row: TableRow) -> dict[str, dict[str, str]]:
    """The words by measure and context in train lengths, {} where no record has them."""
    return {
        measure: {context_name(factor): kept.word for factor, kept in by_factor.items()}
        for measure, by_factor in row.kept.items()
    }


def _measure(cell: TableCell, column: Column) -> dict[str, Any]:
    return {
        "mean": cell.interval.mean,
        spread(column): cell.interval.half_width,
        "n": cell.runs,
        "seeds": cell.interval.n,
        "undefined": cell.undefined,
    }
