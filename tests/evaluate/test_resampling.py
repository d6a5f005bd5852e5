"""Bootstrap intervals: what they cover, what is drawn as a whole, and the flags made of them."""

import numpy as np
import pytest

from ablate.evaluate.resampling import Groups, group_windows, interval, resample
from ablate.evaluate.tolerance import flags
from ablate.record.evaluated import LengthFlags


def test_windows_are_grouped_by_the_document_of_their_last_target() -> None:
    documents = np.arange(0, 200, 20)
    groups = group_windows(np.array([5, 19, 20, 45, 59, 61, 85, 105, 125, 145, 199]), documents)
    assert groups.over == "documents"
    assert groups.of.tolist() == [0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 8]
    assert groups.count == 9


def test_too_few_documents_give_blocks_of_neighbouring_windows() -> None:
    groups = group_windows(np.arange(64), np.array([0, 32]))
    assert groups.over == "blocks"
    assert groups.of.tolist() == [window // 4 for window in range(64)]


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


def test_flags_follow_the_interval_beyond_the_train_length_alone() -> None:
    found = flags(
        [8, 16, 32, 64, 128],
        16,
        [[0.5, 0.6], [0.0, 0.0], [-0.01, 0.01], [-0.2, -0.1], None],
        lower_is_better=False,
        learned=True,
    )
    assert found.tolerates == [None, None, "yes", "no", None]
    assert found.extrapolates == [None, None, "no", "no", None]
    fell = flags([16, 32], 16, [[0.0, 0.0], [-0.2, -0.1]], lower_is_better=True, learned=True)
    assert fell == LengthFlags([None, "yes"], [None, "yes"])


def test_who_knows_nothing_is_not_said_to_keep_it() -> None:
    differences = [[0.0, 0.0], [-0.01, 0.01], [-0.2, -0.1]]
    found = flags([16, 32, 64], 16, differences, lower_is_better=False, learned=False)
    assert found.tolerates == [None, "undecided", "no"]
    assert found.extrapolates == [None, "no", "no"]


def group_windows_of(count: int) -> Groups:
    return Groups(np.arange(count), "documents")
