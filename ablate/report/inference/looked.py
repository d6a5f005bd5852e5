"""What planned looks mean for a report: which runs count, at which level, and what was decided."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ablate.judge.looks import PlannedLook, going_on, next_look, open_arms, standing
from ablate.record.look_note import LookNote
from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.outcomes import Outcome

Plans = Mapping[Path, LookNote]
"""A study's folder → its plan of looks."""


@dataclass(frozen=True)
class PlannedLooks:
    """The plan of a study and how far it is. Arms that are decided come with look and verdict."""

    study: str
    seeds: tuple[int, ...]
    levels: tuple[float, ...]
    taken: int
    decided: tuple[tuple[str, int, str], ...]
    still_open: tuple[str, ...]
    over: bool


@dataclass(frozen=True)
class OutsideThePlan:
    """Runs of seeds that no planned look of their arms has; they are in no verdict."""

    runs: int
    arms: tuple[str, ...]


@dataclass(frozen=True)
class DecidedOtherwise:
    """Arms whose runs no longer say what a look decided: (arm, look, then, now)."""

    arms: tuple[tuple[str, int, str, str], ...]


LookFact = PlannedLooks | OutsideThePlan | DecidedOtherwise


def with_looks(outcomes: Iterable[Outcome], plans: Plans) -> list[Outcome]:
    """Return outcomes with the look that the arm of each is judged at."""
    if not plans:
        return list(outcomes)
    return [replace(one, look=_look(one, plans)) for one in outcomes]


def _look(outcome: Outcome, plans: Plans) -> PlannedLook | None:
    plan = plans.get(outcome.run.directory.parent)
    return standing(plan, outcome.run.arm) if plan else None


def counted(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return the outcomes that count: of arms under a plan the seeds of the look they stand at."""
    return [one for one in outcomes if one.look is None or one.seed in one.look.seeds]


def baselines_of(plans: Plans) -> set[str]:
    """Return the arms that plans hold others against."""
    return {arm for plan in plans.values() for arm in plan.against.values()}


def looked(
    plans: Plans,
    outcomes: Sequence[Outcome],
    labels: Mapping[str, str],
    contrasts: Sequence[Contrast],
    asked: tuple[str, float],
) -> Iterator[LookFact]:
    """Yield how far each plan is, which runs are none of it, and what has changed since a look.

    `labels` are what arms are called here, by arm; `asked` are metric and margin of the report.
    """
    for folder, plan in plans.items():
        yield PlannedLooks(
            study=folder.absolute().name,
            seeds=plan.looks,
            levels=plan.levels,
            taken=len(plan.decided),
            decided=tuple(
                (labels[arm], number, verdict)
                for number, verdicts in enumerate(plan.decided, 1)
                for arm, verdict in verdicts.items()
                if arm in labels
            ),
            still_open=tuple(labels[arm] for arm in open_arms(plan) if arm in labels),
            over=next_look(plan) is None,
        )
    beyond = [one for one in outcomes if _is_outside(one, plans)]
    if beyond:
        arms = dict.fromkeys(labels.get(one.run.arm, one.run.arm) for one in beyond)
        yield OutsideThePlan(len(beyond), tuple(arms))
    now = {one.name: one for one in contrasts}
    changed = [
        (labels[arm], number, verdict, now[labels[arm]].verdict)
        for plan in plans.values()
        if (plan.metric, plan.margin) == asked
        for number, verdicts in enumerate(plan.decided, 1)
        for arm, verdict in verdicts.items()
        if arm in labels
        and (one := now.get(labels[arm])) is not None
        and one.against == labels.get(plan.against[arm])
        and one.verdict != verdict
    ]
    if changed:
        yield DecidedOtherwise(tuple(changed))


def _is_outside(outcome: Outcome, plans: Plans) -> bool:
    """Whether a run has a seed that neither a look taken nor the next one asks for."""
    plan = plans.get(outcome.run.directory.parent)
    if plan is None or outcome.look is None or outcome.seed in outcome.look.seeds:
        return False
    ahead = next_look(plan)
    is_next = ahead is not None and outcome.seed in ahead.seeds
    return not is_next or outcome.run.arm not in going_on(plan)
