"""Intervals by document: what they are made of, what they cover, and where none is given."""

import numpy as np
import pytest

from ablate.judge.by_document import DocumentSums, estimate, units
from ablate.judge.intervals import t_quantile
from tests.judge.made_up_documents import TARGETS, lay, score
from tests.judge.real_scores import Population


def covered(bounds: list[tuple[float, float] | None], truth: float) -> tuple[float, float]:
    """The share of intervals that cover the truth, and the share of studies that have one."""
    known = [pair for pair in bounds if pair is not None]
    return sum(low <= truth <= high for low, high in known) / len(known), len(known) / len(bounds)


def test_the_variance_is_that_of_leaving_each_document_out() -> None:
    totals, counts = np.array([3.0, 10.0, 2.0, 9.0]), np.array([2.0, 5.0, 1.0, 4.0])
    others, fewer = np.array([1.0, 4.0, 2.0, 3.0]), np.array([2.0, 3.0, 1.0, 2.0])

    def ratio(kept: list[int]) -> float:
        first = totals[kept].sum() / counts[kept].sum()
        return first - others[kept].sum() / fewer[kept].sum()

    found = estimate(DocumentSums(totals, counts, 12), DocumentSums(others, fewer, 8))
    assert found is not None
    without = np.array([ratio([d for d in range(4) if d != left]) for left in range(4)])
    assert found.value == pytest.approx(ratio([0, 1, 2, 3]))
    assert found.variance == pytest.approx(3 / 4 * ((without - without.mean()) ** 2).sum())
    assert found.effective == pytest.approx(12**2 / 46)
    assert (found.documents, found.windows, found.largest) == (4, 8, 5 / 12)


def test_documents_of_one_length_give_the_t_interval_of_their_means() -> None:
    means = np.random.default_rng(0).normal(0, 1, 20)
    found = estimate(DocumentSums(means * 50, np.full(20, 50.0), 1000))
    assert found is not None
    half = t_quantile(19, 0.95) * means.std(ddof=1) / 20**0.5
    assert found.interval() == pytest.approx((means.mean() - half, means.mean() + half))


def test_few_documents_few_windows_and_no_number_have_no_interval() -> None:
    one_large = np.array([92.0, *[1.0] * 8])
    assert estimate(DocumentSums(one_large, one_large, 1000)).interval() is None  # type: ignore[union-attr]
    even = np.ones(9)
    assert estimate(DocumentSums(even, even, 255)).interval() is None  # type: ignore[union-attr]
    assert estimate(DocumentSums(even, even, 256)).interval() is not None  # type: ignore[union-attr]
    assert estimate(DocumentSums(even * np.nan, even, 256)) is None
    assert estimate(DocumentSums(np.ones(1), np.ones(1), 256)) is None


def test_sums_over_other_targets_have_no_difference_target_by_target() -> None:
    with pytest.raises(ValueError, match="different targets"):
        DocumentSums(np.ones(2), np.ones(2), 2) - DocumentSums(np.ones(2), np.full(2, 2.0), 2)


