"""What would decide a word at length that is open: more seeds, or more of the text."""

from bisect import bisect_left
from dataclasses import dataclass
from math import ceil, hypot, sqrt
from typing import Literal

from ablate.judge.by_document import FEWEST_DOCUMENTS, FEWEST_WINDOWS, LEVEL
from ablate.judge.intervals import t_quantile
from ablate.judge.text_and_seeds import SeedsMean

MOST_SEEDS = 200
MOST_TEXT = 64
"""How many times the text that was measured; more is no plan."""
POWER = 0.8
NEAR = 0.25
"""Of the margin: so near to it an effect that is known exactly is neither side's."""

Needed = Literal[
    "seeds",  # `total` of them, those there are included; None where their spread is not known
    "windows",  # `total` of them, from as many more documents
    "both",  # neither more seeds nor more windows alone
    "few documents",  # no interval with fewer than `total` of one length
    "few windows",  # no interval with fewer than `total`
    "on the margin",  # the effect is about as large as the margin, so that nothing will
    "guessing",  # whether it knows anything at the train length
]


@dataclass(frozen=True)
class ToDecide:
    """What is needed, and how much of it; with 80 % power if errors are as they are seen."""

    needed: Needed
    total: int | None = None


def to_decide(effect: SeedsMean, margin: float, level: float = LEVEL) -> ToDecide:
    """Return what would tell whether an effect that is open is above -δ, with the margin δ.

    For N seeds and c times the text: sqrt(t² v/c + u² s²/N) and t₀.₈ times the error that is new,
    s/√N or sqrt(v/c), have to be no more than |m + δ|. The larger error is asked first.
    """
    if effect.document_error is None:
        if effect.effective < FEWEST_DOCUMENTS:
            return ToDecide("few documents", int(FEWEST_DOCUMENTS))
        return ToDecide("few windows", FEWEST_WINDOWS)
    distance = abs(effect.mean + margin)
    if distance < NEAR * margin:
        return ToDecide("on the margin")
    ways = [_seeds(effect, distance, level), _windows(effect, distance, level)]
    text, seeds = _halves(effect, level)
    if text > seeds:
        ways.reverse()
    return next((way for way in ways if way is not None), ToDecide("both"))


def _halves(effect: SeedsMean, level: float) -> tuple[float, float]:
    """The half-widths that documents and seeds bring, each alone."""
    text = t_quantile(effect.effective - 1, level) * (effect.document_error or 0.0)
    if effect.seed_error is None:
        return text, 0.0
    return text, t_quantile(effect.seeds - 1, level) * effect.seed_error


def _seeds(effect: SeedsMean, distance: float, level: float) -> ToDecide | None:
    """More seeds, if the text alone leaves room; of two or fewer the spread is not known."""
    text, _ = _halves(effect, level)
    if text >= distance or effect.seed_error is None:
        return None
    if effect.seeds < 3:
        return ToDecide("seeds")
    spread = effect.seed_error * sqrt(effect.seeds)

    def decides(seeds: int) -> bool:
        error = spread / sqrt(seeds)
        half = hypot(text, t_quantile(seeds - 1, level) * error)
        return half + _power(seeds - 1) * error <= distance

    numbers = range(effect.seeds + 1, MOST_SEEDS + 1)
    place = bisect_left(numbers, True, key=decides)
    return ToDecide("seeds", numbers[place]) if place < len(numbers) else None


def _windows(effect: SeedsMean, distance: float, level: float) -> ToDecide | None:
    """More windows, of more documents, if seeds alone leave room; to a round number of them."""
    _, by_seeds = _halves(effect, level)

    def decides(eighths: int) -> bool:
        times = eighths / 8
        freedom = effect.effective * times - 1
        error = (effect.document_error or 0.0) / sqrt(times)
        half = hypot(t_quantile(freedom, level) * error, by_seeds)
        return half + _power(freedom) * error <= distance

    eighths = range(9, 8 * MOST_TEXT + 1)
    place = bisect_left(eighths, True, key=decides)
    if place == len(eighths):
        return None
    windows = effect.windows * eighths[place] / 8
    return ToDecide("windows", 64 * ceil(windows / 64))


def _power(freedom: float) -> float:
    """How many standard errors beyond an interval the power that is wanted takes."""
    return t_quantile(freedom, 2 * POWER - 1)
