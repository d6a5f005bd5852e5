"""Which runs failed, by cell and seed, and what is known of them; nothing here imports numpy.

A failure is a run that got stuck, or one that diverged: the two are counted apart.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from ablate.report.inference.outcomes import Cells, Key, Outcome
from ablate.report.inference.pairs import Kind
from ablate.report.inference.testing import LEVEL

Ending = Literal["stuck", "diverged"]
FailureGrid = Mapping[Key, Mapping[Any, bool]]
"""Cell → seed → whether that run failed. A run that has not ended is not there."""

FailureVerdict = Literal[
    "fails more",  # in every cell that is named, or in total
    "fails less",
    "both",  # more in one cell, less in another
    "undecided",
    "too few seeds",  # no count whatever could be decided with them
    "too few failures",  # the failures that there are could not be decided, wherever they fell
]


@dataclass(frozen=True)
class CellCount:
    """Failures in one cell, by side: two sides of a difference, four of an interaction.

    `change` is the signed sum of their shares, and `p` is corrected for the other cells of the
    test; `named` tells whether the cell is one where the difference is decided.
    """

    cell: Key
    failed: tuple[int, ...]
    of: tuple[int, ...]
    change: float
    p: float
    named: bool = False


@dataclass(frozen=True)
class FailureTest:
    """A difference in failures (of two sides), or the dependence of one on a factor (of four).

    `failed` and `of` are totals by side over the cells that every side has. `p` is of the whole
    table, `p_holm` over its family, which has `family` tests that could be decided; None for one
    that could not. `seeds` count rows by group. `attainable` is the smallest p that there could be.
    """

    failed: tuple[int, ...]
    of: tuple[int, ...]
    change: float
    cells: tuple[CellCount, ...]
    seeds: tuple[int, int]
    p: float
    attainable: float
    exact: bool
    p_holm: float | None = None
    family: int = 0
    verdict: FailureVerdict = "undecided"

    @property
    def shown(self) -> bool:
        """Whether the sides were shown to differ, in some cell or in total."""
        return self.verdict in ("fails more", "fails less", "both")


@dataclass(frozen=True)
class ArmFailures:
    """How many of an arm's seeds failed, against the number expected of an arm like the others.

    `p` is two-sided: of all counts that are no likelier than this one. `attainable` is the smallest
    that this arm could have; `p_holm` is over the arms for which that is at most 0.05 after the
    correction for them, and None for the rest, which so few seeds cannot decide.
    """

    arm: str
    failed: int
    of: int
    expected: float
    p: float
    attainable: float
    p_holm: float | None = None

    @property
    def decided(self) -> bool:
        """Whether this arm was shown to be unlike the others."""
        return self.p_holm is not None and self.p_holm <= LEVEL


@dataclass(frozen=True)
class PairFailures:
    """How often the sides of a pair, of two levels or of four combinations of them, ended so.

    `cell_keys` are the settings whose values name a cell.
    """

    ending: Ending
    kind: Kind
    factors: tuple[str, ...]
    levels: tuple[str, ...]
    references: tuple[str, ...]
    name: str
    against: str
    cell_keys: tuple[str, ...]
    test: FailureTest


@dataclass(frozen=True)
class CellFailures:
    """How many of the seeds of one cell of the grid ended so; `levels` are by factor.

    `named` tells whether it was shown to fail more often than what it was held against.
    """

    levels: tuple[tuple[str, str], ...]
    failed: int
    of: int
    named: bool


@dataclass(frozen=True)
class StudyFailures:
    """Everything that is asked of one ending, each kind of comparison a family of its own.

    `cells` is the whole grid. `arms` are held against all others, `contrasts` are arms against the
    baseline. `gate` is what none of the corrected p falls below.
    """

    ending: Ending
    gate: float
    cells: tuple[CellFailures, ...]
    arms: tuple[ArmFailures, ...]
    contrasts: tuple[PairFailures, ...]
    levels: tuple[PairFailures, ...]
    interactions: tuple[PairFailures, ...]

    @property
    def factors(self) -> tuple[str, ...]:
        """The settings that tell cells apart."""
        return tuple(key for key, _ in self.cells[0].levels) if self.cells else ()


def grid(side: Cells, ending: Ending) -> FailureGrid:
    """Return which runs of a side ended so; of repeats of a run one is enough."""
    return {key: by_seed(chain(*seeds.values()), ending) for key, seeds in side.items()}


def by_seed(outcomes: Iterable[Outcome], ending: Ending) -> dict[Any, bool]:
    """Whether a run of each seed ended so; a seed with a run that has not ended is not there."""
    runs: dict[Any, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.seed is not None:
            runs.setdefault(outcome.seed, []).append(outcome)
    ended = {s: own for s, own in runs.items() if all(o.state != "missing" for o in own)}
    return {seed: any(_is(outcome, ending) for outcome in own) for seed, own in ended.items()}


def _is(outcome: Outcome, ending: Ending) -> bool:
    return outcome.stuck if ending == "stuck" else outcome.state == "diverged"


def neither_learned(sides: Sequence[FailureGrid]) -> list[Key]:
    """Return the cells in which more than half of the seeds of every side failed.

    Differences of loss there are between models that learned nothing. The seeds of one cell are
    repeats of each other, as the cells of one seed are not.

    >>> stuck, sound = dict.fromkeys(range(3), True), dict.fromkeys(range(3), False)
    >>> neither_learned([{("post",): stuck, ("pre",): sound}, {("post",): stuck, ("pre",): sound}])
    [('post',)]
    """
    cells = sorted(set[Key](sides[0]).intersection(*sides))
    return [
        cell
        for cell in cells
        if all(2 * sum(side[cell].values()) > len(side[cell]) for side in sides)
    ]


def none_learned(sides: Sequence[Cells]) -> bool:
    """Whether there is no shared cell in which a side learned."""
    if not all(any(run.stuck for run in _runs(side)) for side in sides):
        return False
    shared = set[Key](sides[0]).intersection(*sides)
    return 0 < len(shared) == len(neither_learned([grid(side, "stuck") for side in sides]))


def _runs(side: Cells) -> Iterable[Outcome]:
    return (run for seeds in side.values() for runs in seeds.values() for run in runs)
