"""No sentence claims more than its numbers."""

import re
from collections.abc import Mapping, Sequence

import pytest

from ablate.report.inference.analysis import Analysis, analyse
from ablate.report.inference.contrasts import Contrast
from ablate.report.runs.collect import Run
from ablate.report.words.heading import baseline_reason
from ablate.report.words.statements import statements
from tests.report.conftest import make_run

WOBBLE = ([0.004, -0.003, 0.001], [-0.002, 0.003, -0.001], [0.001, 0.002, -0.004])


def text(analysis: Analysis, kind: str) -> str:
    return "\n".join(one.text for one in statements(analysis) if one.kind == kind)


def one_factor(losses: Mapping[str, Sequence[float]]) -> list[Run]:
    return [
        make_run({"pos": pos}, seed=seed, loss__validation=loss)
        for pos, by_seed in losses.items()
        for seed, loss in enumerate(by_seed)
    ]


def two_factors(losses: Mapping[tuple[str, str], float]) -> list[Run]:
    """Runs of (pos, norm) over three seeds, each arm with noise of its own."""
    return [
        make_run({"pos": pos, "norm": norm}, seed=seed, loss__validation=loss + noise)
        for place, ((pos, norm), loss) in enumerate(losses.items())
        for seed, noise in enumerate(WOBBLE[place % 3])
    ]


CROSSED = {("rope", "pre"): 2.0, ("rope", "post"): 2.3, ("none", "pre"): 2.3, ("none", "post"): 2.0}


def test_a_factor_that_averages_to_nothing_is_told_by_its_simple_effects() -> None:
    analysis = analyse(two_factors(CROSSED))
    assert {effect.verdict for effect in analysis.effects} == {"depends"}
    assert "norm=post" not in text(analysis, "no difference") + text(analysis, "undecided")
    mattered = text(analysis, "mattered")
    assert "what norm=post does against norm=pre depends on pos: " in mattered
    assert re.search(r"better by 0\.\d+ nats \[.*?\] within pos=none", mattered)
    assert re.search(r"worse by 0\.\d+ nats \[.*?\] within pos=rope", mattered)


def test_only_a_level_whose_difference_depends_is_said_to_depend() -> None:
    losses = {**CROSSED, ("alibi", "pre"): 2.6, ("alibi", "post"): 2.9}  # as rope, 0.6 above
    lines = text(analyse(two_factors(losses)), "mattered").splitlines()
    (alibi,) = [line for line in lines if line.startswith("pos=alibi is worse than pos=rope")]
    assert "depends" not in alibi
    assert any(line.startswith("what pos=none does against pos=rope depends") for line in lines)


def test_an_interval_that_the_number_of_comparisons_overrules_says_so() -> None:
    base = [2.0, 2.1, 2.2]
    runs = one_factor({"rope": base, "none": [2.03, 2.07, 2.201], "alibi": [2.02, 2.14, 2.23]})
    (alibi,) = [one for one in analyse(runs).contrasts if one.name == "pos=alibi"]
    assert (alibi.difference.low or 0.0) > 0
    assert alibi.verdict == "not distinguishable"
    assert (
        "pos=alibi is clear alone at 95 % [0.005, 0.055], not after the correction for 2"
        in text(analyse(runs), "undecided")
    )
    two = [run for run in runs if run.record.choices["pos"] != "none"]
    assert "Holm" not in "".join(one.text for one in statements(analyse(two)))


@pytest.mark.parametrize("gap", [-0.3, 0.0])
def test_survivors_decide_nothing_and_the_divergence_is_told_once(gap: float) -> None:
    base = [2.0, 2.1, 2.2, 2.3, 2.4]
    runs = one_factor({"rope": base, "alibi": [loss + gap + 0.001 * loss for loss in base]})
    for run in runs[-2:]:
        run.record.status = "diverged"
    told = text(analyse(runs), "undecided")
    assert "where both finished, but other runs diverged, so nothing is decided; 3 seeds" in told
    assert told.count("2 of 5") == 2  # pairs left out, runs diverged
    assert not any(word in told for word in ("better", "worse", "equivalent"))
    assert text(analyse(runs), "mattered") == ""


def test_equal_losses_are_the_same_and_equal_shares_are_no_evidence() -> None:
    runs = one_factor({"rope": [2.0, 2.1, 2.2], "alibi": [2.0, 2.1, 2.2]})
    told = text(analyse(runs), "no difference")
    assert told == (
        "pos=alibi and pos=rope: the setting had no effect here: in all 3 pairs both runs are the"
        " same, number by number"
    )
    runs[0].record.loss.final += 0.01
    assert text(analyse(runs), "no difference") == (
        "pos=alibi and pos=rope are the same: exactly 0 nats apart in each of 3 seeds"
    )
    for run in runs:
        run.record.extrapolation.accuracy = [0.0] * 5
    shares = analyse(runs, metric="acc_L")
    assert shares.contrasts[0].verdict == "no spread"
    assert text(shares, "no difference") == ""


def test_a_key_that_older_records_lack_is_no_difference() -> None:
    runs = one_factor({"rope": [2.0, 2.1, 2.2], "alibi": [2.01, 2.1, 2.21]})
    for run in runs[::2]:
        run.record.config |= {"precision": "float32", "evaluate": {"protocols": ["a"]}}
        run.record.config["pos"]["newer"] = True
    analysis = analyse(runs)
    assert analysis.factors == ("pos",)
    assert [arm.label for arm in analysis.arms] == ["pos=alibi", "pos=rope"]
    assert "never change" not in text(analysis, "caution")
    runs[0].record.config["precision"] = "bfloat16"
    assert "precision" in analyse(runs).factors


