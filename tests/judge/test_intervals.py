"""The t-interval against scipy, and what the unit of an average is."""

import math
import random

import pytest
from scipy.special import betainc, betaincinv, stdtrit
from scipy.stats import t as student

from ablate.judge.intervals import (
    beta_quantile,
    incomplete_beta,
    interval,
    over_seeds,
    t_quantile,
    t_within,
)
from ablate.judge.profile import BARS, bars, bins, profile


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("freedom", [*range(1, 31), 99, 1000])
def test_the_t_quantile_is_scipys(freedom: int, confidence: float) -> None:
    expected = student.ppf((1 + confidence) / 2, freedom)
    assert t_quantile(freedom, confidence) == pytest.approx(expected, rel=1e-9)
    assert t_within(expected, freedom) == pytest.approx(confidence, rel=1e-9)


def test_no_degree_of_freedom_has_no_quantile() -> None:
    with pytest.raises(ValueError, match="0 degrees"):
        t_quantile(0)


def test_an_interval_of_known_numbers() -> None:
    estimate = interval([2.0, 4.0, 4.0, 6.0])
    assert estimate.mean == 4.0
    assert estimate.half_width == pytest.approx(3.182446305 * math.sqrt(8 / 3) / 2)
    assert estimate.n == 4


def test_one_value_has_no_interval_and_none_has_no_mean() -> None:
    assert (interval([1.5]).mean, interval([1.5]).half_width) == (1.5, None)
    assert (interval([]).mean, interval([]).half_width, interval([]).n) == (None, None, 0)


def test_the_interval_covers_the_mean_95_times_in_100() -> None:
    generator = random.Random(0)
    covered = 0
    for _ in range(4000):
        estimate = interval([generator.gauss(1.0, 2.0) for _ in range(3)])
        assert estimate.mean is not None
        assert estimate.half_width is not None
        covered += abs(estimate.mean - 1.0) < estimate.half_width
    assert abs(covered / 4000 - 0.95) < 0.014  # four standard errors


def test_ratios_are_averaged_as_ratios() -> None:
    estimate = interval([0.1, 10.0, 1.0], "log")
    assert estimate.mean == pytest.approx(1.0)
    plain = interval([math.log(0.1), math.log(10.0), 0.0])
    assert plain.half_width is not None
    assert estimate.half_width == pytest.approx(math.exp(plain.half_width))
    assert interval([0.0, 1.0], "log") == interval([1.0, 0.0], "log")
    assert interval([0.0, 1.0], "log").mean == 0.0
    assert interval([1e-300, 1e300], "log").half_width is None


def test_the_seed_is_the_unit_and_not_the_run() -> None:
    runs = [(seed, arm, seed + offset) for seed in (0, 1) for arm, offset in (("a", 0), ("b", 10))]
    estimate = over_seeds(runs)
    assert estimate == interval([5.0, 6.0])
    copies = [(0, "a", 1.0), (0, "a", 1.0), (0, "a", 1.0)]
    assert over_seeds(copies) == interval([1.0])


def test_seeds_that_cover_different_arms_have_no_interval() -> None:
    estimate = over_seeds([(0, "a", 1.0), (0, "b", 5.0), (1, "a", 3.0)])
    assert (estimate.mean, estimate.half_width, estimate.n) == (3.0, None, 2)


def test_bars_have_at_most_12_places_and_show_decades() -> None:
    norms = [10.0 ** (layer - 23) for layer in range(24)]
    average = profile([norms])
    assert len(average) == 12
    assert average[0] == pytest.approx(10**-22.5)
    assert bars(average)[0] == BARS[0]
    assert bars(average)[-1] == BARS[-1]
    assert list(bars(average)) == sorted(bars(average))


def test_a_flat_profile_looks_flat_and_a_zero_is_a_dot() -> None:
    assert set(bars([1.0, 1.1, 0.95])) == {"█"}
    assert bars([None, 1.0, 0.1]) == "·█▁"
    assert bars([]) == ""
    assert bars([None]) == ""


def test_the_profile_is_the_median_over_runs_of_any_depth() -> None:
    assert profile([[1.0], [5.0], [2.0]]) == [2.0]
    assert profile([[1.0, 1.0, 4.0, 4.0], [1.0, 4.0]]) == pytest.approx([1.0, 4.0])
    assert profile([[], []]) == []
    assert profile([[None, 1.0]]) == [None, 1.0]
    assert bins([2.0] * 25, 12) == pytest.approx([2.0] * 12)


@pytest.mark.parametrize("freedom", [1, 1.5, 2, 7.3, 17.9, 100.2, 5000.5])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_quantiles_of_t_are_those_of_scipy(freedom: float, level: float) -> None:
    expected = stdtrit(freedom, (1 + level) / 2)
    assert t_quantile(freedom, level) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (1, 256), (128, 129), (3.5, 0.5), (2000, 48001)])
@pytest.mark.parametrize("x", [1e-6, 0.003, 0.04, 0.5, 0.9, 0.999])
def test_the_incomplete_beta_function_is_that_of_scipy(a: float, b: float, x: float) -> None:
    assert incomplete_beta(x, a, b) == pytest.approx(betainc(a, b, x), rel=1e-9, abs=1e-13)


@pytest.mark.parametrize(("a", "b"), [(1, 256), (128, 129), (250, 7), (20, 5000)])
@pytest.mark.parametrize("probability", [0.025, 0.5, 0.975])
def test_its_inverse_is_too(a: float, b: float, probability: float) -> None:
    expected = betaincinv(a, b, probability)
    assert beta_quantile(probability, a, b) == pytest.approx(expected, rel=1e-9)
