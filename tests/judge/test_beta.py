"""Quantiles against scipy's."""

import pytest
from scipy.special import betainc, betaincinv, stdtrit

from ablate.judge.beta import beta_quantile, incomplete_beta
from ablate.judge.intervals import t_quantile


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
