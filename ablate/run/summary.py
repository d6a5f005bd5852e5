"""What a run came to, in words for a terminal; pure functions of a record."""

import math
from pathlib import Path
from typing import Any

from ablate.judge.first_loss import judge_record
from ablate.judge.labels import still_falling
from ablate.judge.profile import first_over_last
from ablate.record.record import Record

IN_WORDS = {
    "healthy": "healthy",
    "stuck": "stuck: it learned how often tokens occur and no more, or not even that",
    "unstable": "unstable: the loss jumped far above its trend",
    "slow": "slow: still falling, behind the best arm of its study",
    "diverged": "diverged",
}
FIRST_LOSS_HINTS = {
    "high": " (high: a large or tied head, or a missing final norm)",
    "low": " (low: a leak? shifted targets or a missing mask)",
    "usual": "",
}
"""What a first loss far from ln V points to."""


def summary_lines(record: Record, directory: Path) -> list[str]:
    """Describe a finished run, one fact a line, the verdict first.

    Losses are in nats per token; what was not measured is left out, and an accuracy that a scheme
    cannot have at a length says "undefined".
    """
    lines = [verdict(record)]
    loss = _section(record, "loss")
    if loss.get("first") is not None:
        hint = FIRST_LOSS_HINTS[judge_record(record)]
        lines.append(f"first loss {first_loss(loss['first'], loss['uniform'])}{hint}")
    if loss.get("validation") is not None:
        reference = f"unigram {loss['unigram']:.2f}, ln V {loss['uniform']:.2f}"
        lines.append(f"validation loss {loss['validation']:.3f} nats ({reference})")
    lines += gradient_lines(_section(record, "gradients"))
    lines += accuracy_lines(_section(record, "extrapolation"))
    lines += [
        f"{sign['name']}: {sign['cause']} ({sign['evidence']}); try {sign['advice']}"
        for sign in record.get("diagnosis") or []
    ]
    timing = _section(record, "timing")
    if timing.get("seconds") is not None:
        speed = timing.get("tokens_per_second")
        rate = f" at {speed:,.0f} tokens/s" if speed else ""
        whole = timing.get("total_seconds")
        in_all = f", {duration(whole)} with evaluation and all" if whole is not None else ""
        lines.append(f"{duration(timing['seconds'])} of training{rate}{in_all}")
    lines.append(f"files in {directory}")
    return lines


def brief_lines(record: Record, directory: Path) -> list[str]:
    """Describe a run that is one of many: its verdict with the numbers to watch, in a line."""
    label = record.get("label")
    facts = [f"done: {label}" if record["status"] == "done" and label else verdict(record)]
    loss = _section(record, "loss")
    if loss.get("validation") is not None:
        facts.append(f"validation loss {loss['validation']:.3f} nats")
    facts += accuracy_at_ends(_section(record, "extrapolation"))
    timing = _section(record, "timing")
    if timing.get("total_seconds") is not None:
        facts.append(duration(timing["total_seconds"]))
    return ["; ".join(facts)]


def verdict(record: Record) -> str:
    """Say what became of the process and what its curve looks like."""
    status, label = record["status"], record.get("label")
    reached = f"step {record.get('steps_done') or 0:,} of {record['steps']:,}"
    if status == "done":
        curve = _section(record, "curve")
        if label == "stuck" and still_falling(curve.get("steps", []), curve.get("loss", [])):
            return "done: not below the unigram loss yet, and still falling: take more steps"
        return f"done: {IN_WORDS[label]}" if label else "done"
    if status == "diverged":
        return f"diverged by {reached}; a result like any other, kept with all it reached"
    if status == "interrupted":
        again = "without rerun=true " if _section(record, "config").get("rerun") else ""
        return f"interrupted at {reached}; {again}the same command goes on"
    if status == "failed":
        return f"failed at {reached}: {_reason(record.get('error'))}"
    return f"{status} at {reached}"


def first_loss(loss: float, uniform: float) -> str:
    """Put the loss before any update beside that of a uniform guess.

    >>> first_loss(5.675, 5.545)
    '5.67 = ln V + 0.13'
    """
    if not math.isfinite(loss):
        return f"{loss:.2f}"
    excess = loss - uniform
    return f"{loss:.2f} = ln V {'+' if excess >= 0 else '−'} {abs(excess):.2f}"


def gradient_lines(gradients: dict) -> list[str]:
    """Compare the first step's gradient norms of the first and last block."""
    ratios = {
        name: first_over_last(gradients.get(f"{name}_first") or [])
        for name in ("parameters", "inputs")
    }
    known = [f"{ratio:.2g} ({name})" for name, ratio in ratios.items() if ratio is not None]
    words = "gradient norm of the first block as a multiple of the last one's, at step 1"
    return [f"{words}: {', '.join(known)}"] if known else []


def accuracy_lines(extrapolation: dict) -> list[str]:
    """List accuracy, and exact match where there is any, by length as multiples of L."""
    if not extrapolation.get("lengths") or not any(map(_known, extrapolation["accuracy"])):
        return []
    train_length = extrapolation["train_length"]
    names = {"accuracy": "accuracy by context"}
    if extrapolation.get("exact"):
        names = {"accuracy": "token accuracy by length", "exact": "exact match by length"}
    lines = []
    for key, name in names.items():
        entries = [
            f"{context(length, train_length)} {_percent(share)}"
            for length, share in zip(extrapolation["lengths"], extrapolation[key], strict=True)
        ]
        lines.append(f"{name} (L = {train_length}): {', '.join(entries)}")
    return lines


def accuracy_at_ends(extrapolation: dict) -> list[str]:
    """Accuracy, or exact match where there is any, at the train length and the longest one.

    >>> accuracy_at_ends({"train_length": 64, "lengths": [64, 512], "accuracy": [0.5, 0.25]})
    ['accuracy 50.0 % at L, 25.0 % at 8L']
    """
    lengths = extrapolation.get("lengths")
    if not lengths or not any(map(_known, extrapolation["accuracy"])):
        return []
    train_length = extrapolation["train_length"]
    shares = extrapolation.get("exact") or extrapolation["accuracy"]
    name = "exact match" if extrapolation.get("exact") else "accuracy"
    parts = [
        f"{_percent(shares[lengths.index(length)])} at {context(length, train_length)}"
        for length in sorted({train_length, max(lengths)})
    ]
    return [f"{name} {', '.join(parts)}"]


def context(length: int, train_length: int) -> str:
    """Name a context length as a multiple of the length trained on.

    >>> [context(length, 64) for length in (32, 64, 512)]
    ['L/2', 'L', '8L']
    """
    if length == train_length:
        return "L"
    if length < train_length:
        return f"L/{train_length / length:.3g}"
    return f"{length / train_length:.3g}L"


def duration(seconds: float) -> str:
    """Write a span of time in the two units that matter.

    >>> [duration(seconds) for seconds in (8.2, 100, 7500)]
    ['8 s', '1 min 40 s', '2 h 05 min']
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def _percent(accuracy: float | None) -> str:
    return "undefined" if accuracy is None else f"{100 * accuracy:.1f} %"


def _known(value: float | None) -> bool:
    return value is not None


def _section(record: Record, name: str) -> Any:
    """A part of the record, empty where the run ended before it was measured."""
    return record.get(name) or {}


def _reason(error: str | None) -> str:
    """The line that says why: the first one, or the last one of a traceback."""
    lines = (error or "").strip().splitlines() or ["see run.log"]
    return lines[-1] if lines[0].startswith("Traceback") else lines[0]
