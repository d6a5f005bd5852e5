"""What an analysis makes of a study: pairs, cells, survivors, and how often it is wrong."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from ablate.errors import UserError
from ablate.report.inference.analysis import Analysis, analyse
from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.outcomes import without_holes
from ablate.report.inference.testing import difference
from ablate.report.runs.collect import Run
from ablate.report.words.heading import baseline_reason
from ablate.report.words.statements import statements
from tests.report.conftest import make_run

Loss = Callable[[dict[str, Any], int], float]
NOISE = [0.003, -0.004, 0.001, 0.002, -0.002]  # by seed, not shared by arms


def factorial(factors: dict[str, Sequence[Any]], loss: Loss, seeds: int = 5) -> list[Run]:
    """A run for each combination and seed."""
    arms = [dict(zip(factors, values, strict=True)) for values in product(*factors.values())]
    return [
        make_run(arm, seed=seed, loss__validation=loss(arm, seed), loss__final=2 + place / 8)
        for place, arm in enumerate(arms)
        for seed in range(seeds)
    ]


def named(found: Sequence[Contrast], name: str) -> Contrast:
    (one,) = [contrast for contrast in found if contrast.name == name]
    return one


def said(analysis: Analysis, kind: str) -> str:
    return "\n".join(sentence.text for sentence in statements(analysis) if sentence.kind == kind)


def wobble(arm: dict[str, Any], seed: int) -> float:
    """Noise that is the arm's own."""
    return NOISE[(seed + sum(map(len, map(str, arm.values())))) % 5]


def test_differences_are_paired_by_seed() -> None:
    losses = {"rope": [2.0, 2.5, 1.5], "alibi": [2.1, 2.61, 1.59]}
    runs = factorial({"pos": ["rope", "alibi"]}, lambda arm, seed: losses[arm["pos"]][seed], 3)
    (one,) = analyse(runs).contrasts
    assert (one.name, one.against, one.seeds) == ("pos=alibi", "pos=rope", (0, 1, 2))
    assert one.difference == difference(
        [a - b for a, b in zip(losses["alibi"], losses["rope"], strict=True)], 0.02
    )
    assert one.verdict == "worse"


def test_only_seeds_that_both_have_are_paired() -> None:
    runs = [make_run({"pos": "rope"}, seed=seed) for seed in (0, 1, 2)]
    runs += [make_run({"pos": "alibi"}, seed=seed, loss__validation=3.0) for seed in (1, 2, 3, 4)]
    analysis = analyse(runs)
    (one,) = analysis.contrasts
    assert one.seeds == (1, 2)
    assert one.unpaired == 3
    assert "different seeds" in said(analysis, "caution")


@pytest.mark.parametrize(
    ("shift", "spread", "verdict", "kind", "words"),
    [
        (0.4, 0.01, "worse", "mattered", "pos=alibi is worse than pos=rope by 0.400 nats [0.3"),
        (-0.4, 0.01, "better", "mattered", "pos=alibi is better than pos=rope by 0.400 nats"),
        (0.001, 0.004, "equivalent", "no difference", "are equivalent: +0.001 nats [−0.0"),
        (0.03, 0.012, "undecided", "undecided", "whether by more than 0.02 is undecided"),
        (0.03, 0.1, "not distinguishable", "undecided", "are not distinguishable: +0.030 nats"),
    ],
)
def test_verdicts(shift: float, spread: float, verdict: str, kind: str, words: str) -> None:
    offsets = np.array([1, -1, 0.5, -0.5, 0]) * spread
    runs = factorial(
        {"pos": ["rope", "alibi"]},
        lambda arm, seed: 2 + seed + (arm["pos"] == "alibi") * (shift + offsets[seed]),
    )
    analysis = analyse(runs)
    (one,) = analysis.contrasts
    assert one.verdict == verdict
    assert words in said(analysis, kind)
    assert "5 seeds paired" in said(analysis, kind)


