"""How many runs of a level diverged or got stuck, against its reference level."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.testing import fisher, holm

Ending = Literal["diverged", "stuck"]


@dataclass(frozen=True)
class Count:
    """`count` of `of` runs of a level, `other` of as many of the reference: same cells and seeds.

    Runs of a seed share its luck, so the seed is the unit of the test: more than half of its runs
    ended so in `in_seeds` of `seeds` seeds of the level, and in `other_seeds` of the reference.
    `p` is Fisher's, two-sided; `p_holm` is over all counts of the analysis.
    """

    ending: Ending
    factor: str
    level: str
    reference: str
    count: int
    other: int
    of: int
    in_seeds: int
    other_seeds: int
    seeds: int
    p: float
    p_holm: float

    @property
    def name(self) -> str:
        """The level as it is typed."""
        return f"{self.factor}={self.level}"

    @property
    def against(self) -> str:
        """The reference level as it is typed."""
        return f"{self.factor}={self.reference}"


def counted(effects: Sequence[Contrast]) -> list[Count]:
    """Return the counts of every main effect in which a run ended so."""
    endings: tuple[Ending, ...] = ("diverged", "stuck")
    counts = [
        count
        for ending in endings
        for effect in effects
        if (count := _count(ending, effect)) is not None
    ]
    adjusted = holm([count.p for count in counts])
    return [
        replace(count, p_holm=p) for count, p in zip(counts, adjusted, strict=True) if p is not None
    ]


def _count(ending: Ending, effect: Contrast) -> Count | None:
    bad = ending == "diverged"
    count, other = effect.diverged if bad else effect.stuck
    if not count and not other:
        return None
    seeds, others = effect.seeds_diverged if bad else effect.seeds_stuck
    p = fisher(seeds, effect.seeds_of, others, effect.seeds_of)
    names = (effect.factors[0], effect.levels[0], effect.references[0])
    return Count(ending, *names, count, other, effect.of, seeds, others, effect.seeds_of, p, p)
