"""Keeping what was learned at length: how often each word is said of arms whose truth is known."""

from collections import Counter
from itertools import product
from math import isclose

import numpy as np
import pytest

from ablate.judge.by_document import DocumentEstimate, estimate
from ablate.judge.intervals import t_quantile
from ablate.judge.keeping import (
    MARGINS,
    KeepingWord,
    Measure,
    SeedAtLength,
    better,
    judge_effect,
    keeping,
)
from ablate.judge.text_and_seeds import over_text_and_seeds, paired_difference
from tests.judge.made_up_documents import lay, score
from tests.judge.real_scores import Population

MARGIN = 0.02
KNOWS = DocumentEstimate(0.3, 1e-6, 40, 20.0, 0.1, 256)
NOTHING = DocumentEstimate(0.0, 1e-6, 40, 20.0, 0.1, 256)
UNSURE = DocumentEstimate(0.05, 1e-2, 40, 20.0, 0.1, 256)


def effect(value: float, error: float = 0.001) -> DocumentEstimate:
    return DocumentEstimate(value, error**2, 40, 20.0, 0.1, 256)


def words(truth: float, seeds: int, spread: float, studies: int = 300) -> Counter[str]:
    """Shares of words, and of intervals that cover, over studies that have an interval."""
    random, found = np.random.default_rng(6), Counter[str]()
    for _ in range(studies):
        of = lay(random)
        means = truth + random.normal(0, spread, seeds)
        sums = score(random, of, means=means, between=0.03, own=0.01, within=0.05)
        runs = [SeedAtLength(estimate(each), KNOWS) for each in sums]
        judged = keeping(runs, MARGIN)
        if judged.effect is not None and judged.effect.interval is not None:
            low, high = judged.effect.interval
            found.update([judged.word, "all"] + ["covers"] * (low <= truth <= high))
    return Counter({word: count / found["all"] for word, count in found.items()})


@pytest.mark.parametrize(("seeds", "spread"), [(1, 0.0), (2, 0.03), (3, 0.01), (5, 0.03)])
def test_a_word_is_false_no_more_often_than_its_interval_allows(seeds: int, spread: float) -> None:
    worse, better_by = words(-MARGIN, seeds, spread), words(MARGIN, seeds, spread)
    assert max(worse["keeps"] + worse["gains"], worse["loses"], better_by["gains"]) < 0.05
    assert worse["covers"] > 0.93


def test_what_is_clear_is_said() -> None:
    assert words(0.0, 5, 0.005)["keeps"] > 0.5
    assert words(-0.08, 5, 0.01)["loses"] > 0.95
    assert words(0.08, 5, 0.01)["gains"] > 0.95
    assert words(-0.08, 1, 0.0)["loses"] > 0.95


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seeds", "spread"),  # one seed has no spread
    [(1, 0.0), *product([2, 3, 5, 8], [0.0, 0.01, 0.03])],
)
def test_sizes_in_full(seeds: int, spread: float) -> None:
    worse, better_by = words(-MARGIN, seeds, spread, 1500), words(MARGIN, seeds, spread, 1500)
    assert max(worse["keeps"] + worse["gains"], worse["loses"], better_by["gains"]) < 0.04
    assert worse["covers"] > 0.93


def test_documents_that_all_seeds_share_do_not_average_out() -> None:
    """An interval over seeds alone covers far less, and the more seeds the less."""
    random, both, alone = np.random.default_rng(7), 0, 0
    for _ in range(200):
        sums = score(random, lay(random), means=[0.0] * 8, between=0.05, own=0.01, within=0.05)
        mean = over_text_and_seeds([found for each in sums if (found := estimate(each))])
        for bounds in (mean.interval or mean.here, mean.here):
            assert bounds is not None
        low, high = mean.interval or (-1, 1)
        both += low <= 0 <= high
        alone += mean.here is not None and mean.here[0] <= 0 <= mean.here[1]
    assert both > 184
    assert alone < 140


def test_errors_of_seeds_and_text_add_up() -> None:
    mean = over_text_and_seeds([effect(0.1, 0.03), effect(0.3, 0.03)])
    assert isclose(mean.mean, 0.2)
    assert mean.document_error == pytest.approx(0.03)
    assert mean.seed_error == pytest.approx(0.1)
    half = np.hypot(t_quantile(19, 0.95) * 0.03, t_quantile(1, 0.95) * 0.1)
    assert mean.interval == pytest.approx((0.2 - half, 0.2 + half))
    with pytest.raises(ValueError, match="one seed"):
        over_text_and_seeds([])


def test_one_quantile_for_both_errors_covers_too_little_with_two_seeds() -> None:
    """Satterthwaite's degrees of freedom, against a quantile for each error."""
    random = np.random.default_rng(14)
    told = ours = satterthwaite = 0
    for _ in range(400):
        means = random.normal(0, 0.05, 2)
        sums = score(random, lay(random, skew=0.8), means=means, between=0.03, within=0.05)
        runs = [found for each in sums if (found := estimate(each))]
        mean = over_text_and_seeds(runs)
        if mean.interval is None or mean.document_error is None or mean.seed_error is None:
            continue
        told += 1
        text, seeds = mean.document_error**2, mean.seed_error**2
        freedom = (text + seeds) ** 2 / (text**2 / (runs[0].effective - 1) + seeds**2)
        ours += mean.interval[0] <= 0 <= mean.interval[1]
        satterthwaite += abs(mean.mean) <= t_quantile(freedom, 0.95) * (text + seeds) ** 0.5
    assert satterthwaite < 0.92 * told
    assert ours > 0.94 * told