def test_higher_accuracy_is_better() -> None:
    runs = [
        make_run(
            {"pos": pos},
            seed=seed,
            extrapolation__accuracy=[0.4, 0.4, 0.4, 0.4, 0.3 + gain + NOISE[seed]],
        )
        for pos, gain in (("rope", 0.0), ("alibi", 0.1))
        for seed in range(5)
    ]
    runs[0].record.extrapolation.accuracy[4] += 0.005  # else all differences are the same
    analysis = analyse(runs, metric="acc_8L")
    assert analysis.higher_is_better
    assert analysis.contrasts[0].verdict == "better"
    assert "better than pos=rope by 0.099 accuracy" in said(analysis, "mattered")


def test_main_effects_average_over_cells_within_each_seed() -> None:
    def loss(arm: dict[str, Any], seed: int) -> float:
        return 2 + 0.3 * (arm["norm"] == "post") + 0.1 * arm["depth"] + seed + wobble(arm, seed)

    runs = factorial({"norm": ["pre", "post"], "depth": [2, 4], "pos": ["rope", "none"]}, loss)
    effect = named(analyse(runs).effects, "norm=post")
    assert (effect.cells, effect.of, effect.difference.n) == (4, 20, 5)
    by_seed = [
        np.mean([r.record.loss.validation for r in runs if _has(r, "post", seed)])
        - np.mean([r.record.loss.validation for r in runs if _has(r, "pre", seed)])
        for seed in range(5)
    ]
    known = difference(by_seed, 0.02)
    assert effect.difference.low == pytest.approx(known.low)
    assert effect.difference.mean == pytest.approx(known.mean)


def _has(run: Run, norm: str, seed: int) -> bool:
    return run.record.choices["norm"] == norm and run.record.seed == seed


def test_an_interaction_is_a_difference_of_differences() -> None:
    cold = {("post", "none"): 1.0, ("post", "linear"): 0.2, ("pre", "linear"): 0.05}

    def loss(arm: dict[str, Any], seed: int) -> float:
        return 2 + cold.get((arm["norm"], arm["warmup"]), 0.0) + wobble(arm, seed)

    analysis = analyse(factorial({"norm": ["pre", "post"], "warmup": ["none", "linear"]}, loss))
    (one,) = analysis.interactions
    assert one.difference.mean == pytest.approx(0.2 - 1.0 - 0.05, abs=0.01)
    text = said(analysis, "mattered")
    assert "norm × warmup: the difference of norm=post from norm=pre is lower by 0.850 nats" in text
    assert "with warmup=linear than with warmup=none" in text
    assert "depends on warmup" in text


def test_cells_that_are_missing_are_left_out_of_both_sides() -> None:
    def loss(arm: dict[str, Any], seed: int) -> float:
        return 2 + 10 * (arm["depth"] == 8) + 0.1 * (arm["norm"] == "post") + wobble(arm, seed)

    runs = factorial({"norm": ["pre", "post"], "depth": [2, 4, 8]}, loss)
    runs = [r for r in runs if not (_has(r, "post", r.record.seed) and r.record.depth == 8)]
    effect = named(analyse(runs).effects, "norm=post")
    assert (effect.cells, effect.shared, effect.every, effect.unpaired) == (2, 2, 3, 5)
    assert "5 seeds paired, over 2 of 3 combinations of" in said(analyse(runs), "mattered")
    assert effect.difference.mean == pytest.approx(0.1, abs=0.01)


def test_the_largest_grid_without_holes_is_kept() -> None:
    cells = [("a",), ("b",), ("c",)]
    full = {(cell, seed) for cell in cells for seed in range(5)}
    assert without_holes(full) == (cells, [0, 1, 2, 3, 4])
    thin = full - {(("b",), seed) for seed in (1, 2, 3, 4)}  # a cell of one seed
    assert without_holes(thin) == ([("a",), ("c",)], [0, 1, 2, 3, 4])
    extended = full | {(("a",), seed) for seed in (5, 6, 7)}  # seeds of one cell
    assert without_holes(extended) == (cells, [0, 1, 2, 3, 4])
    assert without_holes(set()) == ([], [])


