"""One family for all effects, simple effects where factors interact, and identical arms."""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest

from ablate.report.inference.correction import at_level, corrected
from ablate.report.inference.identical import identical_arms, sameness
from ablate.report.inference.outcomes import Outcome
from ablate.report.inference.simple_effects import Effect, effects
from ablate.report.inference.testing import Difference, difference
from tests.report.conftest import make_run

MARGIN = 0.02
Arm = dict[str, str]
RUN = make_run()


def study(
    factors: dict[str, Sequence[str]],
    mean: Callable[[Arm], float],
    generator: np.random.Generator,
    seeds: int = 5,
    spread: float = 0.05,
) -> list[Outcome]:
    shared = generator.normal(0, 0.1, seeds)
    found = []
    for values in product(*factors.values()):
        arm = dict(zip(factors, values, strict=True))
        for seed in range(seeds):
            value = float(2 + shared[seed] + mean(arm) + spread * generator.normal())
            found.append(Outcome(RUN, dict(arm), arm, seed, "finished", value, False))
    return found


def reference(factors: dict[str, Sequence[str]]) -> dict[str, str]:
    return {factor: levels[0] for factor, levels in factors.items()}


def all_effects(found: Sequence[Outcome], factors: dict[str, Sequence[str]]) -> list[Effect]:
    every = effects(found, list(factors), reference(factors), MARGIN)
    return [*every.main, *every.crossed, *every.simple]


def of(found: Sequence[Effect], name: str, **within: str) -> Effect:
    (one,) = [e for e in found if e.pair.name == name and dict(e.within) == within]
    return one


TWO = {"norm": ("pre", "post"), "warmup": ("linear", "none")}
THREE = {**TWO, "depth": ("6", "24")}


def corner(arm: Arm) -> float:
    return 0.3 * (arm["norm"] == "post" and arm["warmup"] == "none")


def test_a_main_effect_is_told_where_no_interaction_says_otherwise() -> None:
    found = study(TWO, lambda arm: 0.3 * (arm["norm"] == "post"), np.random.default_rng(1))
    told = all_effects(found, TWO)
    post = of(told, "norm=post")
    assert post.corrected is not None
    assert (post.corrected.size, post.depends) == ("beyond", ())
    assert not any(one.within for one in told)


def test_where_factors_interact_each_is_told_within_the_levels_of_the_other() -> None:
    told = all_effects(study(THREE, corner, np.random.default_rng(2)), THREE)
    average = of(told, "norm=post")
    assert (average.corrected, average.depends) == (None, ("warmup",))
    hurt, harmless = (of(told, "norm=post", warmup=level) for level in ("none", "linear"))
    assert hurt.corrected is not None
    assert harmless.corrected is not None
    assert (hurt.corrected.size, hurt.match.cells) == ("beyond", 2)  # over both depths
    assert harmless.corrected.size == "open"
    assert hurt.difference.mean == pytest.approx(0.3, abs=0.05)
    assert of(told, "depth=24").depends == ()
    (crossed,) = [one for one in told if one.pair.name == "norm=post × warmup=none"]
    assert crossed.corrected is not None
    assert crossed.corrected.size == "beyond"  # what is said to depend is never said not to
    assert crossed.corrected.family == 3 + 3  # main effects and interactions
    assert hurt.corrected.family == 1 + 2 + 4  # what is left of them, and simple effects


def test_a_factor_that_depends_on_two_is_told_in_each_combination_of_theirs() -> None:
    def both(arm: Arm) -> float:
        return 0.4 * (arm["norm"] == "post") * ((arm["warmup"] == "none") + (arm["depth"] == "24"))

    told = all_effects(study(THREE, both, np.random.default_rng(3), spread=0.02), THREE)
    held = [dict(one.within) for one in told if one.within and one.pair.factors == ("norm",)]
    assert len(held) == 4
    assert {"warmup": "none", "depth": "24"} in held


def test_simple_effects_can_be_asked_for() -> None:
    found = study(THREE, corner, np.random.default_rng(4))
    every = effects(found, list(THREE), reference(THREE), MARGIN, within=(("norm", "post"),))
    assert [(one.pair.name, one.within) for one in every.main] == [
        ("warmup=none", (("norm", "post"),)),
        ("depth=24", (("norm", "post"),)),
    ]
    warmup, _ = every.main
    assert warmup.corrected is not None
    assert (warmup.corrected.size, warmup.corrected.family) == ("beyond", 3)


def draws(number: int, true: float, generator: np.random.Generator) -> list[Difference]:
    return [difference(list(generator.normal(true, 0.05, 5)), MARGIN) for _ in range(number)]


