"""What is told of the contrasts and failures, and in which order: what mattered comes first."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ablate.report.inference.beginnings import FirstLosses, GradientFlow
from ablate.report.inference.caveats import Caveat
from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.failing import (
    FailingArms,
    FailingLevels,
    FailingTogether,
    FailuresOpen,
    failing_together,
)
from ablate.report.inference.failure_facts import PairFailures, StudyFailures
from ablate.report.inference.ledger import Flag
from ablate.report.inference.verdicts import BY_NAME, KINDS, Said


@dataclass(frozen=True)
class SingleVerdict:
    """A contrast that is told of alone."""

    contrast: Contrast


@dataclass(frozen=True)
class SharedVerdict:
    """Several contrasts against one level, or interactions, with the same verdict."""

    contrasts: tuple[Contrast, ...]


@dataclass(frozen=True)
class SimpleEffects:
    """A main effect that depends on other factors, told by what it is within their levels.

    The largest of `parts` come first.
    """

    average: Contrast
    parts: tuple[Contrast, ...]


Fact = (
    SingleVerdict | SharedVerdict | SimpleEffects | FailingArms | FailingLevels | FailingTogether
    | FailuresOpen | FirstLosses | GradientFlow | Caveat | Flag
)  # fmt: skip


@dataclass(frozen=True)
class Point:
    """A fact with the heading that it is told under; the most important of a kind comes first."""

    kind: Said
    fact: Fact


def points(
    contrasts: Sequence[Contrast],
    crossed: Sequence[Contrast],
    simple: Sequence[Contrast],
    failures: Sequence[StudyFailures],
    caveats: Iterable[Caveat | Flag],
) -> list[Point]:
    """Return all points in order; `contrasts` are main effects, or arms against the baseline.

    Of the interactions (`crossed`) those are told that could be tested: without an interval there
    is nothing to say of one, nor where a setting has no effect anywhere.
    """
    apart = [one for one in crossed if one.difference.low != 0 or one.difference.high != 0]
    tested = [contrast for contrast in apart if contrast.difference.p is not None]
    every = [
        *(point for of_ending in failures for point in _of_failures(of_ending, contrasts)),
        *_of_contrasts([one for one in contrasts if not (one.depends or _as_levels(one))]),
        *_of_simple(contrasts, simple),
        *_of_contrasts(tested),
        *(point for of_ending in failures for point in _still_open(of_ending, contrasts)),
        *(Point("caution", caveat) for caveat in caveats),
    ]
    return sorted(every, key=lambda point: KINDS.index(point.kind))


def _of_contrasts(contrasts: Sequence[Contrast]) -> Iterator[Point]:
    """Yield the points of contrasts of one kind, the largest differences first."""
    ordered = sorted(contrasts, key=_importance)
    families: dict[tuple[str, ...], list[Contrast]] = {}
    for contrast in ordered:
        families.setdefault(_family(contrast), []).append(contrast)
    for contrast in ordered:
        rule = BY_NAME[contrast.verdict]
        alike = families[_family(contrast)]
        if not rule.shared or len(alike) == 1:
            yield Point(rule.said, SingleVerdict(contrast))
        elif contrast is alike[0]:
            yield Point(rule.said, SharedVerdict(tuple(alike)))


def _as_levels(contrast: Contrast) -> bool:
    """Whether a contrast is told among the levels that fail more than others."""
    return contrast.kind == "main" and contrast.verdict.startswith("diverges")


def _importance(contrast: Contrast) -> tuple[bool, float]:
    return (not contrast.verdict.startswith("diverges"), _size(contrast))


def _size(contrast: Contrast) -> float:
    return -abs(contrast.difference.mean or 0.0)


def _family(contrast: Contrast) -> tuple[str, ...]:
    """What contrasts that are told of together have in common."""
    if contrast.kind == "interaction":
        return (contrast.verdict,)
    return (contrast.verdict, contrast.against, *contrast.factors)


def _of_simple(contrasts: Sequence[Contrast], simple: Sequence[Contrast]) -> Iterator[Point]:
    """Yield each effect that depends on others, by its parts, the largest first."""
    facts = []
    for average in contrasts:
        if average.depends:
            names = (average.name, average.against)
            parts = [one for one in simple if (one.name, one.against) == names]
            facts.append(SimpleEffects(average, tuple(sorted(parts, key=_size))))
    for fact in sorted(facts, key=lambda fact: min(map(_size, fact.parts), default=0.0)):
        mattered = any(BY_NAME[one.verdict].said == "mattered" for one in fact.parts)
        yield Point("mattered" if mattered else "undecided", fact)


def _of_failures(failures: StudyFailures, contrasts: Sequence[Contrast]) -> Iterator[Point]:
    """Yield which arms and levels fail, where no contrast that is told says so already."""
    tests = _untold(failures, contrasts)
    shown = [one for one in tests if one.test.shown]
    together = failing_together(failures)
    if together:
        yield Point("mattered", together)
    by_level = {one.name for one in failures.levels or failures.contrasts if one.test.shown}
    decided = [arm for arm in failures.arms if arm.decided and arm.arm not in by_level]
    for more in (True, False):
        arms = [arm for arm in decided if (arm.failed > arm.expected) == more]
        rest = [arm for arm in failures.arms if arm not in arms]
        if arms:
            others, of = sum(arm.failed for arm in rest), sum(arm.of for arm in rest)
            fact = FailingArms(failures.ending, more, tuple(arms), others, of)
            yield Point("mattered", fact)
    if shown:
        ordered = sorted(shown, key=lambda one: (one.test.p, -abs(one.test.change)))
        yield Point("mattered", FailingLevels(failures.ending, tuple(ordered)))


def _still_open(failures: StudyFailures, contrasts: Sequence[Contrast]) -> Iterator[Point]:
    """Yield the failures of which nothing was shown, by why."""
    still_open: dict[str, list[PairFailures]] = {}
    for one in _untold(failures, contrasts):
        if not one.test.shown and any(count.change for count in one.test.cells):
            still_open.setdefault(one.test.verdict, []).append(one)
    for verdict, tests in still_open.items():
        yield Point("undecided", FailuresOpen(failures.ending, verdict, tuple(tests)))


def _alone(contrast: Contrast, contrasts: Sequence[Contrast]) -> bool:
    """Whether a contrast is told of alone, with what diverged."""
    if _as_levels(contrast) or contrast.depends:
        return False
    alike = sum(_family(other) == _family(contrast) for other in contrasts)
    return not BY_NAME[contrast.verdict].shared or alike == 1


def _untold(failures: StudyFailures, contrasts: Sequence[Contrast]) -> list[PairFailures]:
    """Return the tests of levels, or else of arms, that no contrast tells already."""
    names_told = {
        (one.name, one.against)
        for one in contrasts
        if failures.ending == "diverged" and any(one.diverged) and _alone(one, contrasts)
    }
    tests = failures.levels or failures.contrasts
    return [one for one in tests if (one.name, one.against) not in names_told]