@pytest.mark.parametrize(("key", "levels"), [("task", ("lm", "mlm")), ("corpus", ("a", "b"))])
def test_no_loss_is_compared_across_tasks_or_texts(key: str, levels: tuple[object, object]) -> None:
    runs = [
        make_run({"pos": pos, key: level}, seed=seed, loss__validation=2 + gap * place + noise)
        for place, level in enumerate(levels)
        for (pos, gap), noises in zip((("rope", 1.0), ("alibi", 1.3)), WOBBLE, strict=False)
        for seed, noise in enumerate(noises)
    ]
    analysis = analyse(runs)
    assert {one.factors for one in analysis.effects} == {("pos",)}
    assert [(one.name, one.against) for one in analysis.contrasts] == [
        (f"pos=alibi {key}={level}", f"pos=rope {key}={level}") for level in levels
    ]
    assert f"arms of another {key} are not compared" in text(analysis, "caution")
    assert f"pos=alibi {key}={levels[1]} is worse" in text(analysis, "mattered")
    assert analysis.interactions == ()


def test_the_best_of_several_looks_is_said_to_be_chosen() -> None:
    runs = one_factor({"rope": [2.0, 2.1, 2.2], "alibi": [2.01, 2.1, 2.21]})
    assert "chosen on what it reports" in text(analyse(runs, metric="best_loss"), "caution")
    assert "chosen on what it reports" not in text(analyse(runs), "caution")


def test_values_that_are_chosen_from_are_sorted_and_told_only_where_they_differ() -> None:
    runs = [
        make_run({"pos": pos, "lr": lr}, seed=seed)
        for pos, rates in (("rope", (0.001, 0.0003)), ("alibi", (0.0003, 0.001)))
        for lr in rates
        for seed in range(3)
    ]
    analysis = analyse(runs, choose_key="lr")
    assert [choice.among for choice in analysis.choices] == [("0.0003", "0.001")] * 2
    assert "different values" not in text(analysis, "caution")


def test_a_metric_that_no_run_measures_is_said_to_be_missing() -> None:
    runs = one_factor({"rope": [2.0, 2.1], "alibi": [2.0, 2.1]})
    assert "none of these runs measures exact_L" in text(analyse(runs, metric="exact_L"), "caution")
    assert "measures" not in text(analyse(runs), "caution")


def test_a_baseline_that_never_finished_is_passed_over_and_the_report_says_so() -> None:
    runs = one_factor({"rope": [2.0, 2.1], "alibi": [2.0, 2.1]})
    assert baseline_reason(analyse(runs)) == "the arm nearest to the defaults"
    for run in runs[:2]:
        run.record.status = "diverged"
    found = analyse(runs)
    assert found.baseline == "pos=alibi"
    assert baseline_reason(found) == "the arm nearest to the defaults, of those with a finished run"
    assert "measures" not in text(found, "caution")


def test_counts_are_told_with_the_p_that_the_verdict_rests_on() -> None:
    base = [2.0, 2.1, 2.2, 2.3, 2.4]
    runs = one_factor({"rope": base, "alibi": base, "none": base})
    for run in (*runs[5:10], runs[10]):  # all of alibi, one of none
        run.record.status = "diverged"
    analysis = analyse(runs)
    (alibi,) = [one for one in analysis.contrasts if one.name == "pos=alibi"]
    (failures,) = analysis.failures
    assert alibi.divergence is not None
    assert alibi.divergence.test.p == pytest.approx(2 / 252)
    assert alibi.divergence.test.p_holm == max(2 / 252, failures.gate)  # of none none is possible
    assert 0.01 < failures.gate < 0.05
    assert alibi.verdict == "diverges more"
    assert (
        "pos=alibi diverges more than pos=rope: 5 of 5 runs against 0 of 5 (permutation over"
        f" seeds, p = {failures.gate:.2g} by Holm)"
    ) in text(analysis, "mattered")


def test_arms_that_are_the_same_run_by_run_are_told_beside_others() -> None:
    """pos.scale_embedding may do something with one norm and nothing with the other."""
    losses = {
        ("rope", "pre"): 2.0,
        ("rope", "post"): 2.3,
        ("none", "pre"): 2.0,
        ("none", "post"): 2.4,
    }
    runs = two_factors(losses)
    for run in runs:
        if run.record.choices["norm"] == "pre":
            run.record.loss.validation = 2.0 + run.record.seed / 100
    analysis = analyse(runs)
    assert "all runs are the same: pos=none norm=pre = pos=rope norm=pre" in text(
        analysis, "caution"
    )
    assert named_effect(analysis, "pos=none").verdict != "no effect"
    same = [run for run in runs if run.record.choices["norm"] == "pre"]
    (one,) = analyse(same).contrasts
    assert one.verdict == "no effect"


def named_effect(analysis: Analysis, name: str) -> Contrast:
    (effect,) = [one for one in analysis.effects if one.name == name]
    return effect


def test_what_more_seeds_would_decide_is_told_with_the_seeds() -> None:
    runs = one_factor({"rope": [2.0, 2.1, 2.2], "alibi": [2.06, 2.23, 2.3]})
    told = text(analyse(runs), "undecided")
    assert re.search(r"about \d seeds would decide it \(add seed=0\.\.\d\)", told)
    near = one_factor({"rope": [2.0, 2.1, 2.2], "alibi": [2.05, 2.12, 2.19]})
    assert "on the margin: no number of seeds will" in text(analyse(near), "undecided")
