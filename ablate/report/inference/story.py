"""What is told of the contrasts and counts, and in which order: what mattered comes first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ablate.report.inference.caveats import Caveat
from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.counts import Count
from ablate.report.inference.ledger import Flag
from ablate.report.inference.testing import LEVEL
from ablate.report.inference.verdicts import BY_NAME, KINDS, Said


@dataclass(frozen=True)
class Dependence:
    """The factor that a main effect was shown to depend on, and the interaction that shows it."""

    factor: str
    interaction: tuple[str, ...]


@dataclass(frozen=True)
class SingleVerdict:
    """A contrast that is told of alone. One that depends on factors is no more than an average."""

    contrast: Contrast
    depends_on: tuple[Dependence, ...]


@dataclass(frozen=True)
class AverageAlone:
    """A main effect that averages to no difference, and has mattered: it depends on factors."""

    contrast: Contrast
    depends_on: tuple[Dependence, ...]


@dataclass(frozen=True)
class SharedVerdict:
    """Several contrasts against one level, or interactions, with the same verdict."""

    contrasts: tuple[Contrast, ...]


Fact = SingleVerdict | AverageAlone | SharedVerdict | Count | Caveat | Flag


@dataclass(frozen=True)
class Point:
    """A fact with the heading that it is told under; the most important of a kind comes first."""

    kind: Said
    fact: Fact


Depends = dict[tuple[str, str], dict[str, Dependence]]
"""(Factor, level) → what its difference depends on, by the other factor."""


def points(
    contrasts: Sequence[Contrast],
    crossed: Sequence[Contrast],
    counts: Sequence[Count],
    caveats: Iterable[Caveat | Flag],
) -> list[Point]:
    """Return all points in order; `contrasts` are main effects, or arms against the baseline.

    Of the interactions (`crossed`) those are told that could be tested: without an interval there
    is nothing to say of one.
    """
    tested = [contrast for contrast in crossed if contrast.difference.p is not None]
    every = [
        *_of_contrasts(contrasts, _depends(crossed)),
        *_of_counts(counts, contrasts),
        *_of_contrasts(tested, {}),
        *(Point("caution", caveat) for caveat in caveats),
    ]
    return sorted(every, key=lambda point: KINDS.index(point.kind))


def told_effects(effects: Sequence[Contrast]) -> tuple[list[Contrast], list[str]]:
    """Return the effects to tell, and the factors that no two runs differ in alone."""
    by_factor: dict[str, list[Contrast]] = {}
    for effect in effects:
        by_factor.setdefault(effect.factors[0], []).append(effect)
    mixed = [factor for factor, own in by_factor.items() if not any(e.shared for e in own)]
    return [effect for effect in effects if effect.factors[0] not in mixed], mixed


def _depends(crossed: Sequence[Contrast]) -> Depends:
    on: Depends = {}
    for contrast in crossed:
        if contrast.verdict in ("better", "worse"):
            for place, other in ((0, 1), (1, 0)):
                others = on.setdefault((contrast.factors[place], contrast.levels[place]), {})
                factor = contrast.factors[other]
                others[factor] = Dependence(factor, contrast.factors)
    return on


def _of_contrasts(contrasts: Sequence[Contrast], depends: Depends) -> Iterable[Point]:
    """Yield the points of contrasts of one kind, the largest differences first."""
    ordered = sorted(contrasts, key=_importance)
    on = [_depends_on(contrast, depends) for contrast in ordered]
    families: dict[tuple[str, ...], list[Contrast]] = {}
    for contrast, dependences in zip(ordered, on, strict=True):
        if not dependences:
            families.setdefault(_family(contrast), []).append(contrast)
    for contrast, dependences in zip(ordered, on, strict=True):
        rule = BY_NAME[contrast.verdict]
        alike = families.get(_family(contrast), [])
        if dependences and rule.none_on_average:
            yield Point("mattered", AverageAlone(contrast, dependences))
        elif dependences or not rule.shared or len(alike) == 1:
            yield Point(rule.said, SingleVerdict(contrast, dependences))
        elif contrast is alike[0]:
            yield Point(rule.said, SharedVerdict(tuple(alike)))


def _importance(contrast: Contrast) -> tuple[bool, float]:
    counts = contrast.verdict in ("diverges more", "diverges less")
    return (not counts, -abs(contrast.difference.mean or 0.0))


def _depends_on(contrast: Contrast, depends: Depends) -> tuple[Dependence, ...]:
    if contrast.kind != "main":
        return ()
    return tuple(depends.get((contrast.factors[0], contrast.levels[0]), {}).values())


def _family(contrast: Contrast) -> tuple[str, ...]:
    """What contrasts that are told of together have in common."""
    if contrast.kind == "interaction":
        return (contrast.verdict,)
    return (contrast.verdict, contrast.against, *contrast.factors)


def _of_counts(counts: Iterable[Count], contrasts: Sequence[Contrast]) -> Iterable[Point]:
    """Yield how many runs diverged or got stuck, where no contrast says so already."""
    said = {
        (contrast.name, contrast.against)
        for contrast in contrasts
        if any(contrast.diverged) and _alone(contrast, contrasts)
    }
    ordered = [
        count
        for count in sorted(counts, key=lambda count: (count.p, -abs(count.count - count.other)))
        if count.ending != "diverged" or (count.name, count.against) not in said
    ]
    yield from (Point("mattered", count) for count in ordered if count.p_holm <= LEVEL)
    for count in ordered:
        if count.p_holm > LEVEL and count.count != count.other:
            yield Point("undecided", count)


def _alone(contrast: Contrast, contrasts: Sequence[Contrast]) -> bool:
    """Whether a contrast is told of alone."""
    alike = sum(_family(other) == _family(contrast) for other in contrasts)
    return not BY_NAME[contrast.verdict].shared or alike == 1
