"""Learning rates chosen on other seeds, their sensitivity, the ledger, flags and the diagnosis."""

import math
from typing import Any

import numpy as np
import pytest

from ablate.errors import UserError
from ablate.judge.intervals import interval
from ablate.report.inference.analysis import Analysis, analyse
from ablate.report.inference.sensitivity import sensitivity
from ablate.report.runs.collect import Run
from ablate.report.words.cautions import caution, lr_choice
from ablate.report.words.statements import statements
from tests.report.conftest import make_run

RATES = (0.001, 0.003, 0.01)


def grid(losses: dict[str, dict[float, list[float]]]) -> list[Run]:
    """A run for each position scheme, learning rate and seed."""
    return [
        make_run({"pos": pos, "lr": rate}, seed=seed, loss__validation=loss)
        for pos, by_rate in losses.items()
        for rate, by_seed in by_rate.items()
        for seed, loss in enumerate(by_seed)
    ]


def cautions(analysis: Analysis) -> str:
    return "\n".join(one.text for one in statements(analysis) if one.kind == "caution")


CHOSEN = {
    # 0.003 is best on seed 0, 0.001 on the seeds that are reported.
    "rope": {0.001: [2.5, 2.0, 2.01, 2.02], 0.003: [2.1, 2.2, 2.21, 2.22]},
    "alibi": {0.001: [2.3, 2.5, 2.51, 2.52], 0.003: [2.4, 2.6, 2.61, 2.62]},
}


def test_a_learning_rate_is_chosen_on_other_seeds_than_are_reported() -> None:
    analysis = analyse(grid(CHOSEN), choose_key="lr", selection_seeds=["0"])
    assert {c.arm: (c.value, c.seeds) for c in analysis.choices} == {
        "pos=alibi": ("0.001", (0,)),
        "pos=rope": ("0.003", (0,)),
    }
    means = {arm.label: arm.mean.mean for arm in analysis.arms}
    assert means == {"pos=alibi": pytest.approx(2.51), "pos=rope": pytest.approx(2.21)}
    assert all(0 not in arm.seeds for arm in analysis.arms)
    assert analysis.contrasts[0].seeds == (1, 2, 3)
    assert "lr was chosen for each arm by its validation loss on seed 0" in cautions(analysis)
    (rope,) = [row for row in analysis.ledger if row.arm == "pos=rope"]
    assert lr_choice(rope) == "chosen among 0.001, 0.003 on seed 0, which is not reported"


def test_arms_that_are_not_at_their_best_learning_rate_are_said_not_to_be() -> None:
    assert "compared at equal lr, not each at its best" in cautions(analyse(grid(CHOSEN)))


def test_a_diverged_run_is_not_chosen() -> None:
    runs = grid(CHOSEN)
    runs[4].record.status = "diverged"  # rope, 0.003, seed 0
    analysis = analyse(runs, choose_key="lr", selection_seeds=["0"])
    (rope,) = [choice for choice in analysis.choices if choice.arm == "pos=rope"]
    assert (rope.value, rope.losses) == ("0.001", (2.5, None))


@pytest.mark.parametrize(
    ("key", "seeds", "words"),
    [
        ("lr", ["0", "1", "2", "3"], "leaves no seed to report; there are 0, 1, 2, 3"),
        ("lr", ["9"], "--selection-seeds 9: no run has this seed; there are 0, 1, 2, 3"),
        ("depth", [], "--choose depth: does not differ between these runs; what does: pos, lr"),
    ],
)
def test_a_choice_that_cannot_be_made_is_a_mistake(key: str, seeds: list[str], words: str) -> None:
    with pytest.raises(UserError, match=words):
        analyse(grid(CHOSEN), choose_key=key, selection_seeds=seeds)


def test_one_seed_cannot_choose_and_report() -> None:
    one = {pos: {rate: [2.0] for rate in RATES} for pos in ("rope", "alibi")}
    with pytest.raises(UserError, match="needs a seed to choose on and another to report"):
        analyse(grid(one), choose_key="lr")


def test_what_is_reported_is_not_biased_by_the_choice() -> None:
    generator = np.random.default_rng(5)
    reported, picked = [], []
    for _ in range(150):
        noise = generator.normal(2.0, 0.1, (len(RATES), 3))
        losses = {"rope": dict(zip(RATES, noise.tolist(), strict=True))}
        runs = [*grid(losses), *grid({"alibi": {0.001: [3.0, 3.0, 3.0]}})]
        (rope,) = [a for a in analyse(runs, choose_key="lr").arms if a.label == "pos=rope"]
        reported.append(rope.mean.mean)
        picked.append(min(noise.mean(axis=1)))
    error = 0.1 / math.sqrt(2 * 150)
    assert abs(np.mean(reported) - 2.0) < 3.5 * error
    assert np.mean(picked) < 2.0 - 3.5 * error  # what to choose on the reported numbers would do


def test_the_sensitivity_is_the_mean_over_the_grid_less_the_best() -> None:
    assert sensitivity([2.5, 2.0, 9.0], 5.5) == pytest.approx((2.5 + 2.0 + 5.5) / 3 - 2.0)
    losses = {"rope": {0.001: [2.5, 2.6], 0.003: [2.0, 2.1], 0.01: [2.2, 2.4]}}
    losses["alibi"] = {0.001: [2.5, 2.6], 0.003: [2.0, 2.1]}
    runs = grid(losses)
    runs[5].record.status = "diverged"  # rope, 0.01, seed 1
    (found,) = analyse(runs).sensitivities
    uniform = math.log(256)
    by_seed = [sensitivity([2.5, 2.0, 2.2], uniform), sensitivity([2.6, 2.1, None], uniform)]
    assert (found.arm, found.rates, found.even) == ("pos=rope", RATES, True)
    assert found.diverged == (0, 0, 1)
    assert found.losses == pytest.approx((2.55, 2.05, (2.2 + uniform) / 2))
    assert found.value == interval(by_seed)


