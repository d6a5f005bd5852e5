"""How a number is read from a record: as it stands, as a ratio over depth, at a context length."""

from collections.abc import Callable
from enum import Enum

from ablate.judge import profile
from ablate.record.evaluated import Extrapolation
from ablate.record.record import Gradients, Record


class Missing(Enum):
    """Why a run has no value."""

    UNMEASURED = "–"  # the run did not get there, or does not measure it
    UNDEFINED = "undef."  # the scheme cannot do it: a result, and never 0


Value = float | Missing
Numbers = list[float | None]


def number(read: Callable[[Record], float | None]) -> Callable[[Record], Value]:
    """Read a number that every run has sooner or later."""

    def extract(record: Record) -> Value:
        value = read(record)
        return Missing.UNMEASURED if value is None else float(value)

    return extract


def first_over_last(read: Callable[[Gradients], Numbers]) -> Callable[[Record], Value]:
    """Divide a gradient norm of the first block by that of the last."""
    return number(lambda record: profile.first_over_last(read(record.gradients)))


def at_context(
    read: Callable[[Extrapolation], Numbers], factor: float, *, of_what_was_learned: bool = False
) -> Callable[[Record], Value]:
    """Read a quantity of the extrapolation at a context of `factor` train lengths.

    `of_what_was_learned`: it has no value either where nothing was learned, as retention has none.
    """

    def extract(record: Record) -> Value:
        measured = record.extrapolation
        length = measured.train_length
        values = dict(zip(measured.lengths, read(measured), strict=False))
        if length is None or factor * length not in values:
            return Missing.UNMEASURED
        context = int(factor * length)
        value = values[context]
        if value is not None:
            return float(value)
        # Every scheme can do L: what has no accuracy even there gave no finite numbers.
        accuracies = dict(zip(measured.lengths, measured.accuracy, strict=False))
        nothing_learned = of_what_was_learned and accuracies.get(context) is not None
        unable = accuracies.get(length) is not None and not nothing_learned
        return Missing.UNDEFINED if unable else Missing.UNMEASURED

    return extract
