"""How runs start: first losses with their reasons, gradients over depth, the worst first."""

import json
from typing import Any

import pytest

from ablate.report.inference.analysis import analyse
from ablate.report.inference.beginnings import FirstLosses, GradientFlow
from ablate.report.page.content import answers, content
from ablate.report.runs.collect import Run
from ablate.report.runs.tables import build
from ablate.report.text.machine import as_json
from ablate.report.words.sections import sections
from ablate.report.words.statements import statements
from tests.report.conftest import make_run

DEPTH = 12
SPREAD = {"logit_scale": {"first": 0.5}}


def runs_of(changes: dict[str, Any], factor: float, excess: float, **parts: Any) -> list[Run]:
    """Three seeds whose gradient changes by a factor a block from the last to the first."""
    runs = []
    for seed in range(3):
        run = make_run(
            {"depth": DEPTH, **changes}, seed=seed, loss__excess=excess + seed / 100, **parts
        )
        run.record.loss.first = run.record.loss.uniform + run.record.loss.excess
        run.record.loss.repeats = 0.03
        norms: list[float | None] = [factor ** (DEPTH - 1 - block) for block in range(DEPTH)]
        run.record.gradients.parameters_first = [norm and norm * (1 + seed / 10) for norm in norms]
        run.record.gradients.parameters_first[-1] = 1.0
        run.record.gradients.inputs_first = norms
        runs.append(run)
    return runs


def study() -> list[Run]:
    return [
        *runs_of({"norm": "pre"}, 1.05, 0.12, instruments=SPREAD),
        *runs_of({"norm": "post"}, 0.5, 0.12, instruments=SPREAD),
        *runs_of({"norm": "none"}, 2.0, 8.0, instruments={"logit_scale": {"first": 4.0}}),
        *runs_of({"norm": "peri"}, 0.75, 0.12, instruments=SPREAD),
    ]


def said(runs: list[Run]) -> list[str]:
    return [one.text for one in statements(analyse(runs)) if one.kind == "start"]


def test_what_is_out_of_order_comes_first() -> None:
    facts = [point.fact for point in analyse(study()).points if point.kind == "start"]
    words = [
        f.verdict if isinstance(f, FirstLosses) else f"{f.norm} {f.flow}"  # type: ignore[union-attr]
        for f in facts
    ]
    assert words == ["high", "post vanishing", "none exploding", "peri uneven", "usual", "pre even"]


def test_first_losses_are_told_with_what_explains_them() -> None:
    high, *_, usual, _ = said(study())
    assert high == (
        "first loss is high, ln V +8.000 to +8.020 nats, in norm=none (3 runs):"
        " logits of standard deviation 4"
    )
    assert usual == (
        "first loss is as it should be, ln V +0.120 to +0.140 nats, in 3 arms, norm=peri first"
        " (9 runs): logits of standard deviation 0.5, which cost about half their variance,"
        " 0.12 nats"
    )


def test_a_head_that_is_tied_or_bare_is_named_and_a_leak_too() -> None:
    tied = runs_of({"tied": True, "norm.final": False}, 1.0, 25.0)
    text = said([*tied, *runs_of({}, 1.0, 0.1)])[0]
    assert text.endswith("the head is tied to the embeddings; no norm stands before the head")
    text = said([*runs_of({"pos": "alibi"}, 1.0, -0.9), *runs_of({}, 1.0, 0.1)])[0]
    assert text.startswith("first loss is lower than a guess can be, ln V −0.900 to −0.880 nats")


def test_gradients_are_told_by_placement_and_depth() -> None:
    text = next(text for text in said(study()) if "norm=post" in text)
    assert text.startswith(
        "gradient over depth at the first step, norm=post: vanishing in 3 of 3 runs: norm over the"
        " first block's parameters 0.00054 times that over the last's ["
    )
    shallow = runs_of({"norm": "post"}, 0.9, 0.12)
    for run in shallow:
        run.record.depth = run.record.config["depth"] = 6
    assert sum("norm=post depth=12: vanishing" in text for text in said([*study(), *shallow])) == 1


def test_a_run_that_logged_no_gradient_has_no_flow() -> None:
    runs = study()
    for run in runs:
        run.record.gradients.parameters_first = []
        run.record.loss.excess = None
    assert said(runs) == []


@pytest.mark.parametrize("in_full", [False, True])
def test_the_terminal_has_the_first_of_them_and_all_if_asked(in_full: bool) -> None:
    analysis = analyse(study())
    lines = [
        line.text for part in sections(analysis, False, in_full=in_full) for line in part.lines
    ]
    start = lines[lines.index("how they start:") + 1 :]
    assert start[0].startswith("first loss is high")
    assert ("and 3 more, with --all" in start) is not in_full
    assert any("norm=pre: even" in line for line in start) is in_full


def test_json_and_page_have_them_all() -> None:
    runs = study()
    analysis = analyse(runs)
    content = json.loads(as_json(build(runs), analysis))["analysis"]["sentences"]
    facts = [one for one in content if one["kind"] == "start"]
    assert {one["about"] for one in facts} == {FirstLosses.__name__, GradientFlow.__name__}
    assert facts[1]["fact"]["flow"] == "vanishing"
    (start,) = [one for one in answers(statements(analysis)) if one.kind == "start"]
    assert len(start.claims) == len(facts) == 6


def test_one_arm_and_one_run_have_their_start_told_everywhere() -> None:
    for runs, number in ((study()[:3], "3 runs"), (study()[:1], "1 run")):
        analysis, table = analyse(runs), build(runs)
        (part,) = sections(analysis, False)
        texts = [line.text for line in part.lines]
        assert texts[0] == "how they start:"
        assert texts[1].startswith("first loss is as it should be, ln V +0.12")
        assert f"nats, in {number}: logits of standard deviation 0.5" in texts[1]
        assert texts[2].startswith("gradient over depth at the first step, norm=pre: even in")
        (column,) = content(table, table, analysis, "ablate report").answers
        assert [claim for claim, _ in column.claims] == [
            statement.sentence.claim for statement in statements(analysis)
        ]
        assert json.loads(as_json(table, analysis))["analysis"]["sentences"][0]["text"] == texts[1]


def test_of_one_arm_nothing_is_said_of_differences() -> None:
    texts = [line.text for part in sections(analyse(study()[:3]), False) for line in part.lines]
    assert not any("against" in text or "mattered" in text for text in texts)
