"""From runs to what can be said of them: arms, contrasts, effects, failures, points to tell."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from ablate.errors import UserError
from ablate.judge.thresholds import MARGIN
from ablate.report.inference import caveats
from ablate.report.inference.arms import (
    Arm,
    BaselineReason,
    against_baseline,
    baselines,
    choose_baseline,
    grouped,
)
from ablate.report.inference.beginnings import beginnings
from ablate.report.inference.choosing import ChosenValue, choose
from ablate.report.inference.compared import compared
from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.failure_facts import StudyFailures
from ablate.report.inference.findings import ArmFinding, findings
from ablate.report.inference.ledger import Flag, LedgerRow, SeedsDiffer, flags, ledger, repeats
from ablate.report.inference.length_facts import LengthFact, length_facts
from ablate.report.inference.looked import Plans, baselines_of, counted, looked, with_looks
from ablate.report.inference.outcomes import outcomes
from ablate.report.inference.points import Point, points
from ablate.report.inference.sensitivity import Sensitivity, sensitivities
from ablate.report.inference.verdicts import Judge
from ablate.report.runs.collect import Run
from ablate.report.runs.columns import BY_KEY, Column
from ablate.report.runs.settings import parse_where


@dataclass(frozen=True)
class Analysis:
    """What a set of runs says about one metric. Differences are in its unit.

    `effects` are main effects, `interactions` two-way ones, `simple` effects those of factors that
    interact: one family for Holm's correction. The `contrasts` with the baseline arm are another,
    as are the effects `within` levels that were asked for, and those of each kind of `failures`.
    What is told first decides whether anything is shown at all. `choices` are the
    learning rates (or other values) chosen per arm, on seeds that nothing else here is made of.
    `points` are what is to be told, in order; `words.statements` makes sentences of them.
    """

    metric: str
    meaning: str
    unit: str
    higher_is_better: bool
    margin: float
    factors: tuple[str, ...]
    arms: tuple[Arm, ...]
    baseline: str | None
    baseline_reason: BaselineReason
    contrasts: tuple[Contrast, ...]
    effects: tuple[Contrast, ...]
    interactions: tuple[Contrast, ...]
    simple: tuple[Contrast, ...]
    within: tuple[Contrast, ...]
    asked_within: str
    failures: tuple[StudyFailures, ...]
    sensitivities: tuple[Sensitivity, ...]
    choices: tuple[ChosenValue, ...]
    ledger: tuple[LedgerRow, ...]
    flags: tuple[Flag, ...]
    findings: tuple[ArmFinding, ...]
    points: tuple[Point, ...]
    lengths: tuple[LengthFact, ...]

    @property
    def judge(self) -> Judge:
        """How its values are judged."""
        return Judge(self.margin, self.higher_is_better, self.unit)


def analyse(
    runs: Sequence[Run],
    *,
    by: Sequence[str] = (),
    baseline: str | None = None,
    metric: str = "val_loss",
    margin: float = MARGIN,
    choose_key: str | None = None,
    selection_seeds: Sequence[str] = (),
    within: str | None = None,
    plans: Plans | None = None,
) -> Analysis:
    """Analyse the runs that have a record; damaged ones are left to the table.

    `by` are the keys that make a group, by default all that differ (of those given, one that does
    not differ makes none); `baseline` is a text such as "pos=rope,norm=pre", and so is `within`,
    levels within which it is asked what the other factors do. With `choose_key` (say "lr") its best
    value is chosen for each arm on the `selection_seeds`, and the rest is told of the other seeds
    alone. Of a study with one of the `plans`, each arm is judged at the planned look at which it
    stopped, and other seeds do not count. Raises UserError for a metric, key, seed, level or
    baseline that is not there.
    """
    column = judged_column(metric)
    plans = plans or {}
    every_outcome = with_looks(outcomes(runs, column), plans)
    everything = kept = counted(every_outcome)
    factors = every_factor = list(everything[0].levels) if everything else []
    choices: list[ChosenValue] = []
    if choose_key is not None and everything:
        kept, choices = choose(everything, factors, choose_key, selection_seeds)
        factors = [factor for factor in factors if factor != choose_key]
    keys = [key for key in by if key in factors] or factors
    groups = grouped(kept, keys)
    planned = baselines_of(plans)
    base, reason = choose_baseline(groups, _conditions("--baseline", baseline), planned)
    judge = Judge(margin, column.better == "higher", column.unit)
    families = baselines(groups, base, keys, planned) if base else []
    arm_pairs = [
        pair for own, family in families for pair in against_baseline(family, own, keys, factors)
    ]
    comparisons = compared(
        kept,
        arm_pairs,
        factors,
        base,
        judge,
        by_groups=bool(by),
        within=tuple((key, values[0]) for key, values in _conditions("--within", within).items()),
    )
    leading, crossed = comparisons.leading, () if by else comparisons.crossed
    sensitive = sensitivities(everything, every_factor)
    arms = [group.arm for group in groups]
    unequal = [
        *(
            flag
            for _, own in families
            for flag in flags(ledger(own, factors, choices), factors)
            if not (plans and isinstance(flag, SeedsDiffer))  # as it was planned
        ),
        *repeats(groups),
    ]
    labels = {g.outcomes[0].run.arm: g.arm.label for g in grouped(kept, factors)} if plans else {}
    cautions = [
        *looked(plans, every_outcome, labels, comparisons.arms, (metric, margin)),
        *caveats.of_differences(leading, sensitive),
        *(flag for flag in unequal if flag.unfair),
        *caveats.of_arms(arms, choices, comparisons.mixed, column.key),
        *caveats.of_sameness(groups, leading),
        *(flag for flag in unequal if not flag.unfair),
    ]
    return Analysis(
        metric=metric,
        meaning=column.meaning,
        unit=column.unit,
        higher_is_better=judge.higher,
        margin=margin,
        factors=tuple(factors),
        arms=tuple(arms),
        baseline=base.arm.label if base else None,
        baseline_reason=reason,
        contrasts=comparisons.arms,
        effects=comparisons.main,
        interactions=comparisons.crossed,
        simple=comparisons.simple,
        within=comparisons.within,
        asked_within=(within or "").replace(",", " "),
        failures=comparisons.failures,
        sensitivities=tuple(sensitive),
        choices=tuple(choices),
        ledger=tuple(ledger(groups, factors, choices)),
        flags=tuple(unequal),
        findings=tuple(findings(groups, factors)),
        points=(
            *points(leading, crossed, comparisons.simple, comparisons.failures, cautions),
            *(Point("start", fact) for fact in beginnings(groups)),
        ),
        lengths=tuple(length_facts(grouped(kept, factors))),
    )


def judged_column(metric: str) -> Column:
    """Return the column of a metric that can be better or worse. Raises UserError for another."""
    known = [column.key for column in BY_KEY.values() if column.better]
    if metric not in known:
        near = difflib.get_close_matches(metric, known, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UserError(f"--metric {metric}: no such metric; {hint}there are {', '.join(known)}")
    return BY_KEY[metric]


def _conditions(option: str, asked: str | None) -> dict[str, list[str]]:
    """Turn "pos=rope,norm=pre" into values by key."""
    if not asked:
        return {}
    parts = asked.split(",")
    for part in parts:
        if not all(part.partition("=")):
            raise UserError(f"{option} {part}: expected KEY=VALUE[,KEY=VALUE], as in pos=rope")
    return {key: values[:1] for key, values in parse_where(parts).items()}
