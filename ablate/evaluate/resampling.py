"""Bootstrap intervals within one run: how its numbers vary with the documents measured on."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

FEWEST_DOCUMENTS = 8
"""With fewer, the spread between documents is unknown, and blocks of text replace them."""
BLOCKS = 16
DRAWS = 1000

Interval = list[float]
"""Lower and upper bound."""


@dataclass(frozen=True)
class Groups:
    """Windows that are drawn together: `of[i]` is the group of window i, from 0."""

    of: np.ndarray
    over: Literal["documents", "blocks", "sequences"]

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.of.max()) + 1


def resample(sums: np.ndarray, counts: np.ndarray, groups: Groups) -> np.ndarray:
    """Means per target in 1000 draws of whole groups with replacement, [draws, columns].

    `sums` [windows, columns] are over the `counts` [windows] targets of each window. Every column
    gets the same draws, so that columns may be compared draw by draw.
    """
    totals = np.zeros((groups.count, sums.shape[1]))
    np.add.at(totals, groups.of, sums)
    sizes = np.bincount(groups.of, counts)
    shares = np.full(groups.count, 1 / groups.count)
    times = np.random.default_rng(0).multinomial(groups.count, shares, size=DRAWS)
    return (times @ totals) / (times @ sizes)[:, None]


def interval(draws: np.ndarray) -> Interval | None:
    """The middle 95 % of draws [draws]; None where any is not finite.

    >>> interval(np.arange(1001.0))
    [25.0, 975.0]
    """
    if not np.isfinite(draws).all():
        return None
    low, high = np.percentile(draws, [2.5, 97.5])
    return [float(low), float(high)]
