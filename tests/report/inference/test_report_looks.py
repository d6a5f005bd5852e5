"""Planned looks: which arms go on, that no later report undoes a verdict, how often one errs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from ablate.config.catalogue import Catalogue
from ablate.judge.looks import LEVELS, LOOKS, going_on, next_look, open_arms, standing
from ablate.record.look_note import LookNote
from ablate.report.inference import arms, compared
from ablate.report.inference.analysis import analyse
from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.look_again import look_again
from ablate.report.runs.collect import Run
from ablate.report.words.statements import statements
from tests.report.conftest import make_run

MARGIN = 0.02
STUDY = Path("scout")
Loss = Callable[[str, int], float]
"""Validation loss by position scheme and seed."""


def arm_of(pos: str) -> str:
    return make_run({"pos": pos}).arm


def pos_of(arm: str) -> str:
    return arm.removeprefix("pos=").partition("-")[0]


def planned(
    schemes: Sequence[str],
    looks: Sequence[int] = LOOKS,
    levels: Sequence[float] = LEVELS,
) -> LookNote:
    names = tuple(map(arm_of, schemes))
    return LookNote(tuple(range(looks[-1])), tuple(looks), tuple(levels), names, "val_loss", MARGIN)


def runs_of(loss: Loss, seeds: Mapping[str, Sequence[int]], **parts: object) -> list[Run]:
    return [
        make_run({"pos": pos}, seed=seed, loss__validation=loss(pos, seed), **parts)
        for pos, own in seeds.items()
        for seed in own
    ]


@dataclass(frozen=True)
class Decided:
    """A study that was run until decided: its plan with all looks, and the runs that it took."""

    plan: LookNote
    runs: list[Run]

    @property
    def verdicts(self) -> dict[str, str]:
        """Position scheme → verdict, of those that were decided."""
        return {pos_of(arm): word for look in self.plan.decided for arm, word in look.items()}

    def contrast(self, pos: str, runs: Sequence[Run] | None = None) -> Contrast:
        """What a report says of it now."""
        analysis = analyse(runs or self.runs, plans={STUDY: self.plan})
        return next(one for one in analysis.contrasts if one.name == f"pos={pos}")


def until_decided(plan: LookNote, loss: Loss) -> Decided:
    """Run what each look asks for, and look, as the sweep does."""
    seeds: dict[str, Sequence[int]] = {}
    while look := next_look(plan):
        for arm in going_on(plan):
            seeds[pos_of(arm)] = look.seeds
        runs = runs_of(loss, seeds)
        plan = look_again(runs, plan, STUDY)
    return Decided(plan, runs)


def normal(
    generator: np.random.Generator, true: Mapping[str, float], noise: float, heavy: bool = False
) -> Loss:
    """Losses around `true` with the luck of the seed, which all share, and some of their own."""
    shared = generator.normal(0, 0.1, LOOKS[-1])
    draws = {
        pos: generator.standard_t(3, LOOKS[-1]) if heavy else generator.normal(size=LOOKS[-1])
        for pos in true
    }
    return lambda pos, seed: float(2 + true[pos] + shared[seed] + noise * draws[pos][seed])


FOUR = ("rope", "none", "learned", "sinusoidal", "alibi")
SHAPES: dict[str, tuple[dict[str, float], float, bool]] = {
    "one at the margin": ({"rope": 0.0, "none": MARGIN}, 0.01, False),
    "four at the margin": (dict.fromkeys(FOUR, MARGIN) | {"rope": 0.0}, 0.01, False),
    "four at the margin, heavy": (dict.fromkeys(FOUR, MARGIN) | {"rope": 0.0}, 0.01, True),
    "two at it, two far": (
        {"rope": 0.0, "none": 0.2, "learned": -0.2, "sinusoidal": MARGIN, "alibi": -MARGIN},
        0.006,
        False,
    ),
    "one at it, three the same": (dict.fromkeys(FOUR, 0.0) | {"none": MARGIN}, 0.004, False),
}


def is_false(word: str, true: float) -> bool:
    """Whether a verdict on a true difference is wrong; at the margin every one is."""
    if word == "equivalent":
        return abs(true) >= MARGIN
    return abs(true) <= MARGIN or (word == "worse") != (true > 0)


def wrong(shape: str, studies: int, seed: int) -> int:
    """How many of some studies have a false verdict, in the end and for a later report."""
    true, noise, heavy = SHAPES[shape]
    generator = np.random.default_rng(seed)
    count = 0
    for _ in range(studies):
        done = until_decided(planned(list(true)), normal(generator, true, noise, heavy))
        count += any(is_false(word, true[pos]) for pos, word in done.verdicts.items())
    return count


@pytest.fixture(autouse=True)
def _one_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the settings once and not for each of a thousand studies."""
    catalogue = Catalogue()
    monkeypatch.setattr(arms, "Catalogue", lambda: catalogue)


