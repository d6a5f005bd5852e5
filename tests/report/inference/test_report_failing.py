"""What is told of failures that settings make together, and the counts of every cell."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

from ablate.report.inference.analysis import Analysis, analyse
from ablate.report.inference.failing import FailingTogether
from ablate.report.runs.collect import Run
from ablate.report.words.statements import of_failures, statements
from tests.report.conftest import make_run

Arm = dict[str, Any]
GRID = {"norm": ["pre", "post"], "warmup": ["none", "linear"], "depth": [6, 24]}
Fails = Callable[[Arm, int], bool]


def study(fails: Fails, seeds: int = 6, ending: str = "diverged") -> list[Run]:
    arms = [dict(zip(GRID, values, strict=True)) for values in product(*GRID.values())]
    return [ended(arm, seed, fails(arm, seed), ending) for arm in arms for seed in range(seeds)]


def ended(arm: Arm, seed: int, failed: bool, ending: str) -> Run:
    parts: dict[str, Any] = {"loss__validation": 2.5 + 0.01 * seed + 0.001 * (seed * seed % 5)}
    if failed and ending == "diverged":
        parts |= {"status": "diverged", "loss__validation": None}
    run = make_run(arm, seed=seed, **parts)
    return replace(run, label=ending) if failed else run


def post_without_warmup(arm: Arm, seed: int) -> bool:
    return arm["norm"] == "post" and arm["warmup"] == "none"


def together(analysis: Analysis) -> FailingTogether:
    (point,) = [one for one in analysis.points if isinstance(one.fact, FailingTogether)]
    assert isinstance(point.fact, FailingTogether)
    return point.fact


def first_sentence(analysis: Analysis, ending: Any) -> str:
    return of_failures(statements(analysis), ending)[0].text


def test_where_alone_runs_fail_is_told_with_the_counts_of_the_table() -> None:
    analysis = analyse(study(post_without_warmup))
    fact = together(analysis)
    assert fact.only == (("norm", ("post",)), ("warmup", ("none",)))
    assert (fact.failed, fact.of, fact.elsewhere) == (12, 12, 36)
    assert first_sentence(analysis, "diverged").startswith(
        "runs diverged only where norm=post and warmup=none come together:"
        " 12 of 12 runs there, 0 of 36 elsewhere (norm × warmup: permutation over seeds, p ="
    )


def test_only_is_not_said_where_a_run_failed_elsewhere() -> None:
    analysis = analyse(
        study(lambda arm, seed: post_without_warmup(arm, seed) or (seed == 0 and arm["depth"] == 6))
    )
    assert together(analysis).only == ()
    assert first_sentence(analysis, "diverged").startswith(
        "how often norm=post diverged against norm=pre depends on warmup:"
        " with warmup=linear, 1 of 12 against 1 of 12;"
        " with warmup=none, 12 of 12 against 1 of 12 (permutation over seeds, p ="
    )


def test_a_run_that_has_not_ended_counts_nowhere() -> None:
    runs = study(post_without_warmup, ending="stuck")
    runs[0].record.status = "interrupted"
    analysis = analyse(runs)
    (stuck,) = analysis.failures
    cells = {tuple(dict(cell.levels).values()): (cell.failed, cell.of) for cell in stuck.cells}
    assert cells["pre", "none", "6"] == (0, 5)
    assert cells["post", "none", "24"] == (6, 6)
    assert together(analysis).elsewhere == 35


def test_the_cells_that_fail_more_are_named_and_no_others() -> None:
    (diverged,) = analyse(study(post_without_warmup)).failures
    named = {tuple(dict(cell.levels).values()) for cell in diverged.cells if cell.named}
    assert named == {("post", "none", "6"), ("post", "none", "24")}


def test_without_an_interaction_nothing_is_said_to_act_together() -> None:
    analysis = analyse(study(lambda arm, seed: arm["norm"] == "post"))
    assert not any(isinstance(one.fact, FailingTogether) for one in analysis.points)
    (diverged,) = analysis.failures
    assert sum(cell.named for cell in diverged.cells) == 4


def test_where_every_run_failed_no_side_is_said_to_lack_failures() -> None:
    said = [one.text for one in statements(analyse(study(lambda arm, seed: True)))]
    assert (
        "norm=post against norm=pre: 24 of 24 runs diverged against 24 of 24; no pair finished"
        in (said)
    )
    assert not any("too few" in text or "so few" in text for text in said)
    nearly = study(
        lambda arm, seed: seed > 0 or arm != {"norm": "pre", "warmup": "none", "depth": 6}
    )
    texts = " ".join(one.text for one in statements(analyse(nearly)))
    assert "so few runs that did not fail cannot decide a count" in texts


def test_of_a_setting_without_effect_no_interaction_is_told() -> None:
    """It was "higher by 0.000 nats [0.000, 0.000] with norm=post", which is no statement."""
    grid = product(("pre", "post"), (True, False), range(5))
    runs = [
        make_run(
            {"pos": "sinusoidal", "norm": norm, "pos.scale_embedding": scaled},
            seed=seed,
            loss__validation=2.5 + 0.3 * (norm == "post") + 0.01 * seed + 0.002 * (seed * seed % 3),
        )
        for norm, scaled, seed in grid
    ]
    said = [one.text for one in statements(analyse(runs))]
    assert any("the setting had no effect here" in text for text in said)
    assert not any("×" in text for text in said)
