"""Counts of failures: which cell they name, and how often they are wrong, by simulation."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from ablate.report.inference.failing_arms import failing_arms, no_likelier, poisson_binomial
from ablate.report.inference.failure_facts import neither_learned
from ablate.report.inference.failures import (
    FailureGrid,
    FailureTest,
    failure_test,
    judged_failures,
    smallest_p,
)
from ablate.report.inference.splits import split_test

Failed = NDArray[np.bool_]
Draw = Callable[[np.random.Generator, int, int], Failed]


def as_grid(failed: Failed) -> FailureGrid:
    """Seeds × cells as a grid."""
    return {
        (f"cell {cell}",): {seed: bool(value) for seed, value in enumerate(column)}
        for cell, column in enumerate(failed.T)
    }


def at_random(rate: float) -> Draw:
    return lambda generator, seeds, cells: generator.random((seeds, cells)) < rate


def one_cell_of(rate: float) -> Draw:
    """The first cell always fails, the others at a rate."""

    def draw(generator: np.random.Generator, seeds: int, cells: int) -> Failed:
        failed = generator.random((seeds, cells)) < rate
        failed[:, 0] = True
        return failed

    return draw


def judged_alone(*sides: Failed) -> FailureTest:
    test = failure_test([as_grid(side) for side in sides])
    assert test is not None
    return judged_failures([test])[0]


def rate(seeds: int, cells: int, first: Draw, second: Draw, studies: int = 100) -> float:
    """The share of studies with p at most 0.05."""
    generator = np.random.default_rng(seeds + 10 * cells)
    tests = [
        failure_test([as_grid(draw(generator, seeds, cells)) for draw in (first, second)])
        for _ in range(studies)
    ]
    return sum(test is not None and test.p <= 0.05 for test in tests) / studies


def test_a_failure_confined_to_one_cell_is_decided_and_named() -> None:
    corner, sound = np.zeros((6, 12), bool), np.zeros((6, 12), bool)
    corner[:, 7] = True
    test = judged_alone(corner, sound)
    assert test.verdict == "fails more"
    assert [one.cell for one in test.cells if one.named] == [("cell 7",)]
    assert test.p == pytest.approx(2 / 924)
    assert (test.failed, test.of) == ((6, 0), (72, 72))
    assert judged_alone(sound, corner).verdict == "fails less"


def test_failures_in_every_cell_name_every_cell_and_opposite_ones_both() -> None:
    everywhere, nowhere = np.ones((5, 3), bool), np.zeros((5, 3), bool)
    assert all(one.named for one in judged_alone(everywhere, nowhere).cells)
    left, right = nowhere.copy(), nowhere.copy()
    left[:, 0], right[:, 2] = True, True
    assert judged_alone(left, right).verdict == "both"


def test_a_little_in_every_cell_is_decided_in_total_and_names_none() -> None:
    often = np.array([[(seed + cell) % 2 == 0 for cell in range(12)] for seed in range(6)])
    test = judged_alone(often, np.zeros((6, 12), bool))
    assert test.verdict == "fails more"
    assert not any(one.named for one in test.cells)


def test_three_seeds_cannot_decide_and_few_failures_neither() -> None:
    always, never = np.ones((3, 2), bool), np.zeros((3, 2), bool)
    test = judged_alone(always, never)
    assert (test.verdict, test.attainable) == ("too few seeds", pytest.approx(0.1))
    single, sound = np.zeros((6, 2), bool), np.zeros((6, 2), bool)
    single[0, 0] = True
    test = judged_alone(single, sound)
    assert (test.verdict, test.attainable, test.p_holm) == ("too few failures", 1.0, None)
    assert failure_test([as_grid(sound), as_grid(sound)]) is None


def test_holm_is_over_the_tests_that_could_be_decided() -> None:
    corner, sound, single = np.ones((5, 1), bool), np.zeros((5, 1), bool), np.zeros((5, 1), bool)
    single[0] = True
    found = [failure_test([as_grid(side), as_grid(sound)]) for side in (corner, single, single)]
    judged = judged_failures([test for test in found if test is not None])
    assert [test.family for test in judged] == [1, 1, 1]
    assert judged[0].p_holm == pytest.approx(2 / 252)


def test_holes_and_unequal_seeds() -> None:
    always = {("a",): dict.fromkeys(range(4), True), ("b",): dict.fromkeys(range(3), False)}
    never = {("a",): dict.fromkeys(range(2, 8), False), ("c",): dict.fromkeys(range(9), True)}
    test = failure_test([always, never])
    assert test is not None
    assert [one.cell for one in test.cells] == [("a",)]
    assert (test.seeds, test.failed, test.of) == ((4, 6), (4, 0), (4, 6))
    assert test.p == pytest.approx(smallest_p(4, 6)) == pytest.approx(1 / 210)
    first = np.array([[1.0, np.nan], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [np.nan, 0.0]])
    assert split_test(first, np.zeros((5, 2))).p < 0.05


def plainly(first: Failed, second: Failed) -> tuple[float, list[float]]:
    """The p of the table and of its cells and total, split by split and number by number."""
    rows = [*first.astype(float), *second.astype(float)]
    table = []
    for chosen in combinations(range(len(rows)), len(first)):
        left = [row for place, row in enumerate(rows) if place in chosen]
        right = [row for place, row in enumerate(rows) if place not in chosen]
        cells = np.sum(left, axis=0) / len(left) - np.sum(right, axis=0) / len(right)
        table.append([*np.abs(cells), abs(cells.sum())])
    columns = list(zip(*table, strict=True))
    own = [[np.mean([v >= x - 1e-9 for v in column]) for x in column] for column in columns]
    smallest = [min(shares) for shares in zip(*own, strict=True)]
    corrected = [np.mean([s <= shares[0] + 1e-9 for s in smallest]) for shares in own]
    return float(min(corrected)), [float(p) for p in corrected]


@pytest.mark.parametrize("seed", range(6))
def test_p_is_what_splitting_by_hand_gives(seed: int) -> None:
    generator = np.random.default_rng(seed)
    first, second = generator.random((4, 3)) < 0.8, generator.random((3 + seed % 2, 3)) < 0.3
    test = split_test(first.astype(float), second.astype(float))
    p, own = plainly(first, second)
    assert test.p == pytest.approx(p)
    assert [*test.p_cells, test.p_total] == pytest.approx(own)


def test_many_seeds_are_split_at_random_the_same_every_time() -> None:
    always, never = np.ones((12, 1)), np.zeros((12, 1))
    test = split_test(always, never)
    assert not test.exact
    assert test == split_test(always, never)
    assert test.p <= 0.001


@pytest.mark.parametrize("seeds", [3, 4, 5, 6])
def test_counts_are_seldom_wrong(seeds: int) -> None:
    """At most 0.05 by construction, and less since counts are coarse: 0.000 to 0.042."""
    for cells in (1, 3):
        assert rate(seeds, cells, at_random(0.3), at_random(0.3)) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("cells", [1, 3, 12])
@pytest.mark.parametrize("chance", [0.1, 0.3, 0.5])
def test_counts_are_seldom_wrong_in_many_studies(cells: int, chance: float) -> None:
    for seeds in (3, 4, 5, 6):
        assert rate(seeds, cells, at_random(chance), at_random(chance), 600) <= 0.072


@pytest.mark.parametrize(
    ("seeds", "others", "power"), [(4, 0.0, 1.0), (5, 0.1, 0.8), (6, 0.2, 0.65)]
)
def test_one_of_three_cells_always_failing_is_seen(seeds: int, others: float, power: float) -> None:
    assert rate(seeds, 3, one_cell_of(others), at_random(others), 60) >= power


def four(seeds: int, cells: int, rates: tuple[float, ...], studies: int) -> float:
    """How often an interaction of four corners with these rates is seen."""
    generator = np.random.default_rng(seeds)
    tests = [
        failure_test([as_grid(generator.random((seeds, cells)) < chance) for chance in rates])
        for _ in range(studies)
    ]
    return sum(test is not None and test.p <= 0.05 for test in tests) / studies


def test_a_failure_that_takes_both_factors_is_an_interaction_and_one_of_either_is_none() -> None:
    on, off = np.ones((5, 2), bool), np.zeros((5, 2), bool)
    assert judged_alone(on, off, off, off).verdict == "fails more"
    assert judged_alone(on, off, on, off).p == 1.0
    assert judged_alone(on, on, off, off).p == 1.0


@pytest.mark.parametrize("rates", [(0.2,) * 4, (0.5, 0.5, 0, 0), (0.8, 0.2, 0.8, 0.2)])
def test_interactions_of_counts_are_seldom_wrong(rates: tuple[float, ...]) -> None:
    """0.000 to 0.028 of 400, main effects or none, 4 to 6 seeds and 1 to 6 cells."""
    assert four(5, 3, rates, 80) <= 0.05
    assert four(5, 3, (1, 0.1, 0.1, 0.1), 20) >= 0.9


def test_an_arm_that_always_fails_is_decided_with_three_seeds() -> None:
    study = {f"arm {k}": dict.fromkeys(range(3), k == 0) for k in range(6)}
    (first, *others) = failing_arms(study)
    assert first.decided
    assert first.p == pytest.approx((1 / 6) ** 3)
    assert not any(one.decided for one in others)
    # Of three arms one is among the failing ones in all three seeds once in 27 times, by luck.
    few = failing_arms({f"arm {k}": dict.fromkeys(range(3), k == 0) for k in range(3)})
    assert [one.p_holm for one in few] == [None] * 3


def test_an_arm_that_alone_learns_is_decided_too() -> None:
    study = {f"arm {k}": dict.fromkeys(range(4), k > 0) for k in range(6)}
    assert [one.arm for one in failing_arms(study) if one.decided] == ["arm 0"]


def test_arms_are_told_nothing_of_where_all_fail_or_none() -> None:
    assert failing_arms({"a": {0: True, 1: True}, "b": {0: True, 1: True}}) == []
    assert failing_arms({"a": {0: True}, "b": {1: False}}) == []


def test_the_poisson_binomial_is_the_binomial_of_equal_chances() -> None:
    known = [0.216, 0.432, 0.288, 0.064]
    assert poisson_binomial([0.4] * 3) == pytest.approx(known)
    assert no_likelier(known, 0) == pytest.approx(0.216 + 0.064)
    assert sum(poisson_binomial([0.1, 0.7, 0.3])) == pytest.approx(1)


@pytest.mark.parametrize("arms", [5, 10])
@pytest.mark.parametrize("luck", [False, True])
def test_arms_are_seldom_told_apart_by_luck(arms: int, luck: bool) -> None:
    """0.000 to 0.030 of 1000, for 3 to 24 arms and 3 to 8 seeds."""
    generator = np.random.default_rng(arms)
    wrong = 0
    for _ in range(200):
        chance = generator.uniform(0, 1, 5) if luck else np.full(5, 0.2)
        failed = generator.random((arms, 5)) < chance
        study = {str(arm): dict(enumerate(map(bool, row))) for arm, row in enumerate(failed)}
        wrong += any(one.decided for one in failing_arms(study))
    assert wrong / 200 <= 0.05


def test_neither_learned_is_of_a_cell() -> None:
    post = np.array([[True, False, True], [True, False, False], [True, True, True]])
    pre = np.array([[True, False, False], [True, False, False], [False, True, False]])
    assert neither_learned([as_grid(post), as_grid(pre)]) == [("cell 0",)]