def most(studies: int) -> float:
    """5 % of the studies and what chance adds."""
    return 0.05 * studies + 2.5 * (0.05 * 0.95 * studies) ** 0.5


def test_at_most_one_of_twenty_studies_is_decided_wrongly() -> None:
    assert wrong("one at the margin", 24, 1) + wrong("four at the margin", 8, 2) <= most(32)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_of_every_shape_at_most_one_of_twenty_is_decided_wrongly(shape: str) -> None:
    assert wrong(shape, 1000, 3) <= most(1000)


NOISE = [0.003, -0.004, 0.001, 0.002, -0.002, 0.004, -0.001, 0.0, 0.0015, -0.003]
TRUE = {"rope": 0.0, "none": 0.5, "alibi": 0.01, "learned": 0.02}


def small(pos: str, seed: int) -> float:
    """Far apart, the same to within the margin, and on the margin; each with noise of its own."""
    noise = NOISE[(seed + 3 * list(TRUE).index(pos)) % 10]
    return 2 + TRUE[pos] + seed / 10 + (noise if pos == "learned" else noise / 3)


@pytest.fixture
def done() -> Decided:
    return until_decided(planned(["rope", "none", "alibi", "learned"]), small)


def test_seeds_go_to_open_arms_and_their_baseline_alone(done: Decided) -> None:
    seeds = {pos: sum(run.arm == arm_of(pos) for run in done.runs) for pos in TRUE}
    assert seeds == {"rope": 10, "none": 3, "alibi": 5, "learned": 10}
    assert done.verdicts == {"none": "worse", "alibi": "equivalent"}
    assert [pos_of(arm) for arm in open_arms(done.plan)] == ["learned"]
    assert next_look(done.plan) is None


def test_a_later_report_judges_each_arm_at_its_look(done: Decided) -> None:
    for pos, number, seeds in (("none", 1, 3), ("alibi", 2, 5), ("learned", 3, 10)):
        one = done.contrast(pos)
        assert one.look is not None
        assert (one.look.number, one.difference.n) == (number, seeds)
        assert one.verdict == done.verdicts.get(pos, "undecided")
        assert f"{seeds} seeds paired, at look {number} of 3" in said(done)
    assert one.to_decide is None
    assert "still open after the last planned look" in said(done)


def test_levels_are_those_of_the_looks(done: Decided) -> None:
    """Of three arms the first is decided at a third of 0.005, the next at half of 0.015."""
    first, second = done.contrast("none"), done.contrast("alibi")
    assert first.level == pytest.approx(0.005 / 3)
    assert second.p_equivalence_holm is not None
    assert second.p_equivalence_holm <= 0.05
    plain = next(one for one in analyse(done.runs).contrasts if one.name == "pos=none")
    assert plain.level == pytest.approx(0.05 / 3)


def test_seeds_outside_of_the_plan_change_nothing_and_are_told(done: Decided) -> None:
    more = runs_of(lambda pos, seed: 9.0, {"none": range(3, 8), "learned": [77]})
    assert done.contrast("none", [*done.runs, *more]) == done.contrast("none")
    plain, beside = (
        analyse(runs, plans={STUDY: done.plan}) for runs in (done.runs, [*done.runs, *more])
    )
    assert beside.arms == plain.arms
    text = said(done, [*done.runs, *more])
    assert "6 runs are of seeds outside of the plan of looks, and in no verdict" in text
    assert "outside of the plan" not in said(done)


