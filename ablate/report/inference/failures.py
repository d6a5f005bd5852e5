"""Whether a level fails more than another, cell by cell; and whether that depends on a factor."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ablate.report.inference.failure_facts import (
    CellCount,
    FailureGrid,
    FailureTest,
    FailureVerdict,
)
from ablate.report.inference.outcomes import Key
from ablate.report.inference.splits import Table, split_test
from ablate.report.inference.testing import LEVEL, holm


def failure_test(sides: Sequence[FailureGrid]) -> FailureTest | None:
    """Compare two sides, a - b, or four, (a - b) - (c - d), over the cells that all of them have.

    Of four sides a seed's row is its difference a - b in each cell, and the rows of one level of
    the second factor are held against those of the other: the null is that a - b does not depend on
    it. None where there is no such cell, or nothing failed.

    >>> always, never = dict.fromkeys(range(5), True), dict.fromkeys(range(5), False)
    >>> high, low = ("lr=0.003",), ("lr=0.001",)
    >>> test = failure_test([{high: always, low: never}, {high: never, low: never}])
    >>> round(test.p, 4), [(count.cell, round(count.p, 4)) for count in test.cells]
    (0.0079, [(('lr=0.003',), 0.0079), (('lr=0.001',), 1.0)])
    """
    cells = _shared(sides)
    if not any(failed for side in sides for cell in cells for failed in side[cell].values()):
        return None
    tests = [split_test(*_groups(order, cells)) for order in _orders(sides)]
    test = max(tests, key=lambda one: one.p)
    counts = [_count(cell, sides, p) for cell, p in zip(cells, test.p_cells, strict=True)]
    return FailureTest(
        failed=tuple(sum(count.failed[k] for count in counts) for k in range(len(sides))),
        of=tuple(sum(count.of[k] for count in counts) for k in range(len(sides))),
        change=sum(count.change for count in counts) / len(counts),
        cells=tuple(sorted(counts, key=lambda count: (count.p, count.cell))),
        seeds=test.rows,
        p=test.p,
        attainable=max(one.attainable for one in tests),
        exact=test.exact,
    )


def _shared(sides: Sequence[FailureGrid]) -> list[Key]:
    """The cells in which every side has a run; of four sides each two that make a difference."""
    cells = set[Key]().union(*sides).intersection(*sides)
    if len(sides) == 2:
        return sorted(cell for cell in cells if all(side[cell] for side in sides))
    pairs = [pair for order in _orders(sides) for pair in (order[:2], order[2:])]
    return sorted(
        cell for cell in cells if all(set(one[cell]) & set(other[cell]) for one, other in pairs)
    )


def _orders(sides: Sequence[FailureGrid]) -> list[Sequence[FailureGrid]]:
    """Four sides are a difference of differences both ways; the weaker of the two is told."""
    return [sides] if len(sides) == 2 else [sides, [sides[k] for k in (0, 2, 1, 3)]]


def _groups(sides: Sequence[FailureGrid], cells: Sequence[Key]) -> tuple[Table, Table]:
    """The rows of the two groups that are held against each other."""
    if len(sides) == 2:
        return _rows(sides[0], cells), _rows(sides[1], cells)
    first, second, third, fourth = sides
    return _changes(first, second, cells), _changes(third, fourth, cells)


def _rows(side: FailureGrid, cells: Sequence[Key]) -> Table:
    """Seeds × cells: 1 where the run failed, nan where there is none."""
    seeds = sorted({seed for cell in cells for seed in side[cell]}, key=str)
    rows = [[float(side[cell].get(seed, np.nan)) for cell in cells] for seed in seeds]
    return np.array(rows).reshape(len(seeds), len(cells))


def _changes(first: FailureGrid, second: FailureGrid, cells: Sequence[Key]) -> Table:
    """Seeds × cells: the difference of two sides in each seed that has both."""
    both = [set(first[cell]) & set(second[cell]) for cell in cells]
    seeds = sorted(set[Any]().union(*both), key=str)
    rows = [
        [
            float(first[cell][seed]) - float(second[cell][seed]) if seed in shared else np.nan
            for cell, shared in zip(cells, both, strict=True)
        ]
        for seed in seeds
    ]
    return np.array(rows).reshape(len(seeds), len(cells))


def _count(cell: Key, sides: Sequence[FailureGrid], p: float) -> CellCount:
    failed = tuple(sum(side[cell].values()) for side in sides)
    of = tuple(len(side[cell]) for side in sides)
    shares = [count / number for count, number in zip(failed, of, strict=True)]
    signs = (1, -1) if len(sides) == 2 else (1, -1, -1, 1)
    change = sum(sign * share for sign, share in zip(signs, shares, strict=True))
    return CellCount(cell, failed, of, change, p)


def judged_failures(
    tests: Sequence[FailureTest], at_least: float = 0.0, shares: Sequence[float] = ()
) -> list[FailureTest]:
    """Return the tests of one family with their verdicts: Holm over those that could be decided.

    No corrected p is below `at_least` (see `failing_arms.gate`). `shares` are how much of the level
    each may use up, 1 without them.

    Leaving out what could not is no choice by the outcome: how small a p can be depends on how many
    runs failed, not on which side they fell (Tarone 1990).
    """
    shares = shares or [1.0] * len(tests)
    levels = [LEVEL * share for share in shares]
    open_ = [
        min(1.0, test.p * LEVEL / level) if test.attainable <= level else None
        for test, level in zip(tests, levels, strict=True)
    ]
    family = sum(p is not None for p in open_)
    return [
        _judged(test, p_holm, family, level, at_least)
        for test, p_holm, level in zip(tests, holm(open_), levels, strict=True)
    ]


def _judged(
    test: FailureTest, p_holm: float | None, family: int, level: float, at_least: float
) -> FailureTest:
    if p_holm is None:
        few = smallest_p(*test.seeds) > level
        return replace(test, family=family, verdict="too few seeds" if few else "too few failures")
    factor = p_holm / test.p
    p_holm = max(p_holm, at_least)
    decided = p_holm <= LEVEL
    cells = tuple(replace(one, named=decided and one.p * factor <= LEVEL) for one in test.cells)
    changes = [one.change for one in cells if one.named] or [test.change]
    verdict: FailureVerdict = "undecided"
    if decided and min(changes) < 0 < max(changes):
        verdict = "both"
    elif decided:
        verdict = "fails more" if changes[0] > 0 else "fails less"
    return replace(test, cells=cells, p_holm=p_holm, family=family, verdict=verdict)


def smallest_p(first: int, second: int) -> float:
    """Return the smallest p that a count over so many seeds on two sides can have.

    >>> smallest_p(3, 3), round(smallest_p(5, 5), 4), round(smallest_p(4, 6), 4)
    (0.1, 0.0079, 0.0048)
    """
    return (1 + (first == second)) / math.comb(first + second, first)
