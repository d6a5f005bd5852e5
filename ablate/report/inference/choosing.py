"""Choose a learning rate for each arm on seeds that are not reported."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ablate.errors import UserError
from ablate.report.inference.arms import grouped
from ablate.report.inference.outcomes import Outcome
from ablate.report.runs.settings import text
from ablate.report.runs.tables import distinct, order


@dataclass(frozen=True)
class ChosenValue:
    """What was chosen for an arm: the value with the lowest mean validation loss on `seeds`.

    `losses` stand beside `among`, in nats; None where a run did not finish, which is never chosen
    while another did.
    """

    arm: str
    key: str
    value: str
    among: tuple[str, ...]
    losses: tuple[float | None, ...]
    seeds: tuple[Any, ...]

    @property
    def at_end(self) -> bool:
        """Whether it is the smallest or largest of several numbers, so that more might be tried."""
        ends = (self.among[0], self.among[-1])
        return len(self.among) > 1 and self.value in ends and all(map(_is_number, self.among))


def choose(
    outcomes: Sequence[Outcome], factors: Sequence[str], key: str, wanted: Sequence[str]
) -> tuple[list[Outcome], list[ChosenValue]]:
    """Return the outcomes of the chosen values on the seeds left to report, and the choices.

    `wanted` are the seeds to choose on as texts; without any they are the first third, at least
    one. Raises UserError if no seed is left to choose on or to report.
    """
    if key not in factors:
        there = ", ".join(factors) or "nothing"
        raise UserError(f"--choose {key}: does not differ between these runs; what does: {there}")
    seeds = distinct(outcome.seed for outcome in outcomes if outcome.seed is not None)
    chosen_on = _selection(seeds, wanted)
    reported: list[Outcome] = []
    choices: list[ChosenValue] = []
    for group in grouped(outcomes, [factor for factor in factors if factor != key]):
        by_value: dict[str, list[Outcome]] = {}
        for outcome in sorted(group.outcomes, key=lambda one: order(one.settings.get(key))):
            by_value.setdefault(outcome.levels[key], []).append(outcome)
        losses = {value: _loss(runs, chosen_on) for value, runs in by_value.items()}
        value = min(losses, key=losses.__getitem__)
        known = tuple(loss if math.isfinite(loss) else None for loss in losses.values())
        choices.append(
            ChosenValue(group.arm.label, key, value, tuple(losses), known, tuple(chosen_on))
        )
        if math.isfinite(losses[value]):
            reported += [run for run in by_value[value] if run.seed not in chosen_on]
    if not reported:
        raise UserError(
            f"--choose {key}: no run finished on the seeds to choose on and has others to report;"
            f" chosen on {', '.join(map(text, chosen_on))} of {', '.join(map(text, seeds))}"
        )
    return reported, choices


def _is_number(value: str) -> bool:
    """Tell a number from a name.

    >>> _is_number("3e-4"), _is_number("linear")
    (True, False)
    """
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


def _selection(seeds: Sequence[Any], wanted: Sequence[str]) -> list[Any]:
    if len(seeds) < 2:
        raise UserError(
            "--choose: needs a seed to choose on and another to report;"
            f" there is {', '.join(map(text, seeds)) or 'none'}"
        )
    chosen = [s for s in seeds if text(s) in wanted] if wanted else seeds[: max(1, len(seeds) // 3)]
    unknown = [seed for seed in wanted if seed not in map(text, seeds)]
    there = f"there are {', '.join(map(text, seeds))}"
    if unknown:
        raise UserError(f"--selection-seeds {unknown[0]}: no run has this seed; {there}")
    if len(chosen) == len(seeds):
        raise UserError(f"--selection-seeds {','.join(wanted)}: leaves no seed to report; {there}")
    return list(chosen)


def _loss(runs: Iterable[Outcome], seeds: Sequence[Any]) -> float:
    """Mean validation loss on the seeds; infinite where one of them has none."""
    losses = [
        o.run.record.loss.validation if o.state == "finished" else None
        for o in runs
        if o.seed in seeds
    ]
    known = [loss for loss in losses if loss is not None]
    return fmean(known) if known and len(known) == len(losses) else math.inf