def test_an_interval_says_what_its_word_says() -> None:
    generator = np.random.default_rng(5)
    words = set()
    for _ in range(60):
        family = [*draws(2, 0, generator), *draws(2, 0.1, generator), *draws(2, 0.3, generator)]
        family.append(difference(list(generator.normal(0, 0.004, 5)), MARGIN))
        for one in corrected(family):
            words.add(one.size)
            assert one.low is not None
            assert one.high is not None
            beyond = one.low > MARGIN or one.high < -MARGIN
            within = one.low > -MARGIN and one.high < MARGIN
            apart = one.low > 0 or one.high < 0
            assert {"beyond": beyond, "within": within, "apart": apart, "open": not apart}[one.size]
    assert words == {"beyond", "within", "apart", "open"}


def test_what_is_clear_alone_only_is_said_so_and_no_spread_is_untested() -> None:
    weak = difference([0.1, 0.2, 0.15], MARGIN)
    alone, among = corrected([weak])[0], corrected([weak] * 3)[0]
    assert (alone.size, alone.only_alone) == ("beyond", False)
    assert (among.size, among.only_alone, among.family) == ("open", True, 3)
    assert at_level(weak, 0.05) == pytest.approx((weak.low, weak.high))
    (none,) = corrected([difference([0.1, 0.1], MARGIN)])
    assert (none.size, none.low, none.level, none.family) == ("untested", None, None, 0)


def test_corrected_intervals_cover() -> None:
    """Of 2000: each .987."""
    generator = np.random.default_rng(6)
    true = [0.0, 0.0, 0.03, 0.1, 0.3, 0.3]
    own = []
    for _ in range(300):
        family = [draws(1, mean, generator)[0] for mean in true]
        own += [_covers(c.low, c.high, t) for c, t in zip(corrected(family), true, strict=True)]
    assert np.mean(own) >= 0.96


def test_behind_a_family_that_shows_nothing_nothing_is_shown() -> None:
    clear = difference([0.4, 0.5, 0.6], MARGIN)
    (shut,) = corrected([clear], at_least=0.06)
    assert (shut.size, shut.only_alone, shut.p_holm) == ("open", True, 0.06)
    assert corrected([clear], at_least=0.05)[0].size == "beyond"


def test_a_share_of_the_level_is_a_stricter_verdict_and_a_wider_interval() -> None:
    weak = difference([0.1, 0.2, 0.15], MARGIN)  # beyond the margin at p = 0.048
    (whole,), (part,) = corrected([weak]), corrected([weak], shares=[0.75])
    assert (whole.size, part.size) == ("beyond", "apart")
    assert part.level == pytest.approx(0.75 * 0.05)
    assert (part.low or 0.0) < (whole.low or 0.0)


def _covers(low: float | None, high: float | None, true: float) -> bool:
    assert low is not None
    assert high is not None
    return low <= true <= high


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [3, 5])
@pytest.mark.parametrize("mean", [corner, lambda arm: 0.0])
def test_false_words_are_few_where_some_effects_are_true(
    seeds: int, mean: Callable[[Arm], float]
) -> None:
    """Anything told of the depth, or of post with warmup, is false: .036 and .062 of 500."""
    factors = {**TWO, "depth": ("6", "12", "24")}
    generator = np.random.default_rng(seeds)
    wrong, studies = 0, 400
    for _ in range(studies):
        told = all_effects(study(factors, mean, generator, seeds), factors)
        wrong += any(
            one.corrected is not None
            and one.corrected.size in ("beyond", "apart")
            and ("depth" in one.pair.factors or dict(one.within).get("warmup") == "linear")
            for one in told
        )
    assert wrong / studies <= 0.05 + 2.5 * (0.05 * 0.95 / studies) ** 0.5


def test_identical_runs_are_told_by_cell_and_by_arm() -> None:
    scaled = {("rope",): {0: (5.5, 2.1), 1: (5.6, 2.2)}, ("learned",): {0: (5.5, 2.0)}}
    plain = {("rope",): {0: (5.5, 2.1), 1: (5.6, 2.2)}, ("learned",): {0: (5.5, 2.3)}}
    found = sameness(scaled, plain)
    assert (found.same, found.cells, found.everywhere) == ((("rope",),), 2, False)
    assert sameness({("a",): {0: (1.0,)}}, {("b",): {0: (1.0,)}}).everywhere is False
    arms = {"a": {0: (1.0, None)}, "b": {1: (1.0, 2.0)}, "c": {0: (1.0, None), 1: (1.0, 2.5)}}
    assert identical_arms(arms) == [("a", "c")]
