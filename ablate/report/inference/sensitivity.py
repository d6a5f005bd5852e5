"""Learning-rate sensitivity: what a wrong learning rate costs (Wortsman et al. 2023)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any

from ablate.judge.intervals import Interval, interval
from ablate.report.inference.arms import grouped
from ablate.report.inference.outcomes import Outcome
from ablate.report.runs.tables import distinct

KEY = "lr"
FEWEST = 3  # learning rates that make a grid
EVEN = 0.1  # steps of the grid in ln lr may differ by this share


@dataclass(frozen=True)
class Sensitivity:
    """An arm's sensitivity in nats over seeds with a full grid, and its losses by learning rate.

    A run that diverged counts as ln V. `losses` are means over those seeds; `even` tells whether
    the grid has even steps in ln lr, as the definition wants.
    """

    arm: str
    rates: tuple[float, ...]
    losses: tuple[float, ...]
    diverged: tuple[int, ...]
    value: Interval
    seeds: tuple[Any, ...]
    even: bool


def sensitivity(losses: Sequence[float | None], uniform: float) -> float:
    """Return mean over the grid of min(loss, ln V), less the best; None is a diverged run.

    >>> round(sensitivity([2.5, 2.0, None], 5.5), 4)
    1.3333
    """
    capped = [uniform if loss is None else min(loss, uniform) for loss in losses]
    return fmean(capped) - min(capped)


def sensitivities(outcomes: Sequence[Outcome], factors: Sequence[str]) -> list[Sensitivity]:
    """Return the sensitivity of each arm with at least three learning rates."""
    if KEY not in factors:
        return []
    groups = grouped(outcomes, [factor for factor in factors if factor != KEY])
    each = (_of_arm(group.arm.label, group.outcomes) for group in groups)
    return [sensitivity for sensitivity in each if sensitivity is not None]


def _of_arm(label: str, outcomes: Sequence[Outcome]) -> Sensitivity | None:
    if not all(_is_rate(o.run.record.config.get(KEY)) for o in outcomes):
        return None
    rates = distinct(o.run.record.config[KEY] for o in outcomes)
    if len(rates) < FEWEST:
        return None
    by_seed: dict[Any, dict[float, float | None]] = {}
    for outcome in outcomes:
        loss = outcome.run.record.loss.validation
        diverged = outcome.state == "diverged"
        if outcome.state != "missing" and (diverged or loss is not None):
            by_seed.setdefault(outcome.seed, {})[outcome.run.record.config[KEY]] = (
                None if diverged else loss
            )
    uniforms = distinct(o.run.record.loss.uniform for o in outcomes)
    full = {seed: row for seed, row in by_seed.items() if len(row) == len(rates)}
    if not full or uniforms[0] is None:
        return None
    uniform = uniforms[0]
    steps = [math.log(b / a) for a, b in pairwise(rates)]
    return Sensitivity(
        arm=label,
        rates=tuple(rates),
        losses=tuple(fmean(_capped(row[rate], uniform) for row in full.values()) for rate in rates),
        diverged=tuple(sum(row[rate] is None for row in full.values()) for rate in rates),
        value=interval([sensitivity(_in_order(row, rates), uniform) for row in full.values()]),
        seeds=tuple(distinct(full)),
        even=max(steps) - min(steps) <= EVEN * max(steps),
    )


def _is_rate(rate: Any) -> bool:
    return isinstance(rate, int | float) and not isinstance(rate, bool) and rate > 0


def _in_order(row: Mapping[float, float | None], rates: Sequence[float]) -> list[float | None]:
    return [row[rate] for rate in rates]


def _capped(loss: float | None, uniform: float) -> float:
    return uniform if loss is None else min(loss, uniform)
