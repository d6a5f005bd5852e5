"""All comparisons of a study: effects and arms, which of them lead, failures, and what is asked."""

from collections.abc import Sequence
from dataclasses import dataclass

from ablate.errors import UserError
from ablate.report.inference.arms import Group, grouped
from ablate.report.inference.contrasts import Contrast, contrast, divergences
from ablate.report.inference.correction import least_p
from ablate.report.inference.effects import reference_levels
from ablate.report.inference.failure_facts import StudyFailures
from ablate.report.inference.outcomes import Outcome, at_look, earliest
from ablate.report.inference.pairs import Conditions, Pair
from ablate.report.inference.simple_effects import Effect, Effects, effects, judged, measured
from ablate.report.inference.verdicts import Judge

BESIDE_FAILURES = 2 / 3
"""Of the level of 5 %, what differences have in a study with failures, which may be told too: the
gate of failures (`failing_arms.gate`) is wrong in up to 1.7 % of studies."""


@dataclass(frozen=True)
class Comparisons:
    """Contrasts by kind. `mixed` factors never change alone; `arms_lead` tells what is told first.

    `within` are the effects of other factors within the levels that were asked for.
    """

    arms: tuple[Contrast, ...] = ()
    main: tuple[Contrast, ...] = ()
    crossed: tuple[Contrast, ...] = ()
    simple: tuple[Contrast, ...] = ()
    within: tuple[Contrast, ...] = ()
    failures: tuple[StudyFailures, ...] = ()
    mixed: tuple[str, ...] = ()
    arms_lead: bool = True

    @property
    def leading(self) -> tuple[Contrast, ...]:
        """What is told: main effects of factors that change alone, or arms."""
        if self.arms_lead:
            return self.arms
        return tuple(effect for effect in self.main if effect.factors[0] not in self.mixed)


def compared(
    outcomes: Sequence[Outcome],
    arm_pairs: Sequence[Pair],
    factors: Sequence[str],
    base: Group | None,
    judge: Judge,
    *,
    by_groups: bool,
    within: Conditions,
) -> Comparisons:
    """Compare arms and levels; where groups were asked for they lead (`by_groups`).

    What leads is a family of its own; the rest shows nothing where that shows nothing at all, so
    that a page with both is wrong no more often. Where arms stopped at planned looks they lead, and
    the rest is of the seeds that all of them have. Raises UserError for `within` that no run has.
    """
    failed = any(map(_failed, outcomes))
    look = earliest(outcomes)
    by_groups = by_groups or look is not None
    looks = {pair.look for pair in arm_pairs}
    left = {one: _beside_failures(at_look(outcomes, one)) for one in looks}
    arms = judged(
        [measured(pair, (), judge.margin) for pair in arm_pairs],
        shares=[left[pair.look] for pair in arm_pairs],
    )
    outcomes = at_look(outcomes, look)
    share = _beside_failures(outcomes)
    reference = reference_levels(outcomes, factors, base)
    first = least_p([arm.corrected for arm in arms if arm.corrected]) if by_groups else 0.0
    every = effects(outcomes, factors, reference, judge.margin, at_least=first, share=share)
    mixed = _mixed(every.main)
    alone = {effect.pair.factors for effect in every.main} - {(factor,) for factor in mixed}
    arms_lead = by_groups or len(alone) < 2
    if not arms_lead:
        arms = judged(arms, every.least_p, [share] * len(arms))
    failures = _failures(outcomes, factors, arm_pairs, every) if failed else []
    asked = _asked(outcomes, factors, reference, judge, within)
    diverging = divergences(failures)

    def verdicts(family: Sequence[Effect]) -> tuple[Contrast, ...]:
        return tuple(contrast(effect, judge, diverging) for effect in family)

    return Comparisons(
        arms=verdicts(arms),
        main=verdicts(every.main),
        crossed=verdicts(every.crossed),
        simple=verdicts(every.simple),
        within=verdicts([*(one for one in asked.main if not one.depends), *asked.simple]),
        failures=tuple(failures),
        mixed=mixed,
        arms_lead=arms_lead,
    )


def _failed(outcome: Outcome) -> bool:
    return outcome.stuck or outcome.state == "diverged"


def _beside_failures(outcomes: Sequence[Outcome]) -> float:
    """The share of the level that differences have among these runs."""
    return BESIDE_FAILURES if any(map(_failed, outcomes)) else 1.0


def _mixed(main: Sequence[Effect]) -> tuple[str, ...]:
    """The factors that no two runs differ in alone."""
    shared: dict[str, bool] = {}
    for effect in main:
        factor = effect.pair.factors[0]
        shared[factor] = shared.get(factor, False) or effect.match.shared > 0
    return tuple(factor for factor, is_shared in shared.items() if not is_shared)


def _failures(
    outcomes: Sequence[Outcome],
    factors: Sequence[str],
    arm_pairs: Sequence[Pair],
    every: Effects,
) -> list[StudyFailures]:
    # numpy takes as long to import as the rest of a report, and most studies have no failure.
    from ablate.report.inference.endings import study_failures

    main, crossed = ([one.pair for one in family] for family in (every.main, every.crossed))
    return study_failures(grouped(outcomes, factors), arm_pairs, main, crossed)


def _asked(
    outcomes: Sequence[Outcome],
    factors: Sequence[str],
    reference: dict[str, str],
    judge: Judge,
    within: Conditions,
) -> Effects:
    if not within:
        return Effects()
    for key, level in within:
        levels = list(dict.fromkeys(one.levels[key] for one in outcomes if key in one.levels))
        if level not in levels:
            there = f"; {key} is {', '.join(levels)}" if levels else f", which differ in {factors}"
            raise UserError(f"--within {key}={level}: no run has it{there}")
    return effects(outcomes, factors, reference, judge.margin, within=within)
