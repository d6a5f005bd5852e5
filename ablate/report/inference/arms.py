"""The arms of a study under one metric, and the baseline that the others are compared with."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ablate.config.catalogue import Catalogue
from ablate.errors import UserError
from ablate.judge.intervals import Interval, over_seeds
from ablate.report.inference.outcomes import (
    ABSENT,
    Outcome,
    at_look,
    cells,
    earliest,
    others,
)
from ablate.report.inference.pairs import Pair
from ablate.report.runs.settings import matches, text
from ablate.report.runs.tables import distinct, order

FEW = 2  # this many seeds or fewer are said to be few
SCALES = ("task", "corpus")  # across these a loss, or a share of targets, has no common scale


@dataclass(frozen=True)
class Arm:
    """A row of the analysis: its settings, its runs ("study/name") and what they came to.

    `mean` is over finished runs. `finished`, `diverged` and `stuck` count runs, and `missing` those
    without a result by status: failed, interrupted, running.
    """

    label: str
    settings: dict[str, Any]
    runs: tuple[str, ...]
    seeds: tuple[Any, ...]
    mean: Interval
    finished: int
    diverged: int
    stuck: int
    missing: dict[str, int]
    undefined: bool

    @property
    def few(self) -> bool:
        """Whether it has too few seeds to say much."""
        return self.mean.n <= FEW


@dataclass(frozen=True)
class BaselineReason:
    """Why an arm is the baseline: of `fitting` arms it is the nearest to the defaults.

    `asked` tells whether they fit what was asked for, or are all arms; `finished` whether those
    without a finished run had to be passed over.
    """

    asked: bool
    fitting: int
    finished: bool


@dataclass(frozen=True)
class Group:
    """An arm with its outcomes."""

    arm: Arm
    outcomes: tuple[Outcome, ...]


def grouped(outcomes: Sequence[Outcome], keys: Sequence[str]) -> list[Group]:
    """Return the outcomes as groups of equal values of `keys`; by the arm's name without keys."""
    groups: dict[tuple[str, ...], list[Outcome]] = {}
    for outcome in outcomes:
        values = tuple(outcome.levels[key] for key in keys) or (outcome.run.arm,)
        groups.setdefault(values, []).append(outcome)
    ordered = sorted(groups.values(), key=lambda g: [order(g[0].settings.get(k)) for k in keys])
    return [Group(_arm(group, keys), tuple(group)) for group in ordered]


def named(keys: Sequence[str], values: Sequence[str]) -> str:
    """Return settings as they are typed, without options that the choice does not have.

    >>> named(["pos", "warmup.steps"], ["rope", "–"])
    'pos=rope'
    """
    pairs = zip(keys, values, strict=True)
    return " ".join(f"{key}={value}" for key, value in pairs if value != ABSENT)


def _arm(group: Sequence[Outcome], keys: Sequence[str]) -> Arm:
    first = group[0]
    numbers = [(o.seed, o.run.arm, o.value) for o in group if o.value is not None]
    return Arm(
        label=named(keys, [first.levels[key] for key in keys]) or first.run.arm,
        settings={key: first.settings[key] for key in keys if key in first.settings},
        runs=tuple(f"{o.run.study}/{o.run.name}" for o in group),
        seeds=tuple(distinct(o.seed for o in group)),
        mean=over_seeds(numbers),
        finished=sum(o.state == "finished" for o in group),
        diverged=sum(o.state == "diverged" for o in group),
        stuck=sum(o.stuck for o in group),
        missing=dict(Counter(str(o.run.record.status) for o in group if o.state == "missing")),
        undefined=any(o.undefined for o in group) and not numbers,
    )


