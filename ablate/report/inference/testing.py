"""Tests on paired differences. Pure functions, standard library only.

The rules: 95 % t-intervals (two one-sided bounds at 97.5 %), a margin stated beforehand, two
one-sided tests for equivalence, Holm's adjustment over a family.
Every p here is two-sided, so that 0.05 is the same level everywhere.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

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
