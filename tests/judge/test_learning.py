"""Learned, stuck and undecided: how often each is said of runs whose truth is known."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from ablate.judge.by_document import DocumentEstimate, DocumentSums, estimate
from ablate.judge.learning import Matches, has_learning, judge_task, judge_text
from tests.judge.made_up_documents import lay, score
from tests.judge.real_scores import TARGETS, Population

STUDIES = 400

Studies = Callable[[float, int], dict[str | None, float]]


def shares(differences: list[DocumentEstimate | None]) -> dict[str | None, float]:
    """Shares of words among the studies that have an interval."""
    known = [each for each in differences if each is not None and each.effective >= 8]
    words = Counter(map(judge_text, known))
    return {word: words[word] / len(known) for word in ("learned", "stuck", "undecided")}


def made_up(difference: float, windows: int) -> dict[str | None, float]:
    """Shares of words for runs that are truly so far above the unigram loss."""
    random = np.random.default_rng(3)
    texts = (lay(random, windows=windows) for _ in range(STUDIES))
    runs = (score(random, of, means=[difference], between=0.1)[0] for of in texts)
    return shares([estimate(run) for run in runs])


def real(difference: float, windows: int) -> dict[str | None, float]:
    """The same for a real early run on real documents, moved to where it should be."""
    population, random, found = Population(with_largest=False), np.random.default_rng(4), []
    off = population.mean("nll", "early/0/64") - population.mean("nll", "unigram") - difference
    for _ in range(STUDIES):
        text = population.draw(random, 40, windows)
        sums = population.sums("nll", "early/0/64", text) - population.sums("nll", "unigram", text)
        moved = np.array(sums.totals) - off * np.array(sums.counts)
        found.append(estimate(DocumentSums(moved.tolist(), sums.counts, sums.windows)))
    return shares(found)


@pytest.mark.parametrize("studies", [made_up, real])
@pytest.mark.parametrize("windows", [64, 256])
def test_a_run_at_the_bar_is_called_neither_more_often_than_chance_allows(
    studies: Studies, windows: int
) -> None:
    found = studies(-0.05, windows)
    assert found["learned"] < 0.05
    assert found["stuck"] < 0.05


@pytest.mark.parametrize("studies", [made_up, real])
def test_a_run_that_is_better_is_not_stuck_and_one_that_is_not_has_not_learned(
    studies: Studies,
) -> None:
    """The rule on training batches called the first one stuck in 4 to 43 % of cases."""
    assert studies(-0.1, 256)["stuck"] < 0.01
    assert studies(0.0, 256)["learned"] < 0.01
    assert studies(-0.25, 256)["learned"] > 0.9
    assert studies(0.15, 256)["stuck"] > 0.8


def test_a_real_trained_run_has_learned_even_by_few_windows() -> None:
    population, random = Population(with_largest=False), np.random.default_rng(5)
    for _ in range(100):
        text = population.draw(random, 60, 64)
        sums = population.sums("nll", "rope/0/64", text) - population.sums("nll", "unigram", text)
        found = estimate(sums)
        assert found is not None
        assert judge_text(found) == ("learned" if found.effective >= 8 else "undecided")
    assert len(text.windows) * TARGETS == 512


def test_no_finite_loss_has_no_word_and_few_documents_decide_nothing() -> None:
    assert judge_text(None) is None
    assert judge_text(DocumentEstimate(-1.0, 1e-6, 9, 7.9, 0.3, 500)) == "undecided"
    assert judge_text(DocumentEstimate(-1.0, 1e-6, 9, 8.1, 0.3, 500)) == "learned"


def test_a_run_that_did_not_end_or_never_left_its_warmup_has_no_word() -> None:
    assert not has_learning(steps_done=10, steps=200, warmup_steps=0)
    assert not has_learning(steps_done=200, steps=200, warmup_steps=200)
    assert has_learning(steps_done=200, steps=200, warmup_steps=50)


def task_shares(truth: float, guessing: float, examples: int) -> Counter[str | None]:
    """Probabilities of the words at a true share of matches."""
    found: Counter[str | None] = Counter()
    chances = binom.pmf(np.arange(examples + 1), examples, truth)
    for matched in np.flatnonzero(chances > 1e-9):
        word = judge_task(Matches(int(matched), examples, guessing), None)
        found[word] += chances[matched]
    return found


@pytest.mark.parametrize("guessing", [0.0, 0.01, 0.1, 0.5])
def test_words_for_a_task_are_wrong_no_more_often_than_their_interval(guessing: float) -> None:
    for examples in (64, 256):
        at_bar = task_shares(guessing + 0.02, guessing, examples)
        assert max(at_bar["learned"], at_bar["stuck"]) <= 0.025
        assert task_shares(guessing, guessing, examples)["learned"] < 0.025
    assert task_shares(guessing + 0.2, guessing, 256)["learned"] > 0.99


def test_a_task_that_guessing_does_half_of_needs_the_loss_to_be_called_stuck() -> None:
    assert task_shares(0.5, 0.5, 256)["stuck"] < 0.2
    level = DocumentEstimate(0.0, 1e-6, 256, 256.0, 1 / 256, 256)
    assert judge_task(Matches(128, 256, 0.5), level) == "stuck"
    assert judge_task(Matches(200, 256, 0.5), level) == "learned"
    assert judge_task(Matches(0, 256, 1e-6), None) == "stuck"