def test_a_place_with_a_diverged_run_beside_a_finished_one_has_no_value() -> None:
    arms = [{"warmup": "none"}] + [{"warmup": "linear", "warmup.steps": n} for n in (10, 50)]
    runs = [make_run(arm, seed=seed) for arm in arms for seed in range(3)]
    runs[-1].record.status = "diverged"  # warmup.steps=50, seed 2
    effect = named(analyse(runs).effects, "warmup=linear")
    assert (effect.seeds, effect.left_out, effect.diverged) == ((0, 1), 1, (1, 0))


def test_factors_that_change_together_are_said_to() -> None:
    runs = [
        make_run({"depth": depth, "lr": lr}, seed=seed)
        for depth, lr in ((2, 0.003), (24, 0.001))
        for seed in range(3)
    ]
    analysis = analyse(runs)
    assert {effect.verdict for effect in analysis.effects} == {"nothing to compare"}
    assert "depth and lr never change alone" in said(analysis, "caution")
    assert "depth=2 lr=0.003 and depth=24 lr=0.001 are" in "".join(
        s.text for s in statements(analysis)
    )


def test_an_option_of_a_choice_is_an_effect_within_it() -> None:
    arms = [{"warmup": "none"}] + [{"warmup": "linear", "warmup.steps": n} for n in (10, 50)]
    losses = [2.4, 2.2, 2.0]
    runs = [
        make_run(arm, seed=seed, loss__validation=loss + NOISE[(seed + place) % 5])
        for place, (arm, loss) in enumerate(zip(arms, losses, strict=True))
        for seed in range(5)
    ]
    analysis = analyse(runs)
    assert named(analysis.effects, "warmup.steps=50").against == "warmup.steps=10"
    whole = named(analysis.effects, "warmup=linear")
    assert whole.difference.mean == pytest.approx(-0.3, abs=0.01)  # of the mean over its options


def test_groups_are_compared_cell_by_cell() -> None:
    def loss(arm: dict[str, Any], seed: int) -> float:
        return 2 + arm["depth"] + 0.1 * (arm["pos"] == "none") + wobble(arm, seed)

    runs = factorial({"pos": ["rope", "none"], "depth": [2, 4]}, loss)
    dropped = [r for r in runs if r.record.depth == 2 or r.record.choices["pos"] == "rope"]
    (one,) = analyse(dropped, by=["pos"]).contrasts
    assert (one.name, one.cells) == ("pos=none", 1)
    assert one.difference.mean == pytest.approx(0.1, abs=0.01)


def test_the_baseline_is_near_the_defaults_or_the_one_that_is_named() -> None:
    factors = {"pos": ["alibi", "rope"], "norm": ["post", "pre"], "depth": [24, 4]}
    runs = factorial(factors, wobble, 2)
    assert analyse(runs).baseline == "pos=rope norm=pre depth=4"
    assert "nearest to the defaults" in baseline_reason(analyse(runs))
    assert analyse(runs, baseline="pos=alibi,depth=24,norm=post").baseline == (
        "pos=alibi norm=post depth=24"
    )
    assert analyse(runs, baseline="norm=post").baseline == "pos=rope norm=post depth=4"
    for wrong, words in (("pos=t5", "no arm has it; there are pos=al"), ("pos", "expected KEY=")):
        with pytest.raises(UserError, match=words):
            analyse(runs, baseline=wrong)


def test_a_metric_that_is_neither_better_nor_worse_is_a_mistake() -> None:
    with pytest.raises(UserError, match=r"--metric parameters.*there are val_loss"):
        analyse([make_run()], metric="parameters")
    with pytest.raises(UserError, match=r"did you mean acc_8L"):
        analyse([make_run()], metric="acc_8l")


def test_a_metric_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(UserError, match=r"acc_16L: .* did you mean acc_L\? there are val_loss, "):
        analyse([make_run()], metric="acc_16L")


