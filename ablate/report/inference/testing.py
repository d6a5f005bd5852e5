"""Tests on paired differences, and how many seeds would decide. Standard library only.

The rules: 95 % t-intervals (two one-sided bounds at 97.5 %), a margin stated beforehand, two
one-sided tests for equivalence, Holm's adjustment over a family.
Every p here is two-sided, so that 0.05 is the same level everywhere.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from ablate.judge.intervals import t_quantile, t_within

LEVEL = 0.05
SAME = 1e-9  # a spread below this share of the mean is rounding


@dataclass(frozen=True)
class Difference:
    """A mean of n paired differences with its 95 % interval and tests.

    Interval and tests are None where n is below 2, and where all differences are the same and not
    0, as with a coarse accuracy: a spread of 0 then says nothing about the next seed.
    The hypotheses that the p values test: `p` that there is no difference, `p_margin` that it is no
    larger than the margin, `p_equivalence` that it is at least as large as the margin.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int
    p: float | None
    p_margin: float | None
    p_equivalence: float | None


def difference(values: Sequence[float], margin: float) -> Difference:
    """Return the mean of differences, one per seed, with its interval and tests.

    t = m / s with s² = Σ(d - m)² / (n (n - 1)); the tests against the margin δ are those of
    (|m| - δ) / s and (δ - |m|) / s (Schuirmann 1987).

    >>> half = difference([0.4, 0.5, 0.6], 0.02)
    >>> round(half.low, 3), round(half.high, 3), round(half.p, 4)
    (0.252, 0.748, 0.0131)
    >>> difference([0.4], 0.02).low is None
    True
    """
    n = len(values)
    mean = fmean(values) if values else None
    if mean is None or n < 2 or max(values) - min(values) < SAME * abs(mean):
        return Difference(mean, None, None, n, None, None, None)
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)
    half = t_quantile(n - 1) * error
    size = abs(mean)
    return Difference(
        mean=mean,
        low=mean - half,
        high=mean + half,
        n=n,
        p=_two_sided(size, error, n - 1),
        p_margin=_two_sided(size - margin, error, n - 1),
        p_equivalence=_two_sided(margin - size, error, n - 1),
    )


def _two_sided(distance: float, error: float, freedom: int) -> float:
    """Twice the one-sided p of a distance above 0, at most 1."""
    if distance <= 0:
        return 1.0
    if error == 0:
        return 0.0
    return max(0.0, 1 - t_within(distance / error, freedom))


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Return p values adjusted for their number (Holm 1979); None stands for "no test" and stays.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    by_size = sorted((p, place) for place, p in enumerate(values) if p is not None)
    adjusted: list[float | None] = [None] * len(values)
    highest = 0.0
    for rank, (p, place) in enumerate(by_size):
        highest = max(highest, min(1.0, p * (len(by_size) - rank)))
        adjusted[place] = highest
    return adjusted


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
