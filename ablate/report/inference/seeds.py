"""How many seeds would decide an undecided comparison."""

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Literal

from ablate.judge.intervals import t_quantile
from ablate.report.inference.testing import LEVEL, Difference

MOST = 200  # seeds; more are not a plan
POWER = 0.8
NEAR = 0.25  # of the margin: so near to it a mean that is known exactly is neither side's

SeedsWord = Literal[
    "decides",  # `total` seeds would
    "on the margin",  # the difference is about as large as the margin, so that no number will
    "too many",  # more than 200
    "unknown",  # fewer than three seeds tell no spread
]


@dataclass(frozen=True)
class SeedsToDecide:
    """`total` seeds, those there are included, would decide it.

    The number is what 80 % would take if mean and spread were as they are seen. Few seeds know
    neither well, so that it decides in about 60 %.
    """

    word: SeedsWord
    total: int | None = None


def seeds_to_decide(measured: Difference, margin: float, level: float = LEVEL) -> SeedsToDecide:
    """Return how many seeds in all would decide whether a difference exceeds the margin δ.

    The smallest N above n with (t₁₋level/₂ + t₀.₈)(N - 1) · s / √N ≤ max(|δ - |m||, δ/2), with the
    quantiles of N - 1 degrees of freedom: one way or the other then has its power. `level` is that
    of the verdict, below 0.05 where it is one of a family.

    >>> from ablate.report.inference.testing import difference
    >>> answer = seeds_to_decide(difference([0.03, 0.09, 0.05], 0.02), 0.02)
    >>> answer.word, answer.total
    ('decides', 8)
    >>> seeds_to_decide(difference([0.01, 0.03, 0.02], 0.02), 0.02).word
    'on the margin'
    """
    if measured.n < 3 or measured.mean is None or measured.low is None or measured.high is None:
        return SeedsToDecide("unknown")
    distance = abs(margin - abs(measured.mean))
    if distance < NEAR * margin:
        return SeedsToDecide("on the margin")
    half = (measured.high - measured.low) / 2
    deviation = half / t_quantile(measured.n - 1) * math.sqrt(measured.n)
    wanted = max(distance, margin / 2)
    numbers = range(measured.n + 1, MOST + 1)
    enough = bisect_left(numbers, True, key=lambda n: _reach(n, level) * deviation <= wanted)
    if enough == len(numbers):
        return SeedsToDecide("too many")
    return SeedsToDecide("decides", numbers[enough])


def _reach(n: int, level: float) -> float:
    """How many standard deviations from the margin n seeds tell with the power wanted."""
    one_sided = 2 * POWER - 1
    return (t_quantile(n - 1, 1 - level) + t_quantile(n - 1, one_sided)) / math.sqrt(n)