def test_runs_without_a_result_are_told_by_what_became_of_them() -> None:
    runs = factorial({"pos": ["rope", "alibi"]}, wobble)
    for run, status in zip(runs, ["failed", "running", "interrupted", "running"], strict=False):
        run.record.status = status
    text = said(analyse(runs), "caution")
    assert "4 runs have no result: 1 failed, 1 interrupted, 2 running" in text
    assert "no result" not in said(analyse(runs[4:]), "caution")


def test_few_seeds_are_said_to_be_few() -> None:
    factors = {"pos": ["rope", "alibi"]}
    one = analyse(factorial(factors, lambda arm, seed: len(arm["pos"]), 1))
    assert one.contrasts[0].verdict == "too few seeds"
    assert one.contrasts[0].difference.low is None
    assert "one seed" in said(one, "caution")
    assert said(one, "mattered") == ""
    two = analyse(factorial(factors, lambda arm, seed: len(arm["pos"]) + wobble(arm, seed), 2))
    assert "two seeds are few" in said(two, "caution")
    assert two.arms[0].few


def test_nothing_and_one_arm_have_nothing_to_say() -> None:
    assert analyse([]).contrasts == ()
    alone = analyse([make_run(seed=seed) for seed in range(3)])
    assert (len(alone.arms), alone.contrasts, alone.effects) == (1, (), ())


def test_survivors_make_no_arm_better() -> None:
    def study(survivors: int) -> Contrast:
        runs = factorial(
            {"norm": ["pre", "post"]},
            lambda arm, seed: 2 - 0.5 * (arm["norm"] == "post") + wobble(arm, seed),
        )
        for run in runs:
            if run.record.choices["norm"] == "post" and run.record.seed >= survivors:
                run.record.status = "diverged"
        return analyse(runs).contrasts[0]

    assert study(5).verdict == "better"
    assert study(3).verdict == "undecided"
    assert study(3).difference.mean == pytest.approx(-0.5, abs=0.01)
    assert (study(3).diverged, study(3).of, study(3).left_out) == ((2, 0), 5, 2)
    assert study(0).verdict == "diverges more"
    assert study(0).difference.mean is None


def test_levels_told_together_still_say_that_runs_of_one_diverged() -> None:
    losses = {
        "rope": [2.0, 2.2, 1.8, 2.1, 1.9],
        "none": [2.2, 1.9, 2.0, 1.8, 2.1],
        "alibi": [1.8, 2.1, 2.2, 1.9, 2.0],
    }
    runs = factorial({"pos": list(losses)}, lambda arm, seed: losses[arm["pos"]][seed])
    runs[7].record.status = "diverged"  # none, seed 2
    analysis = analyse(runs)
    assert [one.verdict for one in analysis.contrasts] == ["not distinguishable"] * 2
    text = said(analysis, "undecided")
    assert "are not distinguishable from pos=rope" in text
    assert "in 1 of these runs diverged, and differences are of those that did not" in text


def test_an_arm_that_diverges_more_and_is_worse_is_worse() -> None:
    runs = factorial(
        {"norm": ["pre", "post"]},
        lambda arm, seed: 2 + 0.5 * (arm["norm"] == "post") + wobble(arm, seed),
    )
    runs[-1].record.status = "diverged"
    analysis = analyse(runs)
    assert analysis.contrasts[0].verdict == "worse"
    assert "1 of 5 runs diverged against 0 of 5" in said(analysis, "mattered")
    assert "the difference is of those that did not" in said(analysis, "mattered")


def test_arms_that_did_not_learn_are_not_called_equivalent() -> None:
    def study(stuck: set[str]) -> Analysis:
        runs = factorial({"pos": ["rope", "alibi", "none"]}, wobble)
        return analyse(
            [
                replace(run, label="stuck") if run.record.choices["pos"] in stuck else run
                for run in runs
            ]
        )

    assert [one.verdict for one in study(set()).contrasts] == ["equivalent"] * 2
    assert [one.verdict for one in study({"rope"}).contrasts] == ["equivalent"] * 2
    found = study({"rope", "alibi"})
    assert named(found.contrasts, "pos=alibi").verdict == "neither learned"
    assert "neither learned more than how often tokens occur (5 of 5 and 5" in said(
        found, "undecided"
    )
    assert named(found.contrasts, "pos=none").verdict == "equivalent"
    assert "most runs learned only how often" in said(study({"rope", "alibi", "none"}), "undecided")


