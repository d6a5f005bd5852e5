"""Tests of differences: against scipy, and how often they are wrong by simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from ablate.report.inference.testing import LEVEL, difference, holm

MARGIN = 0.02
STUDIES = 2000
NOISE = 0.02


def se(rate: float, of: int = STUDIES) -> float:
    """The standard error of a share."""
    return math.sqrt(rate * (1 - rate) / of)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 40])
def test_a_difference_is_scipys_paired_test(n: int) -> None:
    generator = np.random.default_rng(n)
    one, other = generator.normal(0.05, 1, n), generator.normal(0, 1, n)
    known = stats.ttest_rel(one, other)
    found = difference(list(one - other), MARGIN)
    low, high = known.confidence_interval()
    assert found.p == pytest.approx(known.pvalue, abs=1e-12)
    assert (found.mean, found.low, found.high) == pytest.approx((np.mean(one - other), low, high))


@pytest.mark.parametrize("offset", [-0.2, -0.03, 0.0, 0.01, 0.03, 0.2])
def test_the_margin_tests_are_scipys_one_sided_ones(offset: float) -> None:
    values = np.random.default_rng(7).normal(offset, 0.03, 6)
    found = difference(list(values), MARGIN)
    above = stats.ttest_1samp(values, MARGIN, alternative="greater").pvalue
    below = stats.ttest_1samp(values, -MARGIN, alternative="less").pvalue
    assert found.p_margin == pytest.approx(min(1, 2 * min(above, below)), abs=1e-12)
    assert found.p_equivalence == pytest.approx(min(1, 2 * max(1 - above, 1 - below)), abs=1e-12)


def test_few_values_have_no_interval_and_equal_ones_no_doubt() -> None:
    assert difference([], MARGIN).mean is None
    assert difference([0.3], MARGIN).mean == 0.3
    assert difference([0.3], MARGIN).low is None
    assert difference([0.3], MARGIN).p is None
    same = difference([0.0, 0.0, 0.0], MARGIN)
    assert (same.p, same.p_margin, same.p_equivalence) == (1.0, 1.0, 0.0)


def test_the_same_difference_in_every_seed_has_no_spread_and_so_no_interval() -> None:
    for values in ([0.5, 0.5], [0.1 + 0.2, 0.3, 0.3]):
        found = difference(values, MARGIN)
        assert found.mean == pytest.approx(values[-1])
        assert (found.low, found.p, found.p_margin, found.p_equivalence) == (None,) * 4


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([None, 0.04]) == [None, 0.04]
    assert holm([]) == []


@pytest.fixture(scope="module")
def studies() -> np.ndarray:
    """Losses of studies of 4 arms and 5 seeds without a true difference, paired by seed."""
    generator = np.random.default_rng(0)
    seeds = generator.normal(2.0, 0.1, (STUDIES, 1, 5))
    return seeds + generator.normal(0.0, NOISE, (STUDIES, 4, 5))


def against_first(studies: np.ndarray, shift: float = 0.0) -> list[list]:
    """The tests of each study's three arms, shifted, against its first."""
    return [
        [difference(list(arm - study[0] + shift), MARGIN) for arm in study[1:]] for study in studies
    ]


def test_without_a_difference_a_family_is_wrong_at_most_at_its_rate(studies: np.ndarray) -> None:
    found = against_first(studies)
    single = np.mean([[test.p <= LEVEL for test in study] for study in found])
    family = np.mean([min(holm([test.p for test in study])) <= LEVEL for study in found])
    judged = np.mean([min(holm([test.p_margin for test in study])) <= LEVEL for study in found])
    assert abs(single - LEVEL) < 4 * se(LEVEL, STUDIES)
    assert family <= LEVEL + 3 * se(LEVEL)
    assert judged <= family


def test_intervals_cover_the_truth_95_times_in_100(studies: np.ndarray) -> None:
    covered = np.mean([study[0].low <= 0 <= study[0].high for study in against_first(studies)])
    assert abs(covered - 0.95) < 3 * se(0.95)


@pytest.mark.parametrize("sign", [-1, 1])
def test_at_the_margin_no_verdict_is_wrong_more_than_its_rate(
    studies: np.ndarray, sign: int
) -> None:
    found = against_first(studies, sign * MARGIN)
    equal = np.mean([study[0].p_equivalence <= LEVEL for study in found])
    beyond = np.mean([study[0].p_margin <= LEVEL for study in found])
    either = np.mean(
        [
            min(*holm([t.p_margin for t in study]), *holm([t.p_equivalence for t in study]))
            <= LEVEL
            for study in found
        ]
    )
    assert equal <= LEVEL / 2 + 3 * se(LEVEL / 2)
    assert beyond <= LEVEL / 2 + 3 * se(LEVEL / 2)
    assert either <= LEVEL + 3 * se(LEVEL)


def test_what_is_there_is_found() -> None:
    generator = np.random.default_rng(1)
    large = generator.normal(0.1, NOISE, (300, 5))
    none = generator.normal(0.0, MARGIN / 5, (300, 5))
    assert np.mean([difference(list(row), MARGIN).p_margin <= LEVEL for row in large]) > 0.95
    assert np.mean([difference(list(row), MARGIN).p_equivalence <= LEVEL for row in none]) > 0.95
