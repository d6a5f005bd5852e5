"""What is told of runs that failed, as facts: by arm, by level, by settings that act together."""

from dataclasses import dataclass

from ablate.report.inference.failure_facts import (
    ArmFailures,
    CellFailures,
    Ending,
    PairFailures,
    StudyFailures,
)
from ablate.report.inference.outcomes import ABSENT


@dataclass(frozen=True)
class FailingArms:
    """Arms that fail more, or less, often than the others, which failed in `others` of `of` runs.

    All are of one direction.
    """

    ending: Ending
    more: bool
    arms: tuple[ArmFailures, ...]
    others: int
    of: int


@dataclass(frozen=True)
class FailingLevels:
    """Levels shown to fail more, or less, than their reference; the most certain first."""

    ending: Ending
    tests: tuple[PairFailures, ...]


@dataclass(frozen=True)
class FailingTogether:
    """Settings that fail by acting together, as interactions show; the most certain come first.

    Every run that failed has the levels of `only`: `failed` of the `of` runs that have them, and
    none of the `elsewhere` others. Where failures are confined to no such levels it is empty.
    """

    ending: Ending
    only: tuple[tuple[str, tuple[str, ...]], ...]
    failed: int
    of: int
    elsewhere: int
    tests: tuple[PairFailures, ...]


@dataclass(frozen=True)
class FailuresOpen:
    """Failures of levels, or of arms, of which no difference was shown; all of one `verdict`."""

    ending: Ending
    verdict: str
    tests: tuple[PairFailures, ...]


def failing_together(failures: StudyFailures) -> FailingTogether | None:
    """Return the interactions of failures that were shown, and what all failures have in common."""
    shown = sorted((one for one in failures.interactions if one.test.shown), key=_certainty)
    if not shown:
        return None
    factors = dict.fromkeys(factor for one in shown for factor in one.factors)
    only = tuple(
        (factor, levels)
        for factor in failures.factors
        if factor in factors and (levels := _levels_of_all_failures(failures.cells, factor))
    )
    inside = [cell for cell in failures.cells if _is_within(cell, only)]
    return FailingTogether(
        ending=failures.ending,
        only=only if len(only) > 1 else (),
        failed=sum(cell.failed for cell in inside),
        of=sum(cell.of for cell in inside),
        elsewhere=sum(cell.of for cell in failures.cells) - sum(cell.of for cell in inside),
        tests=tuple(shown),
    )


def _certainty(one: PairFailures) -> tuple[float, float]:
    return one.test.p, -abs(one.test.change)


def _levels_of_all_failures(cells: tuple[CellFailures, ...], factor: str) -> tuple[str, ...]:
    """The levels that failing runs have of a factor; none where they have all that there are."""
    every = dict.fromkeys(dict(cell.levels)[factor] for cell in cells)
    failing = dict.fromkeys(dict(cell.levels)[factor] for cell in cells if cell.failed)
    confined = len(failing) < len(every) and ABSENT not in failing
    return tuple(failing) if confined else ()


def _is_within(cell: CellFailures, only: tuple[tuple[str, tuple[str, ...]], ...]) -> bool:
    own = dict(cell.levels)
    return all(own[factor] in levels for factor, levels in only)