def test_a_text_of_too_few_documents_is_cut_into_blocks() -> None:
    of, kind = units(np.array([0] * 56 + list(range(1, 9))), np.ones(64))
    assert kind == "blocks"
    assert of == [window // 4 for window in range(64)]


@pytest.mark.parametrize(
    ("documents", "windows", "skew"),
    [(12, 256, 0.5), (40, 256, 1.2), (100, 256, 1.5), (40, 64, 1.2), (40, 1024, 1.2)],
)
def test_intervals_cover_the_mean_of_documents_of_skewed_lengths(
    documents: int, windows: int, skew: float
) -> None:
    random, bounds = np.random.default_rng(1), []
    for _ in range(600):
        of = lay(random, documents=documents, windows=windows, skew=skew)
        found = estimate(score(random, of, means=[0.0], between=0.3, within=0.5)[0])
        bounds.append(found.interval(64) if found else None)
    share, told = covered(bounds, 0.0)
    assert 0.925 < share < 0.98
    assert told > 0.7


def percentile_bootstrap(random: np.random.Generator, sums: DocumentSums) -> tuple[float, float]:
    """The middle 95 % of 1,000 draws of whole documents."""
    documents = len(sums.counts)
    times = random.multinomial(documents, np.full(documents, 1 / documents), size=1000)
    low, high = np.percentile(
        (times @ np.array(sums.totals)) / (times @ np.array(sums.counts)), [2.5, 97.5]
    )
    return float(low), float(high)


def test_the_percentile_bootstrap_covers_less() -> None:
    random, bounds, drawn = np.random.default_rng(1), [], []
    for _ in range(300):
        of = lay(random, documents=12, windows=256, skew=0.5)
        sums = score(random, of, means=[0.0], between=0.3, within=0.5)[0]
        found = estimate(sums)
        bounds.append(found.interval() if found else None)
        drawn.append(percentile_bootstrap(random, sums))
    assert covered(drawn, 0.0)[0] < 0.91 < 0.93 < covered(bounds, 0.0)[0]


REAL = [
    ("nll", "rope/0/64", None),
    ("correct", "rope/0/64", None),
    ("nll", "rope/0/512", "rope/0/64"),
    ("correct", "rope/0/512", "rope/0/64"),
    ("nll", "alibi/0/512", "alibi/0/64"),
    ("correct", "alibi/0/512", "alibi/0/64"),
    ("nll", "rope/0/64", "unigram"),
    ("nll", "early/0/64", "unigram"),
]
"""Measure, column and what it is held against: values, differences of lengths, learning."""


def real_bounds(
    population: Population,
    measure: str,
    column: str,
    than: str | None,
    documents: int,
    texts: int = 400,
) -> list[tuple[float, float] | None]:
    """Intervals of some texts drawn from the population."""
    random, bounds = np.random.default_rng(2), []
    for _ in range(texts):
        text = population.draw(random, documents)
        sums = population.sums(measure, column, text)
        found = estimate(sums if than is None else sums - population.sums(measure, than, text))
        bounds.append(found.interval(64) if found else None)
    return bounds


def real_mean(population: Population, measure: str, column: str, than: str | None) -> float:
    return population.mean(measure, column) - (population.mean(measure, than) if than else 0.0)


@pytest.mark.parametrize(("measure", "column", "than"), REAL)
def test_intervals_cover_the_mean_of_real_documents(
    measure: str, column: str, than: str | None
) -> None:
    population = Population(with_largest=False)
    bounds = real_bounds(population, measure, column, than, documents=40)
    share, told = covered(bounds, real_mean(population, measure, column, than))
    assert 0.91 < share < 0.985
    assert told > 0.85


def test_no_interval_covers_a_rare_document_that_is_large_and_of_another_kind() -> None:
    """The limit of every interval by document: texts without it know nothing of it."""
    population = Population(with_largest=True)
    bounds = real_bounds(population, "nll", "rope/0/64", None, documents=40)
    assert covered(bounds, real_mean(population, "nll", "rope/0/64", None))[0] < 0.85


@pytest.mark.slow
@pytest.mark.parametrize("documents", [20, 40, 80])
@pytest.mark.parametrize(("measure", "column", "than"), REAL)
def test_coverage_of_real_documents_in_full(
    measure: str, column: str, than: str | None, documents: int
) -> None:
    population = Population(with_largest=False)
    bounds = real_bounds(population, measure, column, than, documents, texts=3000)
    assert 0.91 < covered(bounds, real_mean(population, measure, column, than))[0] < 0.99


def test_windows_of_the_made_up_documents_have_the_mean_that_was_asked_for() -> None:
    random = np.random.default_rng(0)
    sums = score(random, lay(random, documents=4000, windows=40000, skew=0.1), means=[0.5])[0]
    assert sum(sums.totals) / sum(sums.counts) == pytest.approx(0.5, abs=0.01)
    assert sum(sums.counts) == 40000 * TARGETS
