"""Facts keep their parts in words: claim, interval and evidence, and any verdict has a sentence."""

import json
from dataclasses import replace

import pytest

from ablate.report.inference.analysis import Analysis, analyse
from ablate.report.inference.points import SingleVerdict
from ablate.report.page.content import answers
from ablate.report.runs.collect import Run
from ablate.report.runs.tables import build
from ablate.report.text.machine import as_json
from ablate.report.words.comparisons import comparison
from ablate.report.words.statements import statements
from tests.report.conftest import make_run

NOISE = [0.003, -0.004, 0.001, 0.002, -0.002]
LEVELS = ("rope", "alibi", "none", "learned", "sinusoidal", "relative")


def runs_of(worse: float = 0.3) -> list[Run]:
    return [
        make_run({"pos": pos}, seed=seed, loss__validation=2 + worse * place + NOISE[seed - place])
        for place, pos in enumerate(("rope", "alibi"))
        for seed in range(5)
    ]


def test_json_has_the_parts_of_each_sentence_and_its_fact() -> None:
    runs = runs_of()
    analysis = analyse(runs)
    content = json.loads(as_json(build(runs), analysis))["analysis"]
    said = content["sentences"][0]
    assert said["kind"] == "mattered"
    assert said["claim"] == "pos=alibi is worse than pos=rope by 0.300 nats"
    assert said["evidence"].startswith("[0.29")
    assert said["evidence"].endswith("]; 5 seeds paired")
    assert said["text"] == f"{said['claim']} {said['evidence'].replace(';', ':')}"
    assert (said["about"], said["fact"]["contrast"]["verdict"]) == ("SingleVerdict", "worse")
    assert said["fact"]["contrast"]["difference"]["mean"] == pytest.approx(0.3)
    assert content["baseline_reason"] == "the arm nearest to the defaults"
    assert content["baseline_choice"] == {"asked": False, "fitting": 2, "finished": False}


def test_a_verdict_without_a_sentence_of_its_own_is_told_all_the_same() -> None:
    analysis = analyse(runs_of())
    (contrast,) = analysis.contrasts
    sentence = comparison(SingleVerdict(replace(contrast, verdict="close enough")), analysis.judge)
    assert sentence.claim == "pos=alibi and pos=rope are close enough"
    assert sentence.support.startswith("+0.300 nats [0.29")


def test_a_test_on_counts_is_evidence_and_stands_in_one_piece() -> None:
    runs = [
        make_run({"pos": pos}, seed=seed, label="stuck" if pos == "none" and seed else "healthy")
        for pos in ("rope", "none")
        for seed in range(6)
    ]
    claims = claims_of(analyse(runs))
    claim = (
        "pos=none gets stuck more often than pos=rope, 5 of 6 runs against 0 of 6 (permutation over"
        " seeds, p = 0.015 by Holm)"
    )
    assert claims[claim] == ""


def test_many_levels_that_learned_nothing_are_a_claim_as_few_are() -> None:
    runs = [
        make_run({"pos.kind": level}, seed=seed, label="stuck", loss__validation=3.3 + place / 99)
        for place, level in enumerate(LEVELS)
        for seed in range(4)
    ]
    (claim,) = claims_of(analyse(runs))
    assert claim.endswith(": most runs learned only how often tokens occur")
    assert "and 1 more against pos.kind=" in claim


def claims_of(analysis: Analysis) -> dict[str, str]:
    verdicts = [answer for answer in answers(statements(analysis)) if answer.kind != "start"]
    return dict(pair for answer in verdicts for pair in answer.claims)
