"""Tests on paired differences and on counts. Pure functions, standard library only.

`science.md` has the rules: 95 % t-intervals (two one-sided bounds at 97.5 %), a margin stated
beforehand, two one-sided tests for equivalence, Holm over a family, Fisher's exact test for counts.
Every p here is two-sided, so that 0.05 is the same level everywhere.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ablate.judge.intervals import t_quantile, t_within

LEVEL = 0.05
SAME = 1e-9  # a spread below this share of the mean is rounding
MOST_SEEDS = 200
FEWEST = 4  # seeds a side: of 3, Fisher's p is 0.1 even where all of one side and none of the other


@dataclass(frozen=True)
class Difference:
    """A mean of n paired differences with its 95 % interval and tests.

    These are None where n is below 2, and where all differences are the same and not 0, as with a
    coarse accuracy: their spread says nothing of the next one's.
    `p` is of no difference at all, `p_margin` of a difference no larger than the margin,
    `p_equivalence` of one at least as large as the margin.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int
    p: float | None
    p_margin: float | None
    p_equivalence: float | None


def difference(values: Sequence[float], margin: float) -> Difference:
    """Return the mean of differences, one a seed, with its interval and tests.

    t = m / s with s² = Σ(d - m)² / (n (n - 1)); the tests against the margin δ are those of
    (|m| - δ) / s and (δ - |m|) / s (Schuirmann 1987).

    >>> found = difference([0.4, 0.5, 0.6], 0.02)
    >>> round(found.low, 3), round(found.high, 3), round(found.p, 4)
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


def seeds_needed(found: Difference, margin: float) -> int | None:
    """Return how many seeds would bring the half-width to the margin if the spread stays as it is.

    None if there is no interval, or if even 200 would not.

    >>> seeds_needed(difference([0.01, 0.05, -0.03], 0.02), 0.02)
    18
    """
    if found.low is None or found.high is None:
        return None
    half = (found.high - found.low) / 2
    deviation = half / t_quantile(found.n - 1) * math.sqrt(found.n)
    numbers = range(found.n, MOST_SEEDS + 1)
    return next(
        (n for n in numbers if t_quantile(n - 1) * deviation <= margin * math.sqrt(n)), None
    )


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Return p values adjusted for their number (Holm 1979); None is no member of the family.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    known = sorted((value, place) for place, value in enumerate(values) if value is not None)
    adjusted: list[float | None] = [None] * len(values)
    highest = 0.0
    for rank, (value, place) in enumerate(known):
        highest = max(highest, min(1.0, value * (len(known) - rank)))
        adjusted[place] = highest
    return adjusted


def fisher(count: int, of: int, other: int, of_other: int) -> float:
    """Return the two-sided p of Fisher's exact test that two shares are one.

    The probability of all tables with these margins that are no likelier than this one.

    >>> round(fisher(5, 5, 0, 5), 5), fisher(2, 5, 2, 5)
    (0.00794, 1.0)
    """
    total, drawn = of + of_other, count + other
    ways = [
        math.comb(of, k) * math.comb(of_other, drawn - k)
        for k in range(max(0, drawn - of_other), min(of, drawn) + 1)
    ]
    here = math.comb(of, count) * math.comb(of_other, other)
    return sum(way for way in ways if way <= here) / math.comb(total, drawn)
