"""Advice never contradicts the siblings: where a study holds the arm it names, that is quoted."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from ablate.judge.diagnosis import diagnose
from ablate.report.inference.analysis import analyse
from ablate.report.inference.findings import ArmFinding
from ablate.report.runs.collect import Run
from ablate.report.runs.tables import build
from ablate.report.text.machine import as_json
from ablate.report.words.sections import sections
from ablate.report.words.tried_text import finding_text
from tests.report.conftest import make_run

SEEDS = range(3)
NOISE = (0.004, -0.003, 0.001)
HEALTHY = {
    "gradients__parameters_first": [0.5] * 24,
    "extrapolation__retention": [0.9, 1.0, 1.0, 0.99, 0.98],
}
COLD = {"norm": ["post-norm"], "warmup": ["absent"]}
STUCK: dict[str, Any] = {"label": "stuck", "loss__unigram_train": 3.37, "loss__final": 3.36}
UNSTABLE: dict[str, Any] = {"label": "unstable", "loss__spike_score": 0.02, "loss__spike_max": 9.0}


def arm(changes: dict[str, Any], loss: float, **parts: Any) -> list[Run]:
    """Runs of three seeds, diagnosed each from its own record."""
    runs = []
    for seed in SEEDS:
        noise = NOISE[seed * (1 + (loss > 2.3)) % 3]
        run = make_run(
            changes,
            seed=seed,
            **{"loss__validation": loss + noise, **HEALTHY, **parts},
        )
        run.record.diagnosis = diagnose(run.record)
        runs.append(run)
    return runs


def of_arm(runs: Iterable[Run], name: str) -> list[ArmFinding]:
    return [finding for finding in analyse(list(runs)).findings if finding.arm == name]


def test_no_rate_is_too_high_where_a_higher_one_did_better() -> None:
    runs = [*arm({"lr": 0.001}, 2.5, **UNSTABLE), *arm({"lr": 0.003}, 1.9)]
    (finding,) = of_arm(runs, "lr=0.001")
    assert finding.cause == ""
    assert finding.advice == "warmup=linear, clip=1"
    assert finding_text(finding).startswith(
        "lr=0.003 is here and does better: val. loss 1.901 against 2.501, −0.600 [−0.61"
    )


def test_a_smaller_rate_that_did_better_is_quoted_and_one_that_did_not_clears_the_rate() -> None:
    better = [*arm({"lr": 0.001}, 2.5, **UNSTABLE), *arm({"lr": 0.0003}, 2.2)]
    (finding,) = of_arm(better, "lr=0.001")
    assert finding.cause == "maybe a learning rate too high (lr=0.001)"
    assert "lr=0.0003 is here and does better: val. loss 2.201 against 2.501" in finding_text(
        finding
    )
    worse = [*arm({"lr": 0.001}, 2.1, **UNSTABLE), *arm({"lr": 0.0003}, 2.7)]
    (finding,) = of_arm(worse, "lr=0.001")
    assert finding.cause == ""
    assert "lr=0.0003 is here and does worse: val. loss 2.701 against 2.101" in finding_text(
        finding
    )


def test_seeds_and_other_settings_that_are_not_shared_say_nothing() -> None:
    apart = arm({"lr": 0.003, "norm": "post"}, 1.9)
    (finding,) = of_arm([*arm({"lr": 0.001}, 2.5, **UNSTABLE), *apart], "norm=pre lr=0.001")
    assert (finding.tried, finding.cause != "") == ((), True)


def warmup(label: dict[str, Any], loss: float) -> list[Run]:
    return [
        *arm({"norm": "post", "warmup": "none"}, 3.37, facts=COLD, **STUCK),
        *arm({"norm": "post", "warmup": "linear"}, loss, facts={"norm": ["post-norm"]}, **label),
    ]


def test_a_remedy_that_is_here_and_stuck_as_well_is_quoted() -> None:
    (finding,) = of_arm(warmup(STUCK, 3.37), "warmup=none")
    assert (finding.cause, finding.advice) == ("", "norm=deepnorm, norm=pre")
    assert finding_text(finding).startswith("warmup=linear is here: 3 of 3 stuck as well; val.")


def test_a_remedy_that_is_here_and_does_better_is_quoted() -> None:
    (finding,) = of_arm(warmup({}, 2.01), "warmup=none")
    assert finding.cause == "maybe post-norm without warmup"
    text = finding_text(finding)
    assert "warmup=linear is here and does better: val. loss 2.011 against 3.371" in text
    assert "try warmup" not in text


def test_arms_that_diverged_have_no_loss_and_are_counted() -> None:
    runs = warmup({}, 2.01)
    for run in runs[:3]:
        run.record.status, run.record.label = "diverged", "diverged"
        run.record.loss.validation = None
        run.record.diagnosis = diagnose(run.record)
    (finding,) = of_arm(runs, "warmup=none")
    assert finding.name == "diverged"
    assert "warmup=linear is here: 0 of 3 diverged" in finding_text(finding)


def test_a_remedy_that_ends_worse_is_no_cure() -> None:
    runs = [*arm({"clip": None}, 2.5, **UNSTABLE), *arm({"clip": 1.0}, 2.0)]
    for run in runs[3:]:
        run.record.status = run.record.label = "diverged"
        run.record.loss.validation = None
    runs = [replace(run, label=run.record.label) for run in runs]
    (finding,) = [one for one in analyse(runs).findings if one.name == "unstable"]
    assert "clip=1 is here: 3 of 3 diverged" in finding_text(finding)
    assert (finding.cause, finding.tried[0].became) == ("", "no better")


def past_length(pos: str, facts: list[str], accuracy: list[float], curve: list[float]) -> list[Run]:
    extrapolation = {
        "train_length": 64,
        "lengths": [64, 512],
        "accuracy": accuracy,
        "retention": [1.0, accuracy[1] / accuracy[0]],
        "curve": {"position": [32, 64, 96, 128], "nll": curve},
    }
    return arm({"pos": pos}, 2.0, facts={"pos": facts}, extrapolation=extrapolation)


def test_a_scheme_is_not_advised_to_its_kind_and_one_that_is_here_is_quoted() -> None:
    kind = ["relative", "rotary", "scalable"]
    rope = past_length("rope", kind, [0.5, 0.2], [2.0, 2.0, 3.0, 3.0])
    (finding,) = of_arm([*rope, *arm({"pos": "none"}, 2.0)], "pos=rope")
    assert finding.name == "cliff past L"
    assert finding.asked == ("evaluate", "pos alibi")
    assert finding.advice.endswith("pos=yarn, which needs no training, pos=alibi")
    assert "absolute" not in finding.cause
    alibi = past_length("alibi", ["fading", "relative"], [0.48, 0.48], [2.0, 2.0, 2.0, 2.0])
    (finding,) = of_arm([*rope, *alibi], "pos=rope")
    assert "pos=alibi is here: acc. at 8L 0.480 against 0.200" in finding_text(finding)


@pytest.mark.parametrize(
    ("interval", "names"),
    [([-0.023, 0.058], []), ([-0.004, 0.012], ["order is not used"]), (None, [])],
)
def test_order_is_unused_only_if_its_interval_lies_within_the_margin(
    interval: list[float] | None, names: list[str]
) -> None:
    shuffle = {"change": 0.018 if interval is None else sum(interval) / 2, "interval": interval}
    findings = of_arm([*arm({"pos": "alibi"}, 2.0, shuffle=shuffle), *arm({}, 2.0)], "pos=alibi")
    assert [finding.name for finding in findings] == names


def test_the_curse_of_depth_is_not_told_of_the_best_arm() -> None:
    idle = {"block_cosine": {"first": [0.5] * 24, "last": [0.9] * 18 + [0.999] * 6}}
    deep = arm({"depth": 24}, 2.5, instruments=idle)
    assert of_arm([*deep, *arm({"depth": 6}, 2.7)], "depth=24") == []
    (finding,) = of_arm([*deep, *arm({"depth": 6}, 2.2)], "depth=24")
    assert "maybe the depth curse" in finding.cause
    text = finding_text(finding)
    assert "depth=6 is here and does better: val. loss 2.201 against 2.501" in text
    (finding,) = of_arm(deep, deep[0].arm)
    assert finding.cause.startswith("maybe the depth curse")


def test_older_records_without_remedies_are_diagnosed_anew() -> None:
    runs = [*arm({"lr": 0.001}, 2.5, **UNSTABLE), *arm({"lr": 0.003}, 1.9)]
    for run in runs[:3]:
        old = {"name": "unstable", "evidence": "x", "cause": "lr too high", "advice": "less"}
        run.record.diagnosis = make_run({}, diagnosis=[old]).record.diagnosis
    (finding,) = of_arm(runs, "lr=0.001")
    assert finding.cause == ""
    assert finding.tried[0].change == "lr=0.003"


def test_json_has_what_was_tried_as_facts_and_the_terminal_says_it() -> None:
    runs = warmup({}, 2.01)
    analysis = analyse(runs)
    (finding,) = json.loads(as_json(build(runs), analysis))["analysis"]["findings"]
    (tried,) = finding["tried"]
    assert (tried["change"], tried["became"], tried["of"]) == ("warmup=linear", "better", 3)
    (diagnosis,) = [part for part in sections(analysis, False) if part.title == "Diagnosis"]
    (line,) = diagnosis.lines
    assert "; maybe post-norm without warmup; warmup=linear is here and does better" in line.text
    assert line.text.endswith("; try norm=deepnorm, norm=pre")