def test_runs_that_were_changed_since_a_look_are_told(done: Decided) -> None:
    changed = runs_of(small, {"rope": range(10), "alibi": range(5), "learned": range(10)})
    changed += runs_of(lambda pos, seed: small("rope", seed) + 0.001, {"none": range(3)})
    assert "pos=none (worse at look 1, now " in said(done, changed)
    assert "have changed" not in said(done)


def test_the_next_look_is_under_way_and_not_outside(done: Decided) -> None:
    taken = replace(done.plan, decided=done.plan.decided[:1])
    some = [run for run in done.runs if run.record.seed in range(4)]
    now = Decided(taken, some)
    assert standing(taken, arm_of("learned")) == now.contrast("learned").look
    assert now.contrast("learned").difference.n == 3
    assert "outside of the plan" not in said(now)
    assert "1 taken; look 1 decided pos=none; still open: pos=alibi, pos=learned" in said(now)
    assert "the next planned look is at 5 seeds" in said(now)


def test_another_baseline_has_the_seeds_of_the_look_that_came_first(done: Decided) -> None:
    analysis = analyse(done.runs, plans={STUDY: done.plan}, baseline="pos=alibi")
    ends = {one.name: one.look.number for one in analysis.contrasts if one.look}
    assert ends == {"pos=rope": 2, "pos=none": 1, "pos=learned": 2}


def test_main_effects_are_of_the_seeds_that_all_arms_have() -> None:
    """So that what stopped early is not compared on seeds that only the rest has."""
    factors = [{"pos": pos, "norm": norm} for pos in ("rope", "none") for norm in ("pre", "post")]
    runs = [
        make_run(arm, seed=seed, loss__validation=2 + 0.5 * (arm["pos"] == "none") + NOISE[seed])
        for arm in factors
        for seed in range(10 if arm == factors[0] else 3)
    ]
    names = tuple(dict.fromkeys(run.arm for run in runs))
    plan = replace(planned(["rope"]), arms=names)
    plan = look_again([run for run in runs if run.record.seed < 3], plan, STUDY)
    plan = replace(plan, decided=(*plan.decided, {}))
    analysis = analyse(runs, plans={STUDY: plan})
    assert {one.difference.n for one in analysis.effects} == {3}


def test_runs_that_diverge_are_decided_where_a_count_can_be() -> None:
    def diverges(pos: str, seed: int) -> float:
        return small("rope", seed) if pos == "rope" else small("alibi", seed)

    plan = planned(["rope", "none", "alibi"])
    while look := next_look(plan):
        wanted = {pos_of(arm): look.seeds for arm in going_on(plan)}
        runs = runs_of(diverges, {pos: own for pos, own in wanted.items() if pos != "none"})
        runs += runs_of(diverges, {"none": wanted.get("none", ())}, status="diverged")
        plan = look_again(runs, plan, STUDY)
    assert dict(plan.decided[2]) == {arm_of("none"): "diverges more"}


def test_a_failure_at_a_later_look_undoes_no_earlier_verdict(done: Decided) -> None:
    """What differences leave to failures is counted at the look that each was judged at."""
    late = [
        replace(run, label="stuck") if run.arm == arm_of("learned") and run.record.seed > 6 else run
        for run in done.runs
    ]
    assert done.contrast("none", late) == done.contrast("none")
    assert done.contrast("learned", late).level != done.contrast("learned").level


def test_all_runs_are_gone_through_once_a_look_and_not_once_an_arm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a study of 10,000 runs that would be 20 million runs."""
    calls: list[int] = []

    def counted(outcomes: Sequence[object]) -> float:
        calls.append(len(outcomes))
        return 1.0

    monkeypatch.setattr(compared, "_beside_failures", counted)
    analyse([make_run({"lr": k / 1000}, seed=seed) for k in range(1, 21) for seed in (0, 1)])
    assert calls == [40, 40]


def said(done: Decided, runs: Sequence[Run] | None = None) -> str:
    analysis = analyse(runs or done.runs, plans={STUDY: done.plan})
    return "\n".join(statement.text for statement in statements(analysis))
