"""How a number is read from a record: at a path, as a ratio over depth, at a context length."""

from collections.abc import Callable
from enum import Enum
from typing import Any

from ablate.judge import profile
from ablate.record.record import Record


class Missing(Enum):
    """Why a run has no value."""

    UNMEASURED = "–"  # the run did not get there, or does not measure it
    UNDEFINED = "undef."  # the scheme cannot do it: a result, and never 0


Value = float | Missing


def at(*path: str) -> Callable[[Record], Value]:
    """Read a number at a path of the record."""

    def extract(record: Record) -> Value:
        value: Any = record
        for key in path:
            value = vars(value)[key]
        return Missing.UNMEASURED if value is None else float(value)

    return extract


def first_over_last(key: str) -> Callable[[Record], Value]:
    """Divide a gradient norm of the first block by that of the last."""

    def extract(record: Record) -> Value:
        norms: list[float | None] = vars(record.gradients)[key]
        ratio = profile.first_over_last(norms)
        return Missing.UNMEASURED if ratio is None else ratio

    return extract


def at_context(key: str, factor: float) -> Callable[[Record], Value]:
    """Read a quantity of the extrapolation at a context of `factor` train lengths."""

    def extract(record: Record) -> Value:
        measured = record.extrapolation
        length = measured.train_length
        if length is None or factor * length not in measured.lengths:
            return Missing.UNMEASURED
        place = measured.lengths.index(int(factor * length))
        values: list[float | None] = vars(measured)[key]
        if place >= len(values):
            return Missing.UNMEASURED
        value = values[place]
        if value is not None:
            return float(value)
        # Every scheme can do L: what has no accuracy even there gave no finite numbers. Retention
        # has no value either where nothing was learned.
        accuracies = dict(zip(measured.lengths, measured.accuracy, strict=False))
        nothing = key == "retention" and accuracies.get(int(factor * length)) is not None
        unable = accuracies.get(length) is not None and not nothing
        return Missing.UNDEFINED if unable else Missing.UNMEASURED

    return extract


def tolerated(record: Record) -> Value:
    """The largest context in train lengths that a run tolerates, with all between it and L.

    1 where it does not surely tolerate the next one beyond L.
    """
    measured = record.extrapolation
    flags = measured.flags.exact or measured.flags.accuracy
    length, lengths = measured.train_length, measured.lengths
    if (
        flags is None
        or not flags.tolerates
        or not length
        or all(context <= length for context in lengths)
    ):
        return Missing.UNMEASURED
    kept = 1.0
    for context, flag in zip(lengths, flags.tolerates, strict=False):
        if context > length:
            if flag != "yes":
                break
            kept = context / length
    return kept
