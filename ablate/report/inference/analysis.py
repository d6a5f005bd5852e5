"""From runs to what can be said of them: arms, contrasts, effects, counts and sentences."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from ablate.errors import UserError
from ablate.judge.thresholds import MARGIN
from ablate.report.inference.arms import Arm, against_baseline, baselines, choose_baseline, grouped
from ablate.report.inference.choosing import ChosenValue, choose
from ablate.report.inference.contrasts import Contrast, Judge, judged
from ablate.report.inference.counts import Count, counted
from ablate.report.inference.effects import interactions, main_effects, reference_levels
from ablate.report.inference.findings import ArmFinding, findings
from ablate.report.inference.ledger import Flag, LedgerRow, flags, ledger, repeats
from ablate.report.inference.outcomes import outcomes
from ablate.report.inference.sensitivity import Sensitivity, sensitivities
from ablate.report.runs.collect import Run
from ablate.report.runs.columns import BY_KEY, Column
from ablate.report.runs.settings import parse_where
from ablate.report.words.story import cautions, story, told_effects
from ablate.report.words.verdicts import Sentence


@dataclass(frozen=True)
class Analysis:
    """What a set of runs says about one metric. Differences are in its unit.

    `effects` are main effects, `interactions` two-way ones, each a family of its own for Holm's
    correction, as are the `contrasts` with the baseline arm and the `counts`. `choices` are the
    learning rates (or other values) chosen per arm, on seeds that nothing else here is made of.
    """

    metric: str
    meaning: str
    unit: str
    higher_is_better: bool
    margin: float
    factors: tuple[str, ...]
    arms: tuple[Arm, ...]
    baseline: str | None
    baseline_reason: str
    contrasts: tuple[Contrast, ...]
    effects: tuple[Contrast, ...]
    interactions: tuple[Contrast, ...]
    counts: tuple[Count, ...]
    sensitivities: tuple[Sensitivity, ...]
    choices: tuple[ChosenValue, ...]
    ledger: tuple[LedgerRow, ...]
    flags: tuple[Flag, ...]
    findings: tuple[ArmFinding, ...]
    sentences: tuple[Sentence, ...]

    @property
    def against(self) -> str:
        """What the contrasts are against: the baseline, or one in each task or text."""
        several = len({one.against for one in self.contrasts}) > 1
        return "the baseline of their task or text" if several else f"{self.baseline}"


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
    everything = found = outcomes(runs, column)
    factors = every_factor = list(found[0].levels) if found else []
    choices: list[ChosenValue] = []
    if choose_key is not None and found:
        found, choices = choose(found, factors, choose_key, selection_seeds)
        factors = [factor for factor in factors if factor != choose_key]
    keys = [key for key in by if key in factors] or factors
    groups = grouped(found, keys)
    base, reason = choose_baseline(groups, _conditions(baseline))
    judge = Judge(margin, column.better == "higher")
    families = baselines(groups, base, keys) if base else []
    pairs = [against_baseline(family, own, keys, factors) for own, family in families]
    contrasts = judged([pair for found in pairs for pair in found], judge)
    reference = reference_levels(found, factors, base)
    effects = judged(main_effects(found, factors, reference), judge)
    crossed = judged(interactions(found, factors, reference), judge)
    counts = counted(effects)
    sensitive = sensitivities(everything, every_factor)
    arms = [group.arm for group in groups]
    rows = ledger(groups, factors, choices)
    flagged = [flags(ledger(family, factors, choices), factors) for _, family in families]
    fair = [*(flag for found in flagged for flag in found), *repeats(groups)]
    alone, mixed = told_effects(effects)
    told = contrasts if by or len({one.factors for one in alone}) < 2 else alone
    said = story(told, [] if by else crossed, counts, sensitive, column.unit, judge)
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
        ledger=tuple(rows),
        flags=tuple(fair),
        findings=tuple(findings(groups)),
        sentences=(*said, *cautions(arms, choices, fair, mixed, column.key)),
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
