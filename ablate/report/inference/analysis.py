"""From runs to what can be said of them: arms, contrasts, effects, counts, points to tell."""

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
from ablate.report.inference.choosing import ChosenValue, choose
from ablate.report.inference.contrasts import Contrast, judged
from ablate.report.inference.counts import Count, counted
from ablate.report.inference.effects import interactions, main_effects, reference_levels
from ablate.report.inference.findings import ArmFinding, findings
from ablate.report.inference.ledger import Flag, LedgerRow, flags, ledger, repeats
from ablate.report.inference.outcomes import outcomes
from ablate.report.inference.sensitivity import Sensitivity, sensitivities
from ablate.report.inference.story import Point, points, told_effects
from ablate.report.inference.verdicts import Judge
from ablate.report.runs.collect import Run
from ablate.report.runs.columns import BY_KEY, Column
from ablate.report.runs.settings import parse_where


@dataclass(frozen=True)
class Analysis:
    """What a set of runs says about one metric. Differences are in its unit.

    `effects` are main effects, `interactions` two-way ones, each a family of its own for Holm's
    correction, as are the `contrasts` with the baseline arm and the `counts`. `choices` are the
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
    counts: tuple[Count, ...]
    sensitivities: tuple[Sensitivity, ...]
    choices: tuple[ChosenValue, ...]
    ledger: tuple[LedgerRow, ...]
    flags: tuple[Flag, ...]
    findings: tuple[ArmFinding, ...]
    points: tuple[Point, ...]

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
) -> Analysis:
    """Analyse the runs that have a record; damaged ones are left to the table.

    `by` are the keys that make a group, by default all that differ (of those given, one that does
    not differ makes none); `baseline` is a text such as
    "pos=rope,norm=pre". With `choose_key` (say "lr") its best value is chosen for each arm on the
    `selection_seeds`, and the rest is told of the other seeds alone. Raises UserError for a metric,
    key, seed or baseline that is not there.
    """
    column = judged_column(metric)
    everything = kept = outcomes(runs, column)
    factors = every_factor = list(everything[0].levels) if everything else []
    choices: list[ChosenValue] = []
    if choose_key is not None and everything:
        kept, choices = choose(everything, factors, choose_key, selection_seeds)
        factors = [factor for factor in factors if factor != choose_key]
    keys = [key for key in by if key in factors] or factors
    groups = grouped(kept, keys)
    base, reason = choose_baseline(groups, _conditions(baseline))
    judge = Judge(margin, column.better == "higher", column.unit)
    families = baselines(groups, base, keys) if base else []
    pairs = [against_baseline(family, own, keys, factors) for own, family in families]
    contrasts = judged([pair for family in pairs for pair in family], judge)
    reference = reference_levels(kept, factors, base)
    effects = judged(main_effects(kept, factors, reference), judge)
    crossed = judged(interactions(kept, factors, reference), judge)
    counts = counted(effects)
    sensitive = sensitivities(everything, every_factor)
    arms = [group.arm for group in groups]
    unequal = [
        *(f for _, own in families for f in flags(ledger(own, factors, choices), factors)),
        *repeats(groups),
    ]
    alone, mixed = told_effects(effects)
    # The arms themselves, where groups were asked for or one factor makes all the difference.
    leading = contrasts if by or len({one.factors for one in alone}) < 2 else alone
    cautions = [
        *caveats.of_differences(leading, sensitive),
        *(flag for flag in unequal if flag.unfair),
        *caveats.of_arms(arms, choices, mixed, column.key),
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
        contrasts=tuple(contrasts),
        effects=tuple(effects),
        interactions=tuple(crossed),
        counts=tuple(counts),
        sensitivities=tuple(sensitive),
        choices=tuple(choices),
        ledger=tuple(ledger(groups, factors, choices)),
        flags=tuple(unequal),
        findings=tuple(findings(groups)),
        points=tuple(points(leading, [] if by else crossed, counts, cautions)),
    )


def judged_column(metric: str) -> Column:
    """Return the column of a metric that can be better or worse. Raises UserError for another."""
    known = [column.key for column in BY_KEY.values() if column.better]
    if metric not in known:
        near = difflib.get_close_matches(metric, known, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UserError(f"--metric {metric}: no such metric; {hint}there are {', '.join(known)}")
    return BY_KEY[metric]


def _conditions(baseline: str | None) -> dict[str, list[str]]:
    """Turn "pos=rope,norm=pre" into values by key."""
    if not baseline:
        return {}
    parts = baseline.split(",")
    for part in parts:
        if not all(part.partition("=")):
            raise UserError(f"--baseline {part}: expected KEY=VALUE[,KEY=VALUE], as in pos=rope")
    return {key: values[:1] for key, values in parse_where(parts).items()}
