"""Contrasts with their verdicts: an arm against the baseline, a level against a level."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ablate.report.inference.outcomes import Cells, Matched, matched
from ablate.report.inference.testing import Difference, difference, fisher, holm
from ablate.report.inference.verdicts import Evidence, Judge, verdict

Kind = Literal["arm", "main", "interaction"]


@dataclass(frozen=True)
class Contrast:
    """`name` less `against`, in the metric's unit; the sign is the metric's, not "better".

    For an interaction it is how much the first factor's difference grows with the second's, of
    either sign: its verdicts "better" and "worse" read as that sign. `p_holm`, `p_diverged_holm`
    and the verdict are over the contrasts of one kind, of which `family` have a test. The counts
    are those of `Matched`, by side; `p_diverged` is over seeds, for runs of a seed share its luck.
    """

    kind: Kind
    factors: tuple[str, ...]
    name: str
    against: str
    levels: tuple[str, ...]
    references: tuple[str, ...]
    difference: Difference
    p_holm: float | None
    family: int
    verdict: str
    seeds: tuple[Any, ...]
    cells: int
    shared: int
    every: int
    left_out: int
    unpaired: int
    diverged: tuple[int, ...]
    stuck: tuple[int, ...]
    of: int
    seeds_diverged: tuple[int, ...]
    seeds_stuck: tuple[int, ...]
    seeds_of: int
    p_diverged: float | None
    p_diverged_holm: float | None
    undefined: bool


@dataclass(frozen=True)
class Pair:
    """What is compared, by name, before it is judged."""

    kind: Kind
    factors: tuple[str, ...]
    levels: tuple[str, ...]
    references: tuple[str, ...]
    name: str
    against: str
    signs: tuple[int, ...]
    sides: tuple[Cells, ...]


def judged(pairs: Sequence[Pair], judge: Judge) -> list[Contrast]:
    """Return the contrasts of one family, with Holm's correction over all of them."""
    matches = [matched(pair.signs, pair.sides) for pair in pairs]
    tests = [difference(match.values, judge.margin) for match in matches]
    counts = [_counts(match) for match in matches]
    plain = holm([test.p for test in tests])
    margins = holm([test.p_margin for test in tests])
    equal = holm([test.p_equivalence for test in tests])
    counted = holm(counts)
    contrasts = []
    for place, (pair, match, test) in enumerate(zip(pairs, matches, tests, strict=True)):
        evidence = Evidence(
            interaction=pair.kind == "interaction",
            match=match,
            test=test,
            p=_or_1(plain[place]),
            p_margin=_or_1(margins[place]),
            p_equivalence=_or_1(equal[place]),
            p_diverged=_or_1(counted[place]),
            judge=judge,
        )
        contrasts.append(
            Contrast(
                kind=pair.kind,
                factors=pair.factors,
                name=pair.name,
                against=pair.against,
                levels=pair.levels,
                references=pair.references,
                difference=test,
                p_holm=plain[place],
                family=sum(test.p is not None for test in tests),
                verdict=verdict(evidence),
                seeds=tuple(match.seeds),
                cells=match.cells,
                shared=match.shared,
                every=match.every,
                left_out=match.left_out,
                unpaired=match.unpaired,
                diverged=tuple(match.diverged),
                stuck=tuple(match.stuck),
                of=match.of,
                seeds_diverged=tuple(match.seeds_diverged),
                seeds_stuck=tuple(match.seeds_stuck),
                seeds_of=match.seeds_of,
                p_diverged=counts[place],
                p_diverged_holm=counted[place],
                undefined=match.undefined,
            )
        )
    return contrasts


def _or_1(p: float | None) -> float:
    return 1.0 if p is None else p


def _counts(match: Matched) -> float | None:
    """Fisher's p of a difference between two sides in how many seeds diverged for the most part."""
    if len(match.diverged) != 2 or not any(match.diverged):
        return None
    first, second = match.seeds_diverged
    return fisher(first, match.seeds_of, second, match.seeds_of)
