"""Contrasts with their verdicts: an arm against the baseline, a level against a level.

The verdict follows science.md, section 4. Runs that diverged are no numbers but results: a mean
over those that are left says nothing good of an arm of which the others diverged.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ablate.report.inference.outcomes import Cells, Matched, matched
from ablate.report.inference.testing import LEVEL, Difference, difference, fisher, holm

Kind = Literal["arm", "main", "interaction"]
Verdict = Literal[
    "better",  # by more than the margin
    "worse",  # by more than the margin
    "equivalent",  # the difference is smaller than the margin
    "undecided",  # there is a difference; whether it exceeds the margin is open
    "not distinguishable",
    "diverges more",
    "diverges less",
    "too few seeds",
    "no spread",  # the same difference in every seed, as with a coarse accuracy
    "neither learned",  # most runs of every side are stuck: no verdict at this scale
    "nothing to compare",
]


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
    verdict: Verdict
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
class Judge:
    """How values are judged: the margin in the metric's unit, and whether higher is better."""

    margin: float
    higher: bool


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
    found = [matched(pair.signs, pair.sides) for pair in pairs]
    tests = [difference(one.values, judge.margin) for one in found]
    counts = [_counts(one) for one in found]
    plain = holm([test.p for test in tests])
    margins = holm([test.p_margin for test in tests])
    equal = holm([test.p_equivalence for test in tests])
    counted = holm(counts)
    contrasts = []
    for place, (pair, match, test) in enumerate(zip(pairs, found, tests, strict=True)):
        holms = (plain[place], margins[place], equal[place], counted[place])
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
                verdict=_verdict(pair, match, test, holms, judge),
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


def _counts(match: Matched) -> float | None:
    """Fisher's p of a difference between two sides in how many seeds diverged for the most part."""
    if len(match.diverged) != 2 or not any(match.diverged):
        return None
    first, second = match.seeds_diverged
    return fisher(first, match.seeds_of, second, match.seeds_of)


def _verdict(
    pair: Pair,
    match: Matched,
    test: Difference,
    holms: tuple[float | None, ...],
    judge: Judge,
) -> Verdict:
    plain, margin, equal, counted = (1.0 if p is None else p for p in holms)
    if counted <= LEVEL:
        more = match.seeds_diverged[0] > match.seeds_diverged[1]
        return "diverges more" if more else "diverges less"
    if test.mean is None:
        return "undecided" if any(match.diverged) else "nothing to compare"
    if match.of and 2 * min(match.stuck) > match.of:
        return "neither learned"
    if test.p is None:
        return "too few seeds" if test.n < 2 else "no spread"
    if judge.higher and test.low == test.high:
        return "no spread"  # a share of examples is coarse: at 0 or at 1 arms look alike
    wanted = test.mean > 0 if judge.higher or pair.kind == "interaction" else test.mean < 0
    word: Verdict = "not distinguishable"
    if margin <= LEVEL:
        word = "better" if wanted else "worse"
    elif equal <= LEVEL:
        word = "equivalent"
    elif plain <= LEVEL:
        word = "undecided"
    return _on_survivors(word, pair, match)


def _on_survivors(word: Verdict, pair: Pair, match: Matched) -> Verdict:
    """Take back what the pairs that finished say in favour of a side of which others diverged."""
    if not any(match.alone):
        return word
    if pair.kind != "interaction":
        first, second = match.alone
        if (word == "worse" and second == 0) or (word == "better" and first == 0):
            return word
    return "undecided" if word in ("better", "worse", "equivalent") else word
