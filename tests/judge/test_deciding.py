"""What would decide a word at length: by hand, by simulation, and its edges."""

from dataclasses import replace
from math import hypot, sqrt

import numpy as np
import pytest
from scipy import stats

from ablate.judge.by_document import DocumentEstimate
from ablate.judge.deciding import ToDecide, to_decide
from ablate.judge.keeping import SeedAtLength, keeping, keeping_together
from ablate.judge.text_and_seeds import SeedsMean

MARGIN = 0.02


def effect(mean: float, text: float, seeds: float | None, number: int = 5) -> SeedsMean:
    """A mean whose documents and seeds have these standard errors."""
    return SeedsMean(
        mean,
        number,
        text,
        seeds,
        interval=None,
        here=None,
        largest=0.1,
        effective=40.0,
        windows=256,
    )


def half(needed: SeedsMean, seeds: float, times: float) -> float:
    """Half an interval, and what the power takes of the error that is new, with scipy."""
    text = needed.document_error or 0.0
    spread = (needed.seed_error or 0.0) * sqrt(needed.seeds)
    by_text = stats.t.ppf(0.975, 40 * times - 1) * text / sqrt(times)
    return hypot(by_text, stats.t.ppf(0.975, seeds - 1) * spread / sqrt(seeds))


def test_seeds_are_asked_for_where_their_error_is_the_larger() -> None:
    measured = effect(-0.005, 0.001, 0.008)
    answer = to_decide(measured, MARGIN)
    assert answer.needed == "seeds"
    total = answer.total or 0

    def reach(seeds: int) -> float:
        power = stats.t.ppf(0.8, seeds - 1) * 0.008 * sqrt(5 / seeds)
        return half(measured, seeds, 1) + power

    assert reach(total) <= 0.015 < reach(total - 1)


def test_windows_are_asked_for_where_the_error_of_the_text_is_the_larger() -> None:
    measured = effect(-0.005, 0.008, 0.001)
    answer = to_decide(measured, MARGIN)
    assert answer.needed == "windows"
    total = answer.total or 0
    assert total % 64 == 0

    def reach(windows: int) -> float:
        times = windows / 256
        power = stats.t.ppf(0.8, 40 * times - 1) * 0.008 / sqrt(times)
        return half(measured, 5, times) + power

    assert reach(total) <= 0.015 < reach(total - 96)


def test_what_more_of_one_cannot_do_is_asked_of_the_other_or_of_both() -> None:
    assert to_decide(effect(-0.005, 0.0074, 0.0085), MARGIN).needed == "both"
    assert to_decide(effect(-0.005, 0.001, None, 1), MARGIN).needed == "windows"
    assert to_decide(effect(-0.005, 0.001, 0.002, 2), MARGIN) == ToDecide("seeds")
    assert to_decide(effect(-0.016, 0.001, 0.002), MARGIN).needed == "on the margin"
    assert to_decide(effect(-0.0249, 0.001, 0.002), MARGIN).needed == "on the margin"
    assert to_decide(effect(-0.0251, 0.001, 0.002), MARGIN).needed == "seeds"
    assert to_decide(effect(0.005, 0.001, 0.02), MARGIN).needed == "seeds"
    few = effect(0.0, 0.0, 0.01)
    assert to_decide(replace(few, document_error=None), MARGIN) == ToDecide("few windows", 256)
    fewer = replace(few, document_error=None, effective=7.9)
    assert to_decide(fewer, MARGIN) == ToDecide("few documents", 8)


def test_a_stricter_level_takes_more() -> None:
    plain, strict = (
        to_decide(effect(-0.005, 0.001, 0.008), MARGIN, level) for level in (0.95, 0.99)
    )
    assert (strict.total or 0) > (plain.total or 0)


def estimates(random: np.random.Generator, means: float, seeds: int) -> list[SeedAtLength]:
    """Runs whose documents shift all seeds together, by the error that they state."""
    shared = random.normal(0, 0.004)
    knows = DocumentEstimate(0.3, 1e-6, 40, 40.0, 0.1, 256)
    return [
        SeedAtLength(
            DocumentEstimate(
                means + shared + random.normal(0, 0.008), 0.004**2, 40, 40.0, 0.1, 256
            ),
            knows,
        )
        for _ in range(seeds)
    ]


def test_so_many_seeds_decide_in_about_eight_of_ten_studies() -> None:
    """With the true errors as they are seen; the documents stay those of the study."""
    seen = effect(-0.004, 0.004, 0.008 / sqrt(5))
    total = to_decide(seen, MARGIN).total or 0
    random = np.random.default_rng(3)
    decided = [keeping(estimates(random, -0.004, total), MARGIN).word for _ in range(400)]
    assert 0.68 <= decided.count("keeps") / 400 <= 0.92


def test_words_of_several_lengths_are_wrong_together_in_at_most_one_study_of_twenty() -> None:
    """Three lengths a hair beyond the margin, each with documents of its own luck."""
    random = np.random.default_rng(4)
    apart = together = 0
    for _ in range(1000):
        lengths = [estimates(random, -0.0201, 5) for _ in range(3)]
        apart += any(keeping(runs, MARGIN).word == "keeps" for runs in lengths)
        together += any(one.word == "keeps" for one in keeping_together(lengths, MARGIN))
    assert together <= 50
    assert together < apart


def test_holm_is_step_by_step_and_the_interval_is_that_of_the_word() -> None:
    random = np.random.default_rng(5)
    clear, close = estimates(random, 0.2, 5), estimates(random, -0.001, 5)
    alone = keeping(close, MARGIN)
    first, second, third = keeping_together([close, clear, clear], MARGIN)
    assert [one.word for one in (second, third)] == ["gains", "gains"]
    assert (second.level, third.level) == pytest.approx((1 - 0.05 / 3, 1 - 0.05 / 3))
    assert first.level == pytest.approx(0.95)
    assert first.effect == alone.effect
    alike = keeping_together([close, close], MARGIN)
    level = alike[0].level
    assert keeping(close, MARGIN, level) == alike[0] == alike[1]
