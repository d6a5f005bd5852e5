"""All tests of failures that a study has."""

from collections.abc import Iterator, Sequence

from ablate.report.inference.arms import Group
from ablate.report.inference.failing_arms import failing_arms, gate
from ablate.report.inference.failure_facts import (
    ArmFailures,
    CellFailures,
    Ending,
    PairFailures,
    StudyFailures,
    by_seed,
    grid,
)
from ablate.report.inference.failures import failure_test, judged_failures
from ablate.report.inference.pairs import Pair

ENDINGS: tuple[Ending, ...] = ("stuck", "diverged")
AT_LOOKS = 0.125
"""Of the level of a planned look, what each ending has beside the differences."""


def study_failures(
    groups: Sequence[Group],
    against_baseline: Sequence[Pair],
    main: Sequence[Pair],
    crossed: Sequence[Pair],
) -> list[StudyFailures]:
    """Return what can be said of each ending that some run has; `groups` are arms by all factors.

    With five seeds a test of counts has no p below 0.008, so that more than six of them decide
    nothing together: an interaction is asked for only where both of its levels were shown to
    matter, which the cells that they name have mostly told already. Arms against the baseline show
    nothing where neither arms nor levels do; at planned looks it is they that lead.
    """
    every = []
    for ending in ENDINGS:
        arms = {one.arm.label: by_seed(one.outcomes, ending) for one in groups}
        led = [pair for pair in against_baseline if pair.look]
        contrasts = _judged(ending, led, 0.0, AT_LOOKS)
        if not contrasts and not any(any(runs.values()) for runs in arms.values()):
            continue
        least = _least(contrasts) if led else gate(arms)
        levels = _judged(ending, main, least)
        shown = {_level(one, 0) for one in levels if one.test.shown}
        both_shown = [pair for pair in crossed if {_level(pair, 0), _level(pair, 1)} <= shown]
        arm_tests = failing_arms(arms, least)
        p_values = [one.p_holm for one in arm_tests] + [one.test.p_holm for one in levels]
        first = min((p for p in p_values if p is not None), default=1.0)
        contrasts = contrasts if led else _judged(ending, against_baseline, first)
        every.append(
            StudyFailures(
                ending=ending,
                gate=least,
                cells=tuple(_cells(groups, ending, arm_tests, levels)),
                arms=tuple(arm_tests),
                contrasts=tuple(contrasts),
                levels=tuple(levels),
                interactions=tuple(_judged(ending, both_shown, least)),
            )
        )
    return every


def _cells(
    groups: Sequence[Group],
    ending: Ending,
    arms: Sequence[ArmFailures],
    levels: Sequence[PairFailures],
) -> Iterator[CellFailures]:
    """Yield the counts of every cell; those that a decided test names as failing more are told."""
    decided = {one.arm for one in arms if one.decided and one.failed > one.expected}
    named = {cell for one in levels if one.test.shown for cell in _failing_more(one)}
    for group in groups:
        own = group.outcomes[0].levels
        ended = by_seed(group.outcomes, ending)
        yield CellFailures(
            levels=tuple(own.items()),
            failed=sum(ended.values()),
            of=len(ended),
            named=group.arm.label in decided or any(cell <= own.items() for cell in named),
        )


def _failing_more(one: PairFailures) -> Iterator[frozenset[tuple[str, str]]]:
    """Yield the settings of the cells in which a difference is decided, of the side that fails."""
    for count in one.test.cells:
        if count.named:
            side = one.levels if count.change > 0 else one.references
            cell = zip(one.cell_keys, count.cell, strict=True)
            yield frozenset((*zip(one.factors, side, strict=True), *cell))


def _least(tests: Sequence[PairFailures]) -> float:
    return min((one.test.p_holm for one in tests if one.test.p_holm is not None), default=1.0)


def _judged(
    ending: Ending, pairs: Sequence[Pair], at_least: float, share: float = 1.0
) -> list[PairFailures]:
    tests = [(pair, failure_test([grid(side, ending) for side in pair.sides])) for pair in pairs]
    failed = [(pair, test) for pair, test in tests if test is not None]
    shares = [share * pair.share for pair, _ in failed]
    judged = judged_failures([test for _, test in failed], at_least, shares)
    return [
        PairFailures(
            ending=ending,
            kind=pair.kind,
            factors=pair.factors,
            levels=pair.levels,
            references=pair.references,
            name=pair.name,
            against=pair.against,
            cell_keys=pair.cell_keys,
            test=test,
        )
        for (pair, _), test in zip(failed, judged, strict=True)
    ]


def _level(pair: Pair | PairFailures, place: int) -> tuple[str, str]:
    return pair.factors[place], pair.levels[place]