@pytest.mark.parametrize(
    ("runs", "word", "floor", "undefined"),
    [
        ([], "undefined", 0, 0),
        ([SeedAtLength(None, KNOWS)] * 3, "undefined", 0, 3),
        ([SeedAtLength(effect(0.0), KNOWS)] * 3, "keeps", 0, 0),
        ([SeedAtLength(effect(0.0), NOTHING)] * 3, "floor", 3, 0),
        ([SeedAtLength(effect(0.0), UNSURE)] * 3, "undecided", 0, 0),
        ([SeedAtLength(effect(0.0), None)] * 3, "undecided", 0, 0),
        ([SeedAtLength(effect(-0.3), UNSURE)] * 3, "loses", 0, 0),
        (
            [*[SeedAtLength(effect(-0.1), KNOWS)] * 2, SeedAtLength(effect(0), NOTHING)],
            "loses",
            1,
            0,
        ),
        ([SeedAtLength(effect(0.1), KNOWS), SeedAtLength(None, KNOWS)], "gains", 0, 1),
        ([SeedAtLength(effect(0.0), NOTHING), SeedAtLength(None, KNOWS)], "floor", 1, 1),
    ],
)
def test_who_knows_nothing_keeps_nothing_and_who_has_no_number_is_counted(
    runs: list[SeedAtLength], word: KeepingWord, floor: int, undefined: int
) -> None:
    found = keeping(runs, MARGIN)
    assert (found.word, found.floor, found.undefined) == (word, floor, undefined)


def test_undecided_seeds_do_not_become_a_length_that_is_kept() -> None:
    seeds = [SeedAtLength(effect(value), KNOWS) for value in (0.0, -0.1, 0.05)]
    assert keeping(seeds, MARGIN).word == "undecided"


def test_too_few_documents_have_no_word() -> None:
    few = DocumentEstimate(-0.5, 1e-6, 9, 7.0, 0.5, 1000)
    found = keeping([SeedAtLength(few, KNOWS)] * 5, MARGIN)
    assert found.word == "undecided"
    assert found.effect is not None
    assert found.effect.interval is None
    assert found.effect.here is not None


@pytest.mark.parametrize("seeds", [[0], [0, 1]])
def test_real_runs_alibi_keeps_and_rope_loses_in_both_measures(seeds: list[int]) -> None:
    population, random = Population(with_largest=False), np.random.default_rng(8)
    said: Counter[tuple[str, str, KeepingWord]] = Counter()
    measures: list[tuple[Measure, str]] = [("accuracy", "correct"), ("nll", "nll")]
    for _ in range(50):
        text = population.draw(random, 60)
        for scheme, (measure, column) in product(("alibi", "rope"), measures):
            runs = []
            for seed in seeds:
                longer, own = (
                    population.sums(column, f"{scheme}/{seed}/{length}", text)
                    for length in (512, 64)
                )
                runs.append(SeedAtLength(better(measure, longer, own), KNOWS))
            said[scheme, measure, keeping(runs, MARGINS[measure]).word] += 1
    for measure, _ in measures:
        assert said["alibi", measure, "keeps"] > (45 if len(seeds) == 1 else 5)
        assert said["alibi", measure, "loses"] == said["rope", measure, "keeps"] == 0
        # Two seeds have one degree of freedom, and these two differ by a quarter of what they lose.
        assert said["rope", measure, "loses"] > (48 if len(seeds) == 1 else 0)


def test_arms_are_compared_seed_by_seed_and_target_by_target() -> None:
    population, random = Population(with_largest=False), np.random.default_rng(9)
    sharp, blunt = [], []
    truth = np.mean(
        [
            population.mean("nll", f"alibi/{s}/64") - population.mean("nll", f"rope/{s}/64")
            for s in (0, 1)
        ]
    )
    hits = 0
    for _ in range(200):
        text = population.draw(random, 60)
        arms = {
            scheme: {s: population.sums("nll", f"{scheme}/{s}/64", text) for s in (0, 1)}
            for scheme in ("alibi", "rope")
        }
        found = paired_difference(arms["alibi"], arms["rope"])
        assert found is not None
        assert found.document_error is not None
        assert found.interval is not None
        hits += found.interval[0] <= truth <= found.interval[1]
        sharp.append(found.document_error)
        alone = estimate(arms["alibi"][0])
        assert alone is not None
        blunt.append(alone.variance**0.5)
    assert hits > 184
    assert np.mean(sharp) < 0.3 * np.mean(blunt)


def test_a_seed_that_one_arm_lacks_is_left_out() -> None:
    random = np.random.default_rng(0)
    first, second = score(random, lay(random), means=[0.3, 0.0])
    found = paired_difference({0: first, 1: None, 2: first}, {0: second, 1: second, 3: second})
    assert found is not None
    assert found.seeds == 1
    assert paired_difference({0: None}, {0: second}) is None


def test_the_edges_of_a_margin_are_not_inside() -> None:
    assert judge_effect((-0.02, 0.0), MARGIN) == "undecided"
    assert judge_effect((0.02, 0.1), MARGIN) == "keeps"
