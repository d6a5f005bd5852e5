"""The failures of whole studies: which arms, levels and interactions are told of."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from ablate.report.inference.arms import Group, choose_baseline, grouped
from ablate.report.inference.effects import interactions, main_effects, reference_levels
from ablate.report.inference.endings import study_failures
from ablate.report.inference.failing_arms import failing_arms, gate
from ablate.report.inference.failure_facts import StudyFailures
from ablate.report.inference.outcomes import outcomes
from ablate.report.inference.pairs import Pair
from ablate.report.runs.collect import Run
from ablate.report.runs.columns import BY_KEY
from tests.report.conftest import make_run

GRID = {
    "norm": ["pre", "post"],
    "warmup": ["linear", "none"],
    "depth": [6, 24],
    "lr": [0.0003, 0.001, 0.003],
}
Arm = dict[str, Any]
BASELINE = {"norm": ["pre"], "warmup": ["linear"], "depth": ["6"], "lr": ["0.0003"]}


def corner(arm: Arm) -> bool:
    return (
        arm["norm"] == "post"
        and arm["warmup"] == "none"
        and arm["depth"] == 24
        and arm["lr"] >= 0.001
    )


def study(fails: Callable[[Arm], bool], seeds: int, factors: dict[str, list[Any]]) -> list[Run]:
    arms = [dict(zip(factors, values, strict=True)) for values in product(*factors.values())]
    runs = [(arm, make_run(arm, seed=seed)) for arm in arms for seed in range(seeds)]
    return [replace(run, label="stuck") if fails(arm) else run for arm, run in runs]


def asked(runs: Sequence[Run], baseline: dict[str, list[str]]) -> list[StudyFailures]:
    found = outcomes(runs, BY_KEY["val_loss"])
    factors = list(found[0].levels)
    groups: list[Group] = grouped(found, factors)
    base, _ = choose_baseline(groups, baseline)
    reference = reference_levels(found, factors, base)
    pairs: list[Pair] = main_effects(found, factors, reference)
    return study_failures(groups, [], pairs, interactions(found, factors, reference))


def test_a_perfect_failure_in_one_corner_is_decided_by_five_seeds() -> None:
    (stuck,) = asked(study(corner, 5, GRID), BASELINE)
    assert stuck.ending == "stuck"
    assert [one.arm for one in stuck.arms if one.decided] == [
        "norm=post warmup=none depth=24 lr=0.001",
        "norm=post warmup=none depth=24 lr=0.003",
    ]
    named = {
        one.name: [count.cell for count in one.test.cells if count.named]
        for one in stuck.levels
        if one.test.verdict == "fails more"
    }
    assert named == {
        "norm=post": [("none", "24", "0.001"), ("none", "24", "0.003")],
        "warmup=none": [("post", "24", "0.001"), ("post", "24", "0.003")],
        "depth=24": [("post", "none", "0.001"), ("post", "none", "0.003")],
        "lr=0.001": [("post", "none", "24")],
        "lr=0.003": [("post", "none", "24")],
    }


def test_with_three_seeds_the_arms_are_decided_and_no_level() -> None:
    (stuck,) = asked(study(corner, 3, GRID), BASELINE)
    assert sum(one.decided for one in stuck.arms) == 2
    assert {one.test.verdict for one in stuck.levels} == {"too few seeds"}
    assert stuck.interactions == ()


def test_interactions_are_asked_for_between_levels_that_were_shown() -> None:
    two = {"norm": GRID["norm"], "warmup": GRID["warmup"], "depth": GRID["depth"]}
    runs = study(lambda arm: arm["norm"] == "post" and arm["warmup"] == "none", 6, two)
    (stuck,) = asked(runs, {"norm": ["pre"], "warmup": ["linear"], "depth": ["6"]})
    (one,) = stuck.interactions
    assert (one.name, one.test.verdict) == ("norm=post × warmup=none", "fails more")
    assert one.test.failed == (12, 0, 0, 0)


def test_one_failure_decides_nothing_and_none_is_not_told() -> None:
    runs = study(lambda arm: False, 5, GRID)
    assert asked(runs, BASELINE) == []
    (stuck,) = asked([replace(runs[0], label="stuck"), *runs[1:]], BASELINE)
    assert not any(one.decided for one in stuck.arms)
    assert not any(one.test.shown for one in stuck.levels)


def test_a_run_that_has_not_ended_is_no_sound_one() -> None:
    runs = study(lambda arm: arm["norm"] == "post", 6, {"norm": GRID["norm"]})
    for run in runs[:2]:
        run.record.status = "interrupted"
    (stuck,) = asked(runs, {"norm": ["pre"]})
    (post,) = stuck.levels
    assert post.test.of == (6, 4)


def test_two_arms_are_decided_by_four_seeds_and_behind_a_closed_gate_nothing_is() -> None:
    (stuck,) = asked(study(lambda arm: arm["norm"] == "post", 4, {"norm": GRID["norm"]}), {})
    assert stuck.levels[0].test.shown
    arms = {str(arm): dict.fromkeys(range(3), arm == 0) for arm in range(8)}
    assert failing_arms(arms)[0].decided
    assert not failing_arms(arms, at_least=0.06)[0].decided


def test_no_p_of_a_study_is_below_its_gate() -> None:
    """In two seeds the first arm fails alone of eight, in a third two others: clear without."""
    runs = study(lambda arm: False, 5, {"depth": list(range(1, 9))})
    odd = {(1, 0), (1, 1), (4, 2), (5, 2)}
    runs = [
        replace(run, label="stuck") if (run.record.depth, run.record.seed) in odd else run
        for run in runs
    ]
    (stuck,) = asked(runs, {"depth": ["2"]})
    assert stuck.gate > 0.05
    assert all((one.p_holm or 1.0) >= stuck.gate for one in stuck.arms)
    assert all((one.test.p_holm or 1.0) >= stuck.gate for one in stuck.levels)


def test_levels_and_interactions_show_nothing_behind_a_closed_gate() -> None:
    """One run of each seed fails with post, each time in another cell: clear by level alone."""
    two = {"norm": ["pre", "post"], "depth": list(range(1, 6))}
    runs = [
        replace(run, label="stuck")
        if run.record.choices["norm"] == "post" and run.record.depth == 1 + (run.record.seed or 0)
        else run
        for run in study(lambda arm: False, 5, two)
    ]
    (stuck,) = asked(runs, {"norm": ["pre"], "depth": ["1"]})
    post = next(one for one in stuck.levels if one.name == "norm=post")
    assert post.test.p < 0.01
    assert stuck.gate > 0.05
    assert post.test.p_holm == stuck.gate
    assert not any(one.test.shown for one in (*stuck.levels, *stuck.interactions))


def test_an_arm_against_the_baseline_shows_nothing_that_no_arm_or_level_does() -> None:
    """Four seeds of two arms: against all others no arm can be tested, so levels have to tell."""
    runs = study(lambda arm: arm["depth"] == 2, 4, {"depth": [1, 2]})
    found = outcomes(runs, BY_KEY["val_loss"])
    groups = grouped(found, ["depth"])
    pairs = main_effects(found, ["depth"], {"depth": "1"})
    (shown,) = study_failures(groups, pairs, pairs, [])
    (alone,) = study_failures(groups, pairs, [], [])
    assert [one.test.shown for one in shown.contrasts] == [True]
    assert [one.p_holm for one in alone.arms] == [None, None]
    assert [one.test.shown for one in alone.contrasts] == [False]


def test_the_gate_knows_that_seeds_differ_in_luck() -> None:
    """All arms fail in two seeds, the first alone in the three others."""
    arms = {str(arm): {seed: arm == 0 or seed < 2 for seed in range(5)} for arm in range(10)}
    assert [one.arm for one in failing_arms(arms, gate(arms)) if one.decided] == ["0"]


def test_the_gate_is_four_times_the_p_that_arms_are_alike() -> None:
    """One of three arms fails in all of three seeds: 3 of the 84 ways to place three failures."""
    arms = {arm: dict.fromkeys(range(3), arm == "post") for arm in ("pre", "post", "peri")}
    assert gate(arms) == pytest.approx(4 * 3 / 84, abs=0.06)


def test_the_gate_is_closed_where_failures_are_spread_as_by_chance() -> None:
    spread = {str(arm): {seed: (arm + seed) % 5 == 0 for seed in range(5)} for arm in range(5)}
    assert gate(spread) == 1.0
    assert gate({"a": {0: False}, "b": {0: True}, "c": {0: False}}) == 1.0
    heaped = {str(arm): dict.fromkeys(range(4), arm == 0) for arm in range(6)}
    assert gate(heaped) < 0.01
