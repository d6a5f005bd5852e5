"""Which runs failed, by cell and seed; and the cells in which no side learned."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from ablate.report.inference.failure_facts import Ending, FailureGrid
from ablate.report.inference.outcomes import Cells, Key, Outcome


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
