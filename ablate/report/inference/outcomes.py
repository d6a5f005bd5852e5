"""What each run came to under one metric, and contrasts of outcomes that have the same seeds.

The seed is the unit. A contrast is a signed sum over sides (two for a difference, four for an
interaction); it is taken within each cell (the other settings) and seed, averaged over the cells
of a seed, and only then compared over seeds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import fmean
from typing import Any, Literal

from ablate.judge.looks import PlannedLook
from ablate.report.runs.collect import Run
from ablate.report.runs.columns import Column, Missing
from ablate.report.runs.settings import Settings, differing, settings, text

State = Literal["finished", "diverged", "missing"]
Key = tuple[str, ...]
Trace = tuple[float | None, ...]
"""What a run came to, in a fixed order: its losses, gradients and what it does at length."""
ABSENT = "–"


@dataclass(frozen=True)
class Outcome:
    """A run's settings as texts, its seed and what it came to.

    `look` is the planned look that its arm is judged at, None without a plan.
    """

    run: Run
    settings: Settings
    levels: dict[str, str]
    seed: Any
    state: State
    value: float | None
    undefined: bool
    trace: Trace | None = None
    """None of a run that was not trained to its end."""
    look: PlannedLook | None = None

    @property
    def stuck(self) -> bool:
        """Whether the run learned no more than frequencies."""
        return self.run.label == "stuck"


def earliest(outcomes: Iterable[Outcome]) -> PlannedLook | None:
    """Return the look with the fewest seeds that any of the arms is judged at."""
    looks = (outcome.look for outcome in outcomes if outcome.look is not None)
    return min(looks, key=lambda look: len(look.seeds), default=None)


def at_look(outcomes: Iterable[Outcome], look: PlannedLook | None) -> list[Outcome]:
    """Return the outcomes that count at a look: those of its seeds, judged at it."""
    if look is None:
        return list(outcomes)
    return [replace(one, look=look) for one in outcomes if one.seed in look.seeds]


Cells = dict[Key, dict[Any, list[Outcome]]]
"""Outcomes by the values of the other factors, then by seed."""


def outcomes(runs: Iterable[Run], column: Column) -> list[Outcome]:
    """Return the outcome of every run that has a record."""
    pairs = [(run, settings(run)) for run in runs if run.readable is not None]
    keys = differing([row for _, row in pairs])
    return [_outcome(run, row, keys, column) for run, row in pairs]


def _outcome(run: Run, row: Settings, keys: Sequence[str], column: Column) -> Outcome:
    status = run.record.status
    state: State = "missing"
    value = column.extract(run.record)
    if status == "done" or (not column.trained and not isinstance(value, Missing)):
        state = "finished"
    elif status == "diverged":
        state = "diverged"
    number = value if state == "finished" and not isinstance(value, Missing) else None
    levels = {key: text(row[key]) if key in row else ABSENT for key in keys}
    undefined = value is Missing.UNDEFINED and state == "finished"
    return Outcome(run, row, levels, row["seed"], state, number, undefined, _trace(run))


def _trace(run: Run) -> Trace | None:
    record = run.record
    loss, gradients = record.loss, record.gradients
    if record.status != "done" or loss.first is None or loss.final is None:
        return None
    losses = (loss.first, loss.final, loss.validation, loss.best)
    norms = (gradients.parameters_first, gradients.parameters_mean, gradients.inputs_mean)
    return (*losses, *chain(*norms, record.extrapolation.accuracy, record.extrapolation.nll))


def cells(outcomes: Iterable[Outcome], rest: Sequence[str]) -> Cells:
    """Index outcomes by their values of the keys `rest` and by seed; one without a seed is out."""
    index: Cells = {}
    for outcome in outcomes:
        if outcome.seed is not None:
            cell = index.setdefault(tuple(outcome.levels[key] for key in rest), {})
            cell.setdefault(outcome.seed, []).append(outcome)
    return index


def others(factors: Sequence[str], chosen: Sequence[str]) -> list[str]:
    """Return the factors that are neither chosen nor options of a choice that is.

    >>> others(["pos", "pos.base", "norm", "norm.final"], ["pos"])
    ['norm', 'norm.final']
    """
    return [key for key in factors if key not in chosen and key.partition(".")[0] not in chosen]


@dataclass(frozen=True)
class Matched:
    """The values of a contrast, one a seed, and what it was made of.

    `cells` are those averaged over, of the `shared` ones that every side has, of `every` one that
    some side has. `left_out` counts the places (cell and seed) that ran on every side and are not
    in `values`, `unpaired` those that ran on some sides only. `diverged` and `stuck` count, by
    side, among the `of` places that ended on every side; `alone` counts those diverged where
    another side did not.
    """

    seeds: list[Any]
    values: list[float]
    cells: int
    shared: int
    every: int
    left_out: int
    unpaired: int
    diverged: list[int]
    alone: list[int]
    stuck: list[int]
    of: int
    undefined: bool


def matched(signs: Sequence[int], sides: Sequence[Cells]) -> Matched:
    """Match sides by cell and seed; keep the largest part of the grid that has no hole."""
    places: dict[tuple[Key, Any], list[list[Outcome]]] = {}
    unpaired = 0
    for key in dict.fromkeys(key for side in sides for key in side):
        columns = [side.get(key, {}) for side in sides]
        for seed in dict.fromkeys(seed for column in columns for seed in column):
            if all(seed in column for column in columns):
                places[key, seed] = [column[seed] for column in columns]
            else:
                unpaired += 1
    numbers = {place: _number(signs, row) for place, row in places.items()}
    keys, seeds = without_holes({place for place, number in numbers.items() if number is not None})
    table = [[numbers[key, seed] for key in keys] for seed in seeds] if keys else []
    ended = {p: row for p, row in places.items() if not any(_any(s, "missing") for s in row)}
    diverged = [[_any(side, "diverged") for side in row] for row in ended.values()]
    stuck = [[any(outcome.stuck for outcome in side) for side in row] for row in ended.values()]
    return Matched(
        seeds=seeds if keys else [],
        values=[fmean(number for number in row if number is not None) for row in table],
        cells=len(keys) if seeds else 0,
        every=len(set[Key]().union(*sides)),
        shared=len(set[Key]().union(*sides).intersection(*sides)),
        left_out=len(places) - len(keys) * len(seeds),
        unpaired=unpaired,
        diverged=_sums(diverged, len(sides)),
        alone=_sums([row for row in diverged if not all(row)], len(sides)),
        stuck=_sums(stuck, len(sides)),
        of=len(ended),
        undefined=any(o.undefined for row in places.values() for side in row for o in side),
    )


def _sums(rows: Sequence[Sequence[bool]], width: int) -> list[int]:
    return [sum(row[place] for row in rows) for place in range(width)]


def _number(signs: Sequence[int], sides: Sequence[list[Outcome]]) -> float | None:
    """Signed sum over sides; None if a side has a run without a value."""
    total = 0.0
    for sign, side in zip(signs, sides, strict=True):
        values = [outcome.value for outcome in side if outcome.value is not None]
        if len(values) < len(side):
            return None
        total += sign * fmean(values)
    return total


def _any(side: Sequence[Outcome], state: State) -> bool:
    return any(outcome.state == state for outcome in side)


def without_holes(filled: set[tuple[Key, Any]]) -> tuple[list[Key], list[Any]]:
    """Return cells and seeds whose every pair is filled, dropping the emptiest of them first.

    >>> without_holes({(("a",), 0), (("a",), 1), (("b",), 0), (("b",), 1), (("b",), 2)})
    ([('a',), ('b',)], [0, 1])
    """
    keys, seeds = {key for key, _ in filled}, {seed for _, seed in filled}
    while len(filled) < len(keys) * len(seeds):
        by_key = dict.fromkeys(sorted(keys), 0)
        by_seed = dict.fromkeys(sorted(seeds, key=text), 0)
        for key, seed in filled:
            by_key[key] += 1
            by_seed[seed] += 1
        key, seed = min(by_key, key=by_key.__getitem__), min(by_seed, key=by_seed.__getitem__)
        # Shares of what could be there; where both are as empty the cell goes, for seeds are few.
        if by_key[key] * len(keys) <= by_seed[seed] * len(seeds):
            keys.discard(key)
        else:
            seeds.discard(seed)
        filled = {(k, s) for k, s in filled if k in keys and s in seeds}
    return sorted(keys), sorted(seeds, key=text)