def test_diverged_and_stuck_runs_by_level_and_cell() -> None:
    runs = factorial({"norm": ["pre", "post"], "depth": [4, 24]}, wobble, 6)
    for run in runs:
        if run.record.choices["norm"] == "post" and run.record.seed < 5:
            run.record.status = "diverged"
    stuck = [replace(r, label="stuck") if r.record.depth == 24 else r for r in runs]
    analysis = analyse(stuck)
    of_stuck, of_diverged = analysis.failures
    (norm,) = [one for one in of_diverged.levels if one.factors == ("norm",)]
    assert (norm.test.failed, norm.test.of, norm.test.verdict) == ((10, 0), (12, 12), "fails more")
    (depth,) = [one for one in of_stuck.levels if one.factors == ("depth",)]
    assert (depth.test.failed, depth.test.verdict) == ((12, 0), "fails more")
    text = said(analysis, "mattered")
    assert "norm=post diverges more often than norm=pre, with depth=" in text
    assert "5 of 6 runs against 0 of 6" in text
    assert "depth=24 gets stuck more often than depth=4, with norm=p" in text


def test_a_corner_that_is_stuck_in_every_seed_matters_and_is_named() -> None:
    grid = {
        "norm": ["pre", "post"],
        "warmup": ["linear", "none"],
        "depth": [6, 24],
        "lr": [0.0003, 0.001, 0.003],
    }
    runs = [
        replace(run, label="stuck") if _corner(run) else run for run in factorial(grid, wobble, 6)
    ]
    asked = "norm=pre,warmup=linear,depth=6,lr=0.0003"
    text = said(analyse(runs, baseline=asked), "mattered")
    assert "got stuck more often than the other arms: 12 of 12 runs against 0 of 132" in text
    cell = "with warmup=none depth=24 lr=0.001: 6 of 6 runs against 0 of 6"
    assert f"norm=post gets stuck more often than norm=pre, {cell}" in text
    three = [run for run in runs if run.record.seed < 3]
    analysis = analyse(three, baseline=asked)
    assert "got stuck more often than the other arms: 6 of 6" in said(analysis, "mattered")
    told = said(analysis, "undecided")
    assert "3 seeds a side cannot decide a count: no p below 0.1 is possible" in told
    assert "p = 1" not in told


def _corner(run: Run) -> bool:
    settings, choices = run.record.config, run.record.choices
    cold = choices["norm"] == "post" and choices["warmup"] == "none"
    return bool(cold and run.record.depth == 24 and settings["lr"] > 0.0005)


def test_runs_of_few_seeds_are_counted_and_not_tested() -> None:
    runs = factorial({"lr": [0.001, 0.003]}, wobble, 2)
    runs = [replace(r, label="stuck") if r.record.config["lr"] == 0.003 else r for r in runs]
    analysis = analyse(runs)
    assert "stuck" not in said(analysis, "mattered")
    assert (
        "2 of 2 runs with lr=0.003 and 0 of 2 with lr=0.001 got stuck: 2 seeds a side cannot decide"
        " a count: no p below 0.33 is possible"
    ) in said(analysis, "undecided")
    for run in runs:
        if run.record.config["lr"] == 0.003:
            run.record.status = "diverged"
    text = said(analyse(runs), "undecided")
    assert "2 of 2 runs diverged against 0 of 2 (too few seeds for a test" in text


