"""Bootstrap intervals: what they cover, and what is drawn as a whole."""

import numpy as np
import pytest

from ablate.evaluate.resampling import Groups, interval, resample


def test_the_interval_has_the_width_that_theory_gives() -> None:
    random = np.random.default_rng(5)
    values = random.normal(0, 1, (400, 1))
    drawn = resample(values, np.ones(400), Groups(np.arange(400), "documents"))
    low, high = interval(drawn[:, 0]) or (0, 0)
    assert high - low == pytest.approx(2 * 1.96 / 20, rel=0.1)
    assert low < values.mean() < high


def test_windows_of_one_document_are_no_independent_evidence() -> None:
    random = np.random.default_rng(5)
    own = np.repeat(random.normal(0, 1, 20), 20)[:, None]
    each = Groups(np.arange(400), "documents")
    whole = Groups(np.arange(400) // 20, "documents")
    spread = [resample(own, np.ones(400), groups).std() for groups in (each, whole)]
    assert spread[1] == pytest.approx(spread[0] * 20**0.5, rel=0.2)


def test_columns_are_drawn_together_so_that_their_difference_is_sharp() -> None:
    values = np.random.default_rng(5).normal(0, 1, (50, 1))
    drawn = resample(np.hstack([values, values + 0.3]), np.ones(50), group_windows_of(50))
    assert interval(drawn[:, 1] - drawn[:, 0]) == pytest.approx([0.3, 0.3])


def test_means_are_per_target_and_a_missing_column_stays_missing() -> None:
    counts = np.array([1.0, 9.0])
    sums = np.column_stack([counts, [np.nan, np.nan]])
    drawn = resample(sums, counts, group_windows_of(2))
    assert (drawn[:, 0] == 1).all()
    assert interval(drawn[:, 1]) is None


def group_windows_of(count: int) -> Groups:
    return Groups(np.arange(count), "documents")
