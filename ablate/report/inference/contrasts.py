"""Contrasts with their verdicts: an arm against the baseline, a level against a level."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ablate.judge.looks import PlannedLook
from ablate.report.inference.failure_facts import (
    FailureTest,
    PairFailures,
    StudyFailures,
    none_learned,
)
from ablate.report.inference.identical import same_runs
from ablate.report.inference.pairs import Conditions, Kind
from ablate.report.inference.simple_effects import Effect
from ablate.report.inference.testing import LEVEL, Difference, SeedsToDecide, seeds_to_decide
from ablate.report.inference.verdicts import BY_NAME, Evidence, Judge, verdict


@dataclass(frozen=True)
class Contrast:
    """`name` less `against`, in the metric's unit; the sign is the metric's, not "better".

    For an interaction it is how much the first factor's difference grows with the second's, of
    either sign: its verdicts "better" and "worse" read as that sign. A simple effect is `within`
    levels of other factors. A main effect that depends on factors (`depends`) is not judged.

    `difference` has the plain 95 % interval; each p of Holm and the verdict are over its family, of
    which `family` have a test, and `low` and `high` are the interval at the `level` that the
    verdict was reached at. `only_alone`: the plain interval excludes 0 and this one does not.
    The counts are those of `Matched`, by side; `divergence` is the test of those that diverged.
    `to_decide` is how many seeds would settle what is undecided; not at a planned `look`, after
    which a plan says what comes.
    """

    kind: Kind
    factors: tuple[str, ...]
    name: str
    against: str
    levels: tuple[str, ...]
    references: tuple[str, ...]
    within: Conditions
    difference: Difference
    p_holm: float | None
    p_margin_holm: float | None
    p_equivalence_holm: float | None
    family: int
    level: float | None
    low: float | None
    high: float | None
    only_alone: bool
    verdict: str
    depends: tuple[str, ...]
    to_decide: SeedsToDecide | None
    seeds: tuple[Any, ...]
    cells: int
    shared: int
    every: int
    left_out: int
    unpaired: int
    diverged: tuple[int, ...]
    stuck: tuple[int, ...]
    of: int
    divergence: PairFailures | None
    undefined: bool
    look: PlannedLook | None


Divergences = dict[tuple[str, str], PairFailures]
"""What was asked of runs that diverged, by the names of both sides."""


def divergences(failures: Sequence[StudyFailures]) -> Divergences:
    """Return the tests of pairs that some runs diverged in."""
    return {
        (one.name, one.against): one
        for of_ending in failures
        if of_ending.ending == "diverged"
        for one in (*of_ending.contrasts, *of_ending.levels)
    }


def contrast(effect: Effect, judge: Judge, diverging: Divergences) -> Contrast:
    """Return an effect with its verdict."""
    pair, match, corrected = effect.pair, effect.match, effect.corrected
    divergence = None if effect.within else diverging.get((pair.name, pair.against))
    evidence = Evidence(
        interaction=pair.kind == "interaction",
        match=match,
        test=effect.difference,
        p=_or_1(corrected.p_holm if corrected else None),
        p_margin=_or_1(corrected.p_margin_holm if corrected else None),
        p_equivalence=_or_1(corrected.p_equivalence_holm if corrected else None),
        divergence=_test(divergence),
        depends=bool(effect.depends),
        unlearned=none_learned(pair.sides),
        identical=not any(match.values) and same_runs(pair.sides),
        judge=judge,
    )
    name = verdict(evidence)
    level = corrected.level if corrected else None
    is_open = BY_NAME[name].more_seeds and pair.look is None
    return Contrast(
        kind=pair.kind,
        factors=pair.factors,
        name=pair.name,
        against=pair.against,
        levels=pair.levels,
        references=pair.references,
        within=effect.within,
        difference=effect.difference,
        p_holm=corrected.p_holm if corrected else None,
        p_margin_holm=corrected.p_margin_holm if corrected else None,
        p_equivalence_holm=corrected.p_equivalence_holm if corrected else None,
        family=corrected.family if corrected else 0,
        level=level,
        low=corrected.low if corrected else None,
        high=corrected.high if corrected else None,
        only_alone=corrected is not None and corrected.only_alone,
        verdict=name,
        depends=effect.depends,
        to_decide=seeds_to_decide(effect.difference, judge.margin, level or LEVEL)
        if is_open
        else None,
        seeds=tuple(match.seeds),
        cells=match.cells,
        shared=match.shared,
        every=match.every,
        left_out=match.left_out,
        unpaired=match.unpaired,
        diverged=tuple(match.diverged),
        stuck=tuple(match.stuck),
        of=match.of,
        divergence=divergence,
        undefined=match.undefined,
        look=pair.look,
    )


def _or_1(p: float | None) -> float:
    return 1.0 if p is None else p


def _test(divergence: PairFailures | None) -> FailureTest | None:
    return divergence.test if divergence else None