@pytest.mark.parametrize(("seeds", "both_levels"), [(5, True), (8, False)])
def test_failures_are_seldom_wrong_where_arms_share_the_luck_of_a_seed(
    seeds: int, both_levels: bool
) -> None:
    """No factor matters; the luck of a seed is all arms', or that of the arms of a level."""
    generator = np.random.default_rng(seeds)
    runs = factorial({"lr": [0.001, 0.003], "depth": [2, 4, 8]}, wobble, seeds)
    wrong, studies = 0, 40
    for _ in range(studies):
        shared = generator.uniform(0, 1, seeds) if both_levels else 0.5
        own = generator.random((2, seeds)) < shared
        study = [
            replace(r, label="stuck")
            if own[int(r.record.config["lr"] > 0.002), r.record.seed] != (generator.random() < 0.1)
            else r
            for r in runs
        ]
        levels = [one for f in analyse(study).failures for one in f.levels]
        wrong += any(one.test.shown for one in levels)
    assert wrong <= studies * 0.05 + 2 * math.sqrt(studies * 0.05 * 0.95)


def test_an_undefined_length_is_said_and_no_number() -> None:
    runs = [
        make_run({"pos": pos}, seed=seed, extrapolation__accuracy=[0.4, 0.4, end, end, end])
        for pos, end in (("rope", 0.4), ("learned", None))
        for seed in range(3)
    ]
    analysis = analyse(runs, metric="acc_8L")
    assert analysis.contrasts[0].verdict == "nothing to compare"
    assert "the scheme cannot do it" in said(analysis, "undecided")
    assert "acc_8L is undefined for pos=learned" in said(analysis, "caution")


def test_without_a_true_difference_an_analysis_is_seldom_wrong() -> None:
    generator = np.random.default_rng(3)
    wrong = covered = intervals = 0
    studies = 120
    for _ in range(studies):
        shared = generator.normal(0, 0.1, 4)
        runs = factorial(
            {"pos": ["rope", "none"], "norm": ["pre", "post"]},
            lambda arm, seed: 2 + shared[seed] + generator.normal(0, 0.03),  # noqa: B023
            4,
        )
        analysis = analyse(runs, margin=1e-6)
        for family in (analysis.contrasts, analysis.effects, analysis.interactions):
            wrong += any(one.verdict in ("better", "worse", "undecided") for one in family)
            for one in family:
                assert one.difference.low is not None
                assert one.difference.high is not None
                covered += one.difference.low <= 0 <= one.difference.high
                intervals += 1
    assert wrong <= 3 * studies * 0.05 + 3 * math.sqrt(3 * studies * 0.05 * 0.95)
    assert abs(covered / intervals - 0.95) < 4 * math.sqrt(0.95 * 0.05 / (studies * 3))


@pytest.mark.slow
@pytest.mark.parametrize("lost", [0.0, 0.1])
def test_with_true_effects_and_runs_missing_the_intervals_cover_them(lost: float) -> None:
    generator = np.random.default_rng(11)
    truth = {"norm=post": 0.05, "pos=none": -0.02, "pos=none × norm=post": 0.03}
    covered = dict.fromkeys(truth, 0)
    told = dict.fromkeys(truth, 0)
    studies = 500
    for _ in range(studies):
        shared = generator.normal(0, 0.1, 6)

        def loss(arm: dict[str, Any], seed: int) -> float:
            post, none = arm["norm"] == "post", arm["pos"] == "none"
            # Main effects are averages over the other factor's levels.
            mean = 0.035 * post - 0.035 * none + 0.03 * post * none
            return float(2 + mean + shared[seed] + generator.normal(0, 0.02))  # noqa: B023

        runs = factorial({"norm": ["pre", "post"], "pos": ["rope", "none"]}, loss, 6)
        runs = [run for run in runs if generator.random() >= lost]
        analysis = analyse(runs, baseline="norm=pre,pos=rope")
        for one in (*analysis.effects, *analysis.interactions):
            if one.difference.low is None or one.difference.high is None or one.shared < 1:
                continue
            if one.kind == "main" and one.cells < 2:
                continue  # of one cell it is another quantity, and told as such
            told[one.name] += 1
            covered[one.name] += one.difference.low <= truth[one.name] <= one.difference.high
    for name, count in told.items():
        assert count > studies / 2
        assert abs(covered[name] / count - 0.95) < 3.5 * math.sqrt(0.95 * 0.05 / count)
