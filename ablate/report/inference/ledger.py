"""The fairness ledger: what each arm was given, and where the compared arms differ beyond a factor.

A comparison of arms is one of their factors only if text, code, tokens and seeds are the same.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, ClassVar

from ablate.report.inference.arms import Group
from ablate.report.inference.choosing import ChosenValue
from ablate.report.inference.ledger_fields import CONCERNS, FIELDS, LedgerField, verbatim
from ablate.report.runs.settings import text
from ablate.report.runs.tables import order
from ablate.shell.clean import clean

PARAMETERS = 0.01  # a share of parameters that arms may differ by without a word


@dataclass(frozen=True)
class LedgerRow:
    """What an arm was given: by field the distinct values of its runs, as texts.

    `seconds` is the mean wall time of its finished runs. Its lr was chosen (`choice`), is a factor
    (`lr_varies`), or is the same for all.
    """

    arm: str
    values: dict[str, tuple[str, ...]]
    seconds: float | None
    seeds: tuple[Any, ...]
    choice: ChosenValue | None
    lr_varies: bool


@dataclass(frozen=True)
class Sharing:
    """The arms that have the same values of a field or the same seeds."""

    values: tuple[Any, ...]
    arms: tuple[str, ...]


@dataclass(frozen=True)
class FieldDiffers:
    """Arms differ in a field, or runs of one arm do; of `of` arms."""

    field: str
    unfair: bool
    sharing: tuple[Sharing, ...]
    of: int


@dataclass(frozen=True)
class ParametersDiffer:
    """The arm with the most parameters has more than a hundredth more than the one with fewest."""

    large: str
    most: float
    small: str
    least: float
    field: ClassVar[str] = "parameters"
    unfair: ClassVar[bool] = False


@dataclass(frozen=True)
class SeedsDiffer:
    """Arms have different seeds; only shared ones are paired."""

    sharing: tuple[Sharing, ...]
    of: int
    field: ClassVar[str] = "seeds"
    unfair: ClassVar[bool] = False


@dataclass(frozen=True)
class RunsRepeat:
    """This many runs repeat the arm and seed of another, as in two studies; they are averaged."""

    count: int
    field: ClassVar[str] = "runs"
    unfair: ClassVar[bool] = False


Flag = FieldDiffers | ParametersDiffer | SeedsDiffer | RunsRepeat
"""A difference between arms that is not the factor itself; `unfair` ones can make a verdict."""


def ledger(
    groups: Sequence[Group], factors: Sequence[str], choices: Sequence[ChosenValue]
) -> list[LedgerRow]:
    """Return a row for each group."""
    chosen = {choice.arm: choice for choice in choices}
    return [_row(group, "lr" in factors, chosen.get(group.arm.label)) for group in groups]


def _row(group: Group, lr_varies: bool, choice: ChosenValue | None) -> LedgerRow:
    seconds = [o.run.record.timing.seconds for o in group.outcomes if o.state == "finished"]
    known = [value for value in seconds if value is not None]
    return LedgerRow(
        arm=group.arm.label,
        values={field.key: _values(group, field) for field in FIELDS},
        seconds=fmean(known) if known else None,
        seeds=group.arm.seeds,
        choice=choice,
        lr_varies=lr_varies,
    )


def _values(group: Group, field: LedgerField) -> tuple[str, ...]:
    read = [field.read(outcome) for outcome in group.outcomes]
    by_text = {clean(verbatim(value)): value for value in read if value is not None}
    return tuple(sorted(by_text, key=lambda name: order(by_text[name])))


def flags(rows: Sequence[LedgerRow], factors: Sequence[str]) -> list[Flag]:
    """Return where arms differ, or runs of one arm do, beyond the factors; the worst first."""
    weighed = sorted(
        (field for field in FIELDS if field.concern), key=lambda f: CONCERNS.index(f.concern)
    )
    unequal: list[Flag] = []
    for field in weighed:
        by_value: dict[tuple[str, ...], list[str]] = {}
        for row in rows:
            if row.values[field.key]:
                by_value.setdefault(row.values[field.key], []).append(row.arm)
        differs = len(by_value) > 1 or any(len(values) > 1 for values in by_value)
        if differs and not any(factor in factors for factor in (*field.changed_by, field.key)):
            unequal.append(FieldDiffers(field.key, field.unfair, _sharing(by_value), len(rows)))
    return [*unequal, *_parameters(rows), *_seeds(rows)]


def _sharing(arms_by_values: dict[tuple[Any, ...], list[str]]) -> tuple[Sharing, ...]:
    return tuple(Sharing(values, tuple(arms)) for values, arms in arms_by_values.items())


def repeats(groups: Sequence[Group]) -> list[Flag]:
    """Return a flag where an arm has a seed more than once, as in two studies: it is averaged."""
    times = Counter(
        (tuple(o.levels.values()) or o.run.arm, text(o.seed))
        for group in groups
        for o in group.outcomes
    )
    repeated = sum(count - 1 for count in times.values())
    return [RunsRepeat(repeated)] if repeated else []


def _parameters(rows: Sequence[LedgerRow]) -> Iterable[Flag]:
    single = [row for row in rows if len(row.values["parameters"]) == 1]
    counts = [(float(row.values["parameters"][0]), row.arm) for row in single]
    if not counts:
        return
    (least, small), (most, large) = min(counts), max(counts)
    if least > 0 and most > least * (1 + PARAMETERS):
        yield ParametersDiffer(large, most, small, least)


def _seeds(rows: Sequence[LedgerRow]) -> Iterable[Flag]:
    by_seeds: dict[tuple[Any, ...], list[str]] = {}
    for row in rows:
        by_seeds.setdefault(row.seeds, []).append(row.arm)
    if len(by_seeds) > 1:
        yield SeedsDiffer(_sharing(by_seeds), len(rows))
