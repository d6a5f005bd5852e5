"""What a run came to, in words for a terminal; pure functions of a record."""

import math
from pathlib import Path

from ablate.judge.first_loss import judge_record
from ablate.judge.labels import still_falling
from ablate.judge.profile import first_over_last
from ablate.record.evaluated import Extrapolation
from ablate.record.record import Gradients, Record

IN_WORDS = {
    "healthy": "healthy",
    "stuck": "stuck: it learned how often tokens occur and no more, or not even that",
    "unstable": "unstable: the loss jumped far above its trend",
    "undecided": "undecided: its validation text does not tell whether it learned more than how "
    "often tokens occur",
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
    loss, timing = record.loss, record.timing
    if loss.first is not None and loss.uniform is not None:
        hint = FIRST_LOSS_HINTS[judge_record(record)]
        lines.append(f"first loss {first_loss(loss.first, loss.uniform)}{hint}")
    if loss.validation is not None:
        known = {"unigram": loss.unigram_windows or loss.unigram, "ln V": loss.uniform}
        losses = [f"{name} {value:.2f}" for name, value in known.items() if value is not None]
        reference = f" ({', '.join(losses)})" if losses else ""
        lines.append(f"validation loss {loss.validation:.3f} nats{reference}")
    lines += gradient_lines(record.gradients)
    lines += accuracy_lines(record.extrapolation)
    lines += [
        f"{sign.name}: {sign.cause} ({sign.evidence}); try {sign.advice}"
        for sign in record.diagnosis or []
    ]
    if timing.seconds is not None:
        speed, whole = timing.tokens_per_second, timing.total_seconds
        rate = f" at {speed:,.0f} tokens/s" if speed else ""
        in_all = f", {duration(whole)} with evaluation and all" if whole is not None else ""
        lines.append(f"{duration(timing.seconds)} of training{rate}{in_all}")
    lines.append(f"files in {directory}")
    return lines


def brief_lines(record: Record, directory: Path) -> list[str]:
    """Describe a run that is one of many: its verdict with the numbers to watch, in a line."""
    label, validation = record.label, record.loss.validation
    facts = [f"done: {label}" if record.status == "done" and label else verdict(record)]
    if validation is not None:
        facts.append(f"validation loss {validation:.3f} nats")
    facts += accuracy_at_ends(record.extrapolation)
    if record.timing.total_seconds is not None:
        facts.append(duration(record.timing.total_seconds))
    return ["; ".join(facts)]


def verdict(record: Record) -> str:
    """Say what became of the process and what its curve looks like."""
    status, label = record.status or "unknown", record.label
    if record.steps is None:
        return status  # of a record that someone cut or changed
    reached = f"step {record.steps_done or 0:,} of {record.steps:,}"
    if status == "done":
        points = record.curve.points()
        steps, losses = [step for step, _ in points], [loss for _, loss in points]
        if label == "stuck" and still_falling(steps, losses):
            return "done: not below the unigram loss yet, and still falling: take more steps"
        return f"done: {IN_WORDS.get(label, label)}" if label else "done"
    if status == "diverged":
        return f"diverged by {reached}; a result like any other, kept with all it reached"
    if status == "interrupted":
        again = "without rerun=true " if record.config.get("rerun") else ""
        return f"interrupted at {reached}; {again}the same command goes on"
    if status == "failed":
        return f"failed at {reached}: {_reason(record.error)}"
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


def gradient_lines(gradients: Gradients) -> list[str]:
    """Compare the first step's gradient norms of the first and last block."""
    ratios = {
        "parameters": first_over_last(gradients.parameters_first),
        "inputs": first_over_last(gradients.inputs_first),
    }
    known = [f"{ratio:.2g} ({name})" for name, ratio in ratios.items() if ratio is not None]
    quantity = "gradient norm of the first block as a multiple of the last one's, at step 1"
    return [f"{quantity}: {', '.join(known)}"] if known else []


def accuracy_lines(measured: Extrapolation) -> list[str]:
    """List accuracy, and exact match where there is any, by length as multiples of L."""
    train_length = measured.train_length
    if not train_length or not any(map(_known, measured.accuracy)):
        return []
    shares = {"accuracy by context": measured.accuracy}
    if measured.exact:
        shares = {
            "token accuracy by length": measured.accuracy,
            "exact match by length": measured.exact,
        }
    lines = []
    for name, values in shares.items():
        entries = [
            f"{context(length, train_length)} {_percent(share)}"
            for length, share in zip(measured.lengths, values, strict=False)
        ]
        lines.append(f"{name} (L = {train_length}): {', '.join(entries)}")
    return lines


def accuracy_at_ends(measured: Extrapolation) -> list[str]:
    """Accuracy, or exact match where there is any, at the train length and the longest one.

    >>> accuracy_at_ends(Extrapolation(train_length=64, lengths=[64, 512], accuracy=[0.5, 0.25]))
    ['accuracy 50.0 % at L, 25.0 % at 8L']
    """
    train_length = measured.train_length
    if not train_length or not measured.lengths or not any(map(_known, measured.accuracy)):
        return []
    shares = dict(zip(measured.lengths, measured.exact or measured.accuracy, strict=False))
    name = "exact match" if measured.exact else "accuracy"
    ends = [
        f"{_percent(shares.get(length))} at {context(length, train_length)}"
        for length in sorted({train_length, max(measured.lengths)})
    ]
    return [f"{name} {', '.join(ends)}"]


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


def _reason(error: str | None) -> str:
    """The line that says why: the first one, or the last one of a traceback."""
    lines = (error or "").strip().splitlines() or ["see run.log"]
    return lines[-1] if lines[0].startswith("Traceback") else lines[0]
