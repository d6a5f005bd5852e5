"""Where two curves part: to the bit, and beyond the noise of their difference."""

import numpy as np
import pytest

from ablate.diff.parting import FEWEST, Points, average, last_equal, noise, parting, spark

STEPS = tuple(range(1, 1001, 10))


def points(differences: np.ndarray) -> Points:
    """Curves that fall, the second with these differences."""
    first = [5.0 - 0.002 * step for step in STEPS]
    second = [a + d for a, d in zip(first, differences, strict=True)]
    return Points(STEPS, tuple(first), tuple(second))


@pytest.mark.parametrize("sign", [-1, 1])
def test_curves_part_where_their_difference_begins(sign: int) -> None:
    generator = np.random.default_rng(0)
    step = np.array(STEPS)
    shifted = sign * np.where(step > 500, 0.1, 0.0) + generator.normal(0, 0.02, len(STEPS))
    found = parting(points(shifted))
    assert found is not None
    assert 400 <= found <= 550


def test_a_difference_that_closes_again_is_no_parting() -> None:
    step = np.array(STEPS)
    bump = np.where((step > 200) & (step < 500), 0.3, 0.0)
    assert parting(points(bump + np.random.default_rng(1).normal(0, 0.02, len(STEPS)))) is None


def test_only_the_last_parting_counts() -> None:
    step = np.array(STEPS)
    apart = np.where(((step > 200) & (step < 400)) | (step > 700), 0.3, 0.0)
    found = parting(points(apart + np.random.default_rng(1).normal(0, 0.02, len(STEPS))))
    assert found is not None
    assert 700 <= found <= 750


def test_noise_alone_seldom_parts() -> None:
    generator = np.random.default_rng(2)
    parted = [
        parting(points(generator.normal(0, 0.05, len(STEPS)))) is not None for _ in range(300)
    ]
    assert np.mean(parted) < 0.01


def test_equal_curves_never_part_and_few_steps_say_nothing() -> None:
    assert parting(points(np.zeros(len(STEPS)))) is None
    assert parting(points(np.full(len(STEPS), 0.1))) == 1
    few = Points(STEPS[: FEWEST - 1], (1.0,) * (FEWEST - 1), (2.0,) * (FEWEST - 1))
    assert parting(few) is None
    assert parting(Points((), (), ())) is None


def test_noise_is_that_of_the_steps_and_not_of_the_trend() -> None:
    generator = np.random.default_rng(3)
    trend = np.linspace(0, 2, 2000)
    assert noise(list(trend + generator.normal(0, 0.1, 2000))) == pytest.approx(0.1, rel=0.05)
    assert noise([1.0]) == 0.0


def test_only_steps_that_all_curves_have_are_averaged() -> None:
    one = ({1: 5.0, 10: 4.0, 20: None}, {1: 5.5, 10: 4.5, 20: 3.0, 30: 2.0})
    two = ({1: 6.0, 10: 5.0, 20: 4.0}, {1: 6.5, 10: 5.1, 20: 4.0})
    found = average([one, two])
    assert found.steps == (1, 10)
    assert found.first == (5.5, 4.5)
    assert found.differences == pytest.approx([0.5, 0.3])
    assert average([]).steps == ()


def test_equality_is_to_the_bit_and_of_all_pairs() -> None:
    same = {1: 5.0, 10: 4.0, 20: None}
    assert last_equal([(same, dict(same))]) == (20, None)
    assert last_equal([(same, same), (same, same | {10: 4.0 + 1e-15})]) == (1, 10)
    assert last_equal([(same, same | {1: 4.0})]) == (None, 1)
    assert last_equal([]) == (None, None)


def test_a_row_of_bars_is_of_one_scale() -> None:
    assert spark([5.0, 3.0], 1.0, 5.0, 40) == "█▅"
    assert len(spark([1.0] * 1000, 0.0, 1.0, 40)) == 40
    assert spark([2.0, 2.0], 2.0, 2.0, 40) == "▁▁"
