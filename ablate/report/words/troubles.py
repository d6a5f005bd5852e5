"""Runs that are not in the table, that went wrong, or that a study left out."""

from typing import Any

from ablate.record.study_note import LeftOut
from ablate.report.runs.shown import shown
from ablate.report.runs.tables import Table
from ablate.report.words.numbers import count_of
from ablate.shell.clean import clean


def outside(table: Table) -> list[tuple[str, str]]:
    """Return (run, problem) of the runs that are not in the table."""
    return [(clean(f"{run.study}/{run.name}"), clean(run.problem or "")) for run in table.left_out]


def troubles(table: Table) -> list[tuple[str, str]]:
    """Return (run, what happened) of the runs in the table that failed or have a flawed record."""
    listed = []
    for run in shown(table):
        name = clean(f"{run.study}/{run.name}")
        error = _last_words(run.record.error)
        if run.record.status == "failed" or error:
            listed.append((name, clean(f"{run.record.status}: {error or 'no error recorded'}")))
        if run.problem is not None:
            listed.append((name, clean(run.problem)))
    return listed


def _last_words(error: Any) -> str:
    """The line of an error that says what went wrong: the last of a traceback, else the first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] if error else []
    if not lines:
        return ""
    return lines[-1] if lines[0].startswith("Traceback") else lines[0]


def left_out(runs: LeftOut) -> str:
    """Say why a study left runs out, with the name of the first."""
    more = f" and {len(runs.runs) - 1} more" if len(runs.runs) > 1 else ""
    return clean(
        f"{count_of(len(runs.runs), 'run')} left out of study {runs.study}: {runs.because}"
        f" ({runs.runs[0]}{more})"
    )
