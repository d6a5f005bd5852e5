"""The fold of a run: its numbers, its config, its command, and the end of its log."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ablate.record import run_files
from ablate.record.disk import FILE, LARGEST_FILE
from ablate.record.record import Record
from ablate.report.page.commands import Overrides, command
from ablate.report.page.remeasured import Sheet, sheets
from ablate.report.runs.collect import Run
from ablate.report.runs.columns import BY_KEY, Missing
from ablate.report.runs.settings import IDENTITY, key_value, settings, text
from ablate.report.words.cells import number
from ablate.shell.clean import clean

LOG = "run.log"
TAIL_LINES, TAIL_BYTES, LINE = 24, 2400, 300
SHOWN = ("val_loss", "acc_L", "acc_8L")
TOLD = (
    ("first_loss", "first loss"),
    ("train_loss", "training loss, last tenth"),
    ("val_loss", "validation loss"),
    ("best_loss", "best validation loss"),
    ("grad_ratio", "gradient, first / last block"),
    ("parameters", "parameters"),
    ("tokens", "tokens"),
    ("seconds", "seconds"),
)


@dataclass(frozen=True)
class Shown:
    """A number of a run: its text and what it is sorted by."""

    text: str
    value: float | None


@dataclass(frozen=True)
class Fold:
    """A run as the page shows it; texts are clean of control codes and not yet escaped."""

    study: str
    name: str
    keys: list[str]
    status: str
    label: str
    numbers: list[Shown]
    facts: list[tuple[str, str]]
    findings: list[tuple[str, str]]
    sheets: list[Sheet]
    problem: str
    error: str
    config: str
    command: str
    log: str


def folds(
    runs: Iterable[Run], keys: Sequence[str], typed: dict[Path, Overrides], folders: Sequence[str]
) -> list[Fold]:
    """Return the folds of all runs, with a record or without."""
    made = []
    for run in runs:
        words = command(typed[run.directory], folders) if typed[run.directory] else ""
        fold = _damaged if run.readable is None else _fold
        made.append(fold(run, keys, words))
    return made


def _damaged(run: Run, keys: Sequence[str], words: str) -> Fold:
    nothing = [Shown(Missing.UNMEASURED.value, None)] * len(SHOWN)
    return Fold(
        study=clean(run.study),
        name=clean(run.name),
        keys=["–"] * len(keys),
        status="no record",
        label="",
        numbers=nothing,
        facts=[("folder", clean(str(run.directory)))],
        findings=[],
        sheets=[],
        problem=clean(run.problem or ""),
        error="",
        config="",
        command=words,
        log=tail(run.directory / LOG),
    )


def _fold(run: Run, keys: Sequence[str], words: str) -> Fold:
    record, row = run.record, settings(run)
    return Fold(
        study=clean(run.study),
        name=clean(run.name),
        keys=[clean(key_value(key, row[key])) if key in row else "–" for key in keys],
        status=clean(record.status or "unknown"),
        label=clean(run.label or ""),
        numbers=[_shown(record, key) for key in SHOWN],
        facts=_facts(run),
        findings=_findings(record),
        sheets=sheets(run),
        problem=clean(run.problem or ""),
        error=_lines(str(record.error or "")),
        config="\n".join(_config(row)),
        command=words,
        log=tail(run.directory / LOG),
    )


def _shown(record: Record, key: str) -> Shown:
    value = BY_KEY[key].extract(record)
    if isinstance(value, Missing):
        return Shown(value.value, None)
    whole = BY_KEY[key].decimals == 0
    return Shown(f"{value:,.0f}" if whole else number(value, BY_KEY[key]), value)


def _facts(run: Run) -> list[tuple[str, str]]:
    record = run.record
    facts = [("folder", str(run.directory)), ("record", f"sha256 {fingerprint(run)[:16]}")]
    done, planned = record.steps_done, record.steps
    if planned is not None:
        facts.append(("steps", f"{text(done)} of {text(planned)}" if done else text(planned)))
    facts += [
        (words, shown.text)
        for key, words in TOLD
        if (shown := _shown(record, key)).value is not None
    ]
    finished = record.timing.finished
    facts += [("ended", str(finished))] if finished else []
    return [(words, clean(value)) for words, value in facts]


def fingerprint(run: Run) -> str:
    """Return the sha256 of a run's record.json, of nothing if it cannot be read."""
    try:
        content = run_files.read(run.directory / FILE, LARGEST_FILE)
        return hashlib.sha256(content).hexdigest()
    except OSError:
        return hashlib.sha256(b"").hexdigest()


def _findings(record: Record) -> list[tuple[str, str]]:
    """The signatures with their numbers; what to make of them is told by arm, beside its others."""
    return [
        (clean(signature.name), clean(signature.evidence))
        for signature in record.diagnosis or []
        if signature.name
    ]


def _config(row: dict[str, Any]) -> list[str]:
    return [clean(f"{key}: {text(value)}") for key, value in row.items() if key not in IDENTITY]


def tail(path: Path) -> str:
    """Return the last lines of a log, short; "" if there is none."""
    try:
        with run_files.reader(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL_BYTES))
            content = file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
    lines = content.splitlines()
    cut = size > TAIL_BYTES or len(lines) > TAIL_LINES
    tail = lines[1:] if size > TAIL_BYTES else lines
    return ("…\n" if cut else "") + _lines("\n".join(tail[-TAIL_LINES:]))


def _lines(content: str) -> str:
    return "\n".join(clean(line)[:LINE] for line in content.splitlines()[-TAIL_LINES:])
