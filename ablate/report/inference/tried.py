"""An arm that has what was advised to another, beside it: paired by seed and all other settings."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from ablate.judge.thresholds import MARGIN
from ablate.record.record import Remedy, Signature
from ablate.report.inference.outcomes import Outcome
from ablate.report.inference.testing import LEVEL, Difference, difference
from ablate.report.runs.columns import BY_KEY, FACTORS, Column, Missing
from ablate.report.runs.settings import matches

Pairing = tuple[Outcome, Outcome]
"""A run of the arm, and one beside it that has the remedy."""
Became = Literal["better", "no better", "open"]
FAILED = ("stuck", "diverged")


@dataclass(frozen=True)
class Tried:
    """A remedy that another arm of the study has, paired by seed and all other settings.

    `count` of its `of` runs have the same signature, `own_count` of as many of the arm itself, and
    `failed` of them are stuck or diverged under another name.
    `value` and `own_value` are means of the column `metric` over the seeds of `difference`, which
    is the remedy's less the arm's.
    """

    change: str
    became: Became
    count: int
    own_count: int
    failed: tuple[tuple[str, int], ...]
    of: int
    metric: str
    value: float | None
    own_value: float | None
    difference: Difference

    @property
    def ahead(self) -> bool:
        """Whether it ended better at all, be it by chance."""
        mean = self.difference.mean
        if mean is None:
            return self.count + sum(n for _, n in self.failed) < self.own_count
        return mean != 0 and (mean > 0) == (BY_KEY[self.metric].better == "higher")


def means(remedy: Remedy, own: Any, value: Any) -> bool:
    """Whether a value of another arm is what a remedy would have it be.

    >>> means(Remedy(key="lr", way="lower"), 0.01, 0.003)
    True
    >>> means(Remedy(key="clip", value="1"), None, 1.0), means(Remedy(key="lr", way="lower"), 1, 2)
    (True, False)
    """
    if remedy.value is not None:
        return matches(value, [remedy.value])
    if remedy.way == "other":
        return bool(value != own)
    numbers = [isinstance(one, int | float) and not isinstance(one, bool) for one in (own, value)]
    return all(numbers) and bool(value < own if remedy.way == "lower" else value > own)


def measure(signature: Signature, own: Sequence[Outcome]) -> Column:
    """The column that a remedy of a signature should make better."""
    if signature.spoils == "length":
        for factor in sorted(FACTORS, key=FACTORS.__getitem__, reverse=True):
            column = BY_KEY[f"acc_{factor}"]
            if any(column.extract(one.run.record) is not Missing.UNMEASURED for one in own):
                return column
    return BY_KEY["val_loss"]


def compared_arm(
    name: str,
    change: str,
    pairs: Sequence[Pairing],
    column: Column,
    names_of: Callable[[Outcome], Collection[str]],
    arms: int,
) -> Tried:
    """One arm beside another; of several `arms` that are looked at each must be the clearer.

    `names_of` are the names of a run's signatures.
    """
    by_seed: dict[Any, list[tuple[float, float]]] = {}
    for mine, sibling in pairs:
        value, own_value = _number(sibling, column), _number(mine, column)
        if value is not None and own_value is not None:
            by_seed.setdefault(mine.seed, []).append((value, own_value))
    values, own_values = (
        [fmean(numbers[side] for numbers in seed) for seed in by_seed.values()] for side in (0, 1)
    )
    test = difference([a - b for a, b in zip(values, own_values, strict=True)], MARGIN)
    runs, own = (
        list({one[side].run.directory: one[side] for one in pairs}.values()) for side in (1, 0)
    )
    count, own_count = (sum(name in names_of(one) for one in side) for side in (runs, own))
    labels = Counter(one.run.label for one in runs if name not in names_of(one))
    failed = tuple((label, labels[label]) for label in FAILED if labels[label])
    clear = test.p is not None and test.p * arms <= LEVEL
    gains = ((test.mean or 0.0) > 0) == (column.better == "higher")
    became: Became = "open"
    if count + sum(labels[label] for label in FAILED) == len(runs) or (clear and not gains):
        became = "no better"
    elif clear:
        became = "better"
    return Tried(
        change=change,
        became=became,
        count=count,
        own_count=own_count,
        failed=failed,
        of=len(runs),
        metric=column.key,
        value=fmean(values) if values else None,
        own_value=fmean(own_values) if values else None,
        difference=test,
    )


def _number(outcome: Outcome, column: Column) -> float | None:
    value = column.extract(outcome.run.record)
    return None if isinstance(value, Missing) or outcome.state != "finished" else value
