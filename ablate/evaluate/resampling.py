"""Bootstrap intervals within one run: how its numbers would vary with other documents."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

FEWEST_DOCUMENTS = 8
"""Below so many, what differs between documents cannot be told, and blocks stand in for them."""
BLOCKS = 16
DRAWS = 1000

Interval = list[float]
"""Lower and upper bound."""


@dataclass(frozen=True)
class Groups:
    """What is drawn as a whole: `of[i]` is the group of window i, from 0."""

    of: np.ndarray
    over: Literal["documents", "blocks", "sequences"]

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.of.max()) + 1


def group_windows(ends: np.ndarray, documents: np.ndarray) -> Groups:
    """Group windows, in their order, by the document in which their last target lies.

    `documents` are the starts of documents. Where windows lie in fewer than 8, blocks of
    neighbouring windows are the groups.

    >>> group_windows(np.arange(5), np.array([0])).of.tolist()
    [0, 1, 2, 3, 4]
    """
    found, of = np.unique(np.searchsorted(documents, ends, side="right"), return_inverse=True)
    if len(found) >= FEWEST_DOCUMENTS:
        return Groups(of, "documents")
    blocks = min(BLOCKS, len(ends))
    return Groups(np.arange(len(ends)) * blocks // len(ends), "blocks")


def resample(sums: np.ndarray, counts: np.ndarray, groups: Groups) -> np.ndarray:
    """Means per target in 1000 draws of whole groups with replacement, [draws, columns].

    `sums` [windows, columns] are over the `counts` [windows] targets of each window. A draw is the
    same for every column, so that columns may be compared draw by draw.
    """
    totals = np.zeros((groups.count, sums.shape[1]))
    np.add.at(totals, groups.of, sums)
    sizes = np.bincount(groups.of, counts)
    shares = np.full(groups.count, 1 / groups.count)
    times = np.random.default_rng(0).multinomial(groups.count, shares, size=DRAWS)
    return (times @ totals) / (times @ sizes)[:, None]


def interval(drawn: np.ndarray) -> Interval | None:
    """The middle 95 % of some draws; None where any is not finite.

    >>> interval(np.arange(1001.0))
    [25.0, 975.0]
    """
    if not np.isfinite(drawn).all():
        return None
    low, high = np.percentile(drawn, [2.5, 97.5])
    return [float(low), float(high)]