def test_the_ledger_has_what_each_arm_was_given() -> None:
    runs = [
        make_run({"pos": pos, "warmup": "linear", "warmup.steps": 50}, seed=seed)
        for pos in ("rope", "none")
        for seed in (0, 1)
    ]
    row = analyse(runs).ledger[0]
    assert row.arm == "pos=none"
    told = ("parameters", "tokens", "steps", "lr", "warmup", "corpus", "threads")
    assert [row.values[field] for field in told] == [
        ("1234567",),
        ("76800",),
        ("150",),
        ("0.001",),
        ("linear steps=50",),
        ("ab12",),
        ("1",),
    ]
    assert (row.seconds, row.seeds, lr_choice(row)) == (42.0, (0, 1), "the same for all")
    assert analyse(runs).flags == ()


@pytest.mark.parametrize(
    ("parts", "words", "unfair"),
    [
        (
            {"corpus__sha256": "cd34"},
            "different text (corpus sha256): cd34 (pos=none); ab12 (pos=rope)",
            True,
        ),
        ({"environment__git": "abc+"}, "different version of ablate: ", True),
        ({"environment__torch": "2.14"}, "different version of torch: ", True),
        ({"steps": 300}, "different steps: 300 (pos=none); 150 (pos=rope)", True),
        ({"batch_size": 16}, "different batch size: ", True),
        ({"tokens": 99_999}, "different tokens seen: ", True),
        ({"environment__threads": 2}, "different threads: ", False),
        ({"parameters": 1_400_000}, "pos=none has 1,400,000 parameters, 13 % more", False),
    ],
)
def test_what_differs_beyond_the_factor_is_flagged(
    parts: dict[str, Any], words: str, unfair: bool
) -> None:
    runs = [make_run({"pos": "rope"}, environment__git="abc", environment__ablate="0.1")]
    rest: dict[str, Any] = {"environment__git": "abc", "environment__ablate": "0.1"}
    runs.append(make_run({"pos": "none"}, **(rest | parts)))
    analysis = analyse(runs)
    (flag,) = analysis.flags
    assert words in caution(flag)
    assert flag.unfair is unfair
    assert caution(flag) in cautions(analysis)


def test_a_factor_itself_is_no_flag() -> None:
    runs = [make_run({"steps": steps}) for steps in (150, 300)]
    assert analyse(runs).flags == ()


def test_a_seed_that_was_run_twice_is_averaged_and_flagged() -> None:
    runs = [make_run({"pos": pos}, seed=seed) for pos in ("rope", "none") for seed in (0, 1)]
    runs.append(make_run({"pos": "none"}, study="again", loss__validation=3.5))
    analysis = analyse(runs)
    assert analysis.contrasts[0].difference.mean == pytest.approx(0.25)  # of 0.5 and 0
    assert "1 runs repeat the arm and seed of another" in cautions(analysis)


def test_the_diagnosis_is_counted_by_arm() -> None:
    words = {"name": "stuck", "evidence": "label stuck", "cause": "lr", "advice": "a smaller lr"}
    found = words | {"remedies": []}
    runs = [make_run({"norm": "post"}, seed=seed, diagnosis=[found]) for seed in range(3)]
    runs.append(make_run({"norm": "post"}, seed=3, diagnosis=[]))
    runs += [make_run({"norm": "pre"}, seed=seed) for seed in range(4)]
    (one,) = analyse(runs).findings
    assert (one.arm, one.name, one.count, one.of) == ("norm=post", "stuck", 3, 4)
    assert (one.evidence, one.advice) == ("label stuck", "a smaller lr")


def test_what_a_factor_or_another_task_changes_is_no_unfairness() -> None:
    longer = [
        make_run({"steps": steps}, seed=seed, tokens=512 * steps)
        for steps in (150, 300)
        for seed in range(2)
    ]
    assert analyse(longer).flags == ()
    tasks = [
        make_run({"task": task, "pos": pos}, seed=seed, tokens=tokens, corpus__sha256=task)
        for task, tokens in (("lm", 512), ("copy", 256))
        for pos in ("rope", "none")
        for seed in range(2)
    ]
    assert analyse(tasks).flags == ()
    tasks[-1].record.corpus.sha256 = "another"
    assert [flag.field for flag in analyse(tasks).flags] == ["corpus"]


def test_a_choice_at_the_end_of_the_grid_is_said_to_be() -> None:
    at_end = analyse(grid(CHOSEN), choose_key="lr", selection_seeds=["0"])
    assert "the lr chosen is the last of those tried, and one beyond" in cautions(at_end)
    rates = {0.0003: [2.4] * 4, 0.001: [2.1] * 4, 0.003: [2.2] * 4}
    inside = grid({"rope": rates, "alibi": rates})
    assert "last of those tried" not in cautions(analyse(inside, choose_key="lr"))
    for run in inside:  # names have no end
        run.record.config["lr"] = {0.0003: "b", 0.001: "a", 0.003: "c"}[run.record.config["lr"]]
    assert "last of those tried" not in cautions(analyse(inside, choose_key="lr"))
