"""What a reader must know of how the arms came about, as facts; `words.cautions` tells them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ablate.report.inference.arms import Arm, Group, is_scale
from ablate.report.inference.choosing import ChosenValue
from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.identical import same_arms
from ablate.report.inference.looked import LookFact
from ablate.report.inference.sensitivity import Sensitivity


@dataclass(frozen=True)
class FewSeeds:
    """No difference is over more seeds than this, which is one or two."""

    most: int


@dataclass(frozen=True)
class RateCosts:
    """The arms that a wrong learning rate costs least and most; no `most` where there is one."""

    least: Sensitivity
    most: Sensitivity | None


@dataclass(frozen=True)
class ScalesApart:
    """Arms differ in these keys, across which the metric has no common scale."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class LowestOfSeveral:
    """The metric is the lowest of several looks at the text that it is measured on."""


@dataclass(frozen=True)
class NeverAlone:
    """Factors that no two runs differ in alone."""

    factors: tuple[str, ...]


@dataclass(frozen=True)
class ChosenOn:
    """A key was chosen for each arm on seeds that are in no number."""

    key: str
    seeds: tuple[Any, ...]


@dataclass(frozen=True)
class ChosenAmong:
    """A key was chosen from different values in different arms."""

    key: str
    grids: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ChosenAtEnd:
    """For these arms the last of the values tried was chosen."""

    key: str
    arms: tuple[str, ...]


@dataclass(frozen=True)
class NoneToChoose:
    """For these arms no value finished on the seeds to choose on."""

    key: str
    seeds: tuple[Any, ...]
    arms: tuple[str, ...]


@dataclass(frozen=True)
class EqualRates:
    """Arms are compared at equal learning rates, not each at its best."""


@dataclass(frozen=True)
class NotMeasured:
    """None of the runs measures the metric."""

    metric: str


@dataclass(frozen=True)
class UndefinedFor:
    """The scheme of these arms cannot do what the metric measures."""

    metric: str
    arms: tuple[str, ...]


@dataclass(frozen=True)
class ArmsAlike:
    """Groups of arms of which every run is the same, number by number."""

    groups: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class NoResult:
    """Runs without a result: (status, how many) in alphabetical order."""

    by_status: tuple[tuple[str, int], ...]


Caveat = (
    FewSeeds | RateCosts | ScalesApart | LowestOfSeveral | NeverAlone | ChosenOn | ChosenAmong
    | ChosenAtEnd | NoneToChoose | EqualRates | NotMeasured | UndefinedFor
    | ArmsAlike | NoResult | LookFact
)  # fmt: skip


def of_differences(
    contrasts: Sequence[Contrast], sensitivities: Sequence[Sensitivity]
) -> Iterator[Caveat]:
    """Yield how little the contrasts rest on, and what a wrong learning rate costs."""
    seeds = max((contrast.difference.n for contrast in contrasts), default=0)
    if seeds in (1, 2):
        yield FewSeeds(seeds)
    if sensitivities:
        ordered = sorted(sensitivities, key=lambda sensitivity: sensitivity.value.mean or 0.0)
        yield RateCosts(ordered[0], ordered[-1] if len(ordered) > 1 else None)


def of_sameness(groups: Sequence[Group], contrasts: Sequence[Contrast]) -> Iterator[Caveat]:
    """Yield which arms are the same run by run, where no verdict says so already."""
    alike = same_arms({group.arm.label: group.outcomes for group in groups})
    if alike and not any(contrast.verdict == "no effect" for contrast in contrasts):
        yield ArmsAlike(tuple(alike))


def of_arms(
    arms: Sequence[Arm], choices: Sequence[ChosenValue], mixed: Sequence[str], metric: str
) -> Iterator[Caveat]:
    """Yield what there is to know of how the arms came about; `mixed` factors never change alone.

    What is unfair of them the ledger's flags say.
    """
    settings = list(arms[0].settings) if arms else []
    scales = tuple(key for key in settings if is_scale(key))
    if scales:
        yield ScalesApart(scales)
    if metric == "best_loss":
        yield LowestOfSeveral()
    if mixed:
        yield NeverAlone(tuple(mixed))
    if choices:
        yield from _of_choices(choices)
    elif "lr" in settings and len(settings) > 1:
        yield EqualRates()
    finished = [arm for arm in arms if arm.finished]
    if finished and not any(arm.mean.n or arm.undefined for arm in finished):
        yield NotMeasured(metric)
    undefined = tuple(arm.label for arm in arms if arm.undefined)
    if undefined:
        yield UndefinedFor(metric, undefined)
    missing = sum((Counter(arm.missing) for arm in arms), Counter[str]())
    if missing:
        yield NoResult(tuple(sorted(missing.items())))


def _of_choices(choices: Sequence[ChosenValue]) -> Iterator[Caveat]:
    key, seeds = choices[0].key, choices[0].seeds
    yield ChosenOn(key, seeds)
    grids = {choice.among for choice in choices}
    if len(grids) > 1:
        yield ChosenAmong(key, tuple(sorted(grids)))
    ends = tuple(choice.arm for choice in choices if choice.at_end)
    if ends:
        yield ChosenAtEnd(key, ends)
    unchosen = tuple(c.arm for c in choices if all(loss is None for loss in c.losses))
    if unchosen:
        yield NoneToChoose(key, seeds, unchosen)