def choose_baseline(
    groups: Sequence[Group], wanted: dict[str, list[str]], planned: Collection[str] = ()
) -> tuple[Group | None, BaselineReason]:
    """Return the baseline and why it is; `wanted` are values by key, as after `--baseline`.

    Among several that fit it is one of the `planned` arms, those of a plan of looks. Else it is the
    one with a finished run that is nearest to the defaults of configs/run.yaml, then the one with
    the most runs. Raises UserError if none fits.
    """
    fitting = [group for group in groups if _fits(group, wanted)]
    fitting = (not wanted and _of_plan(fitting, planned)) or fitting
    if not fitting:
        if not groups:
            return None, BaselineReason(False, 0, False)
        conditions = ",".join(f"{key}={','.join(values)}" for key, values in wanted.items())
        there = "; ".join(group.arm.label for group in groups[:4])
        raise UserError(f"--baseline {conditions}: no arm has it; there are {there}, ...")
    nearest = _nearest(fitting)
    passed_over = nearest is not _nearest(fitting, finished_first=False)
    return nearest, BaselineReason(bool(wanted), len(fitting), passed_over)


def _nearest(groups: Sequence[Group], finished_first: bool = True) -> Group:
    """Return the group that is nearest to the defaults, of those with a finished run if asked."""
    catalogue = Catalogue()
    usual = {**catalogue.defaults(), **catalogue.default_choices()}

    def distance(group: Group) -> tuple[bool, int, int]:
        arm = group.arm
        far = sum(
            text(value) != text(usual[key]) for key, value in arm.settings.items() if key in usual
        )
        return (finished_first and arm.finished == 0, far, -len(arm.runs))

    return min(groups, key=distance)


def _of_plan(groups: Sequence[Group], planned: Collection[str]) -> list[Group]:
    return [group for group in groups if any(o.run.arm in planned for o in group.outcomes)]


def _fits(group: Group, wanted: dict[str, list[str]]) -> bool:
    first = group.outcomes[0].settings
    return all(key in first and matches(first[key], values) for key, values in wanted.items())


def is_scale(key: str) -> bool:
    """Whether arms that differ in a key cannot be compared by any metric.

    >>> is_scale("task"), is_scale("corpus.tokenizer"), is_scale("pos")
    (True, True, False)
    """
    return key.partition(".")[0] in SCALES


def baselines(
    groups: Sequence[Group], base: Group, keys: Sequence[str], planned: Collection[str] = ()
) -> list[tuple[Group, list[Group]]]:
    """Return the groups that can be compared, with their baseline: `base` among its own.

    Of another task or text it is that of the plan, else the arm nearest to the defaults there.
    """
    scales = [key for key in keys if is_scale(key)]
    alike: dict[tuple[str, ...], list[Group]] = {}
    for group in groups:
        levels = group.outcomes[0].levels
        alike.setdefault(tuple(levels[key] for key in scales), []).append(group)
    return [
        (
            base
            if any(group is base for group in members)
            else _nearest(_of_plan(members, planned) or members),
            members,
        )
        for members in alike.values()
    ]


def against_baseline(
    groups: Sequence[Group], baseline: Group, keys: Sequence[str], factors: Sequence[str]
) -> list[Pair]:
    """Pair every other group with the baseline, within each cell of the factors not in `keys`.

    Both sides have the seeds of the planned look that either was judged at first.
    """
    rest = others(factors, keys) if keys else []
    looks = [earliest((*group.outcomes, *baseline.outcomes)) for group in groups]
    return [
        Pair(
            kind="arm",
            factors=tuple(keys),
            levels=tuple(group.outcomes[0].levels[key] for key in keys),
            references=tuple(baseline.outcomes[0].levels[key] for key in keys),
            name=group.arm.label,
            against=baseline.arm.label,
            signs=(1, -1),
            sides=(
                cells(at_look(group.outcomes, look), rest),
                cells(at_look(baseline.outcomes, look), rest),
            ),
            cell_keys=tuple(rest),
            look=look,
        )
        for group, look in zip(groups, looks, strict=True)
        if group is not baseline
    ]
