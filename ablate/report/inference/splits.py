"""A permutation test of two groups of seeds in many cells at once, which names the cell.

A seed's whole row of values, one a cell, stays together, so that cells which share the luck of a
seed are no repeats of each other. All ways to split the rows of both groups into groups of the same
sizes are tried; each split has a difference in each cell and one in total, and each of these the
share of splits with one at least as large. The smallest of these shares is the statistic, judged by
the same splits: permutation minP (Westfall and Young 1993, section 2.3).
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

MOST_SPLITS = 5_000  # all splits up to 7 against 7 seeds; beyond them so many random ones
ROUNDING = 1e-9
Table = NDArray[np.float64]
"""Seeds × cells; nan where a seed has no value in a cell."""


@dataclass(frozen=True)
class SplitTest:
    """The p of the whole table, of its total and of each cell, every one corrected for all of them.

    `attainable` is the smallest p that any split of these rows has: where it is above 0.05 nothing
    could have been shown. `exact` tells whether all splits were tried.
    """

    p: float
    p_total: float
    p_cells: tuple[float, ...]
    attainable: float
    exact: bool
    rows: tuple[int, int]


def split_test(first: Table, second: Table) -> SplitTest:
    """Test whether the rows of two tables with the same cells come from one source.

    The difference in a cell is weighted as by Mantel and Haenszel, n₁n₂ / (n₁ + n₂) of the values
    that are there, which is 0 where a split leaves one group none.

    >>> always, never = np.ones((4, 1)), np.zeros((4, 1))
    >>> round(split_test(always, never).p, 4), split_test(always[:3], never[:3]).attainable
    (0.0286, 0.1)
    """
    rows = np.concatenate([first, second])
    # Many cells are alike, above all those where nothing failed: each kind is tested once.
    kinds, kind_of = np.unique(np.nan_to_num(rows, nan=-9.0), axis=1, return_inverse=True)
    kind_of = kind_of.reshape(-1)
    rows = np.where(kinds > -9.0, kinds, np.nan)
    chosen, exact = _splits(len(first), len(second))
    shares = _at_least(_differences(rows, np.bincount(kind_of), chosen))
    smallest = shares.min(axis=1)
    ranked = np.sort(smallest)
    corrected = np.searchsorted(ranked, shares[0] + ROUNDING, side="right") / len(ranked)
    return SplitTest(
        p=float(corrected.min()),
        p_total=float(corrected[-1]),
        p_cells=tuple(float(corrected[kind]) for kind in kind_of),
        attainable=float(np.mean(smallest <= ranked[0] + ROUNDING)),
        exact=exact,
        rows=(len(first), len(second)),
    )


@lru_cache(maxsize=16)
def _splits(first: int, second: int) -> tuple[Table, bool]:
    """Splits × rows: 1 where the row is in the first group. The one that was seen comes first."""
    rows = first + second
    if math.comb(rows, first) <= MOST_SPLITS:
        groups = np.array(list(combinations(range(rows), first)), dtype=np.intp)
    else:
        shuffled = np.random.default_rng(0).random((MOST_SPLITS, rows)).argsort(axis=1)
        groups = shuffled[:, :first]
        groups[0] = range(first)
    chosen = np.zeros((len(groups), rows))
    np.put_along_axis(chosen, groups, 1.0, axis=1)
    return chosen, len(groups) == math.comb(rows, first)


def _differences(rows: Table, repeats: NDArray[np.intp], chosen: Table) -> Table:
    """Splits × (kinds of cells + 1): the sizes of the weighted differences, the last in total."""
    there = np.isfinite(rows)
    values, counted = np.where(there, rows, 0.0), there.astype(float)
    of, total = chosen @ counted, chosen @ values
    of_other, other = counted.sum(axis=0) - of, values.sum(axis=0) - total
    weighted = (total * of_other - other * of) / counted.sum(axis=0)
    return np.abs(np.column_stack([weighted, weighted @ repeats])).round(9)


def _at_least(differences: Table) -> Table:
    """For each entry the share of its column that is at least as large."""
    shares = np.empty_like(differences)
    for place, column in enumerate(differences.T):
        below = np.searchsorted(np.sort(column), column - ROUNDING, side="left")
        shares[:, place] = 1 - below / len(column)
    return shares
