"""Arms of which every run is the same, number by number: a setting that had no effect.

Runs of a seed see the same data from the same initialisation, so that two arms whose settings come
to the same computation have the same curves to the last bit. That is no equivalence found by
measuring, and no interval belongs to it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ablate.report.inference.outcomes import Cells, Key, Outcome, Trace

Traces = Mapping[Key, Mapping[Any, Trace]]
"""Cell → seed → trace; a run without a number is not there."""


@dataclass(frozen=True)
class Sameness:
    """The cells in which two sides have identical runs in every seed that both have.

    `cells` are all that both have, `seeds` the smallest number of seeds compared in one of them.
    """

    same: tuple[Key, ...]
    cells: int
    seeds: int

    @property
    def everywhere(self) -> bool:
        """Whether the setting had no effect in any cell."""
        return 0 < self.cells == len(self.same)


def sameness(first: Traces, second: Traces) -> Sameness:
    """Compare two sides run by run, exactly.

    >>> rope = {(): {0: (5.5, 2.1), 1: (5.6, 2.2)}}
    >>> sameness(rope, {(): {0: (5.5, 2.1)}}).everywhere
    True
    >>> sameness(rope, {(): {0: (5.5, 2.1), 1: (5.6, 2.2000001)}}).everywhere
    False
    """
    shared = {key: set(first[key]) & set(second[key]) for key in first if key in second}
    shared = {key: seeds for key, seeds in shared.items() if seeds}
    same = [
        key
        for key, seeds in shared.items()
        if all(first[key][seed] == second[key][seed] for seed in seeds)
    ]
    return Sameness(tuple(same), len(shared), min(map(len, shared.values()), default=0))


def identical_arms(arms: Mapping[str, Mapping[Any, Trace]]) -> list[tuple[str, ...]]:
    """Return groups of two or more arms that are one and the same in every seed they share.

    >>> identical_arms({"a": {0: (1.0,)}, "b": {0: (2.0,)}, "c": {0: (1.0,)}})
    [('a', 'c')]
    """
    groups: list[list[str]] = []
    for arm, traces in arms.items():
        alike = (
            group
            for group in groups
            if all(sameness({(): traces}, {(): arms[other]}).everywhere for other in group)
        )
        home = next(alike, None)
        if home is None:
            groups.append([arm])
        else:
            home.append(arm)
    return [tuple(group) for group in groups if len(group) > 1]


def same_runs(sides: Sequence[Cells]) -> bool:
    """Whether two sides have the same runs in every cell and seed that both have."""
    return len(sides) == 2 and sameness(_traces(sides[0]), _traces(sides[1])).everywhere


def _traces(side: Cells) -> dict[Key, dict[Any, Trace]]:
    return {key: _by_seed(chain(*by_seed.values())) for key, by_seed in side.items()}


def _by_seed(outcomes: Iterable[Outcome]) -> dict[Any, Trace]:
    return {o.seed: o.trace for o in outcomes if o.trace is not None}


def same_arms(arms: Mapping[str, Sequence[Outcome]]) -> list[tuple[str, ...]]:
    """Return groups of arms, by name, of which every run is the same in the others."""
    traces = {arm: _by_seed(own) for arm, own in arms.items()}
    common = Counter(pair for own in traces.values() for pair in own.items())
    twins = {arm: own for arm, own in traces.items() if any(common[p] > 1 for p in own.items())}
    return identical_arms(twins)
