"""The page's tables of runs that diverged or got stuck: by level and cell, and by arm."""

from ablate.report.inference.analysis import Analysis
from ablate.report.inference.failure_facts import ArmFailures, Ending, PairFailures
from ablate.report.page.grid import Grid, GridCell, Head
from ablate.report.words.cells import NONE
from ablate.report.words.failure_sentences import cells_named
from ablate.report.words.numbers import p_decimals, some
from ablate.shell.clean import clean


def failures(analysis: Analysis) -> list[Grid]:
    """Levels and interactions with the cells that decide them, and arms against all others."""
    pairs = [
        one
        for of_ending in analysis.failures
        for one in (*of_ending.levels, *of_ending.interactions)
    ]
    arms = [
        (of_ending.ending, arm)
        for of_ending in analysis.failures
        for arm in of_ending.arms
        if arm.failed
    ]
    grids = [
        Grid(
            "counts",
            "Runs that diverged or got stuck",
            "Runs of the cells that both have, of an interaction the four combinations. Permutation"
            " of seeds, cell by cell, and where a difference is decided. Holm's correction over"
            " levels, and over interactions. Without p none below 0.05 was possible.",
            [
                *(Head("what", menu=True), Head("level"), Head("against"), Head("runs")),
                *(Head("decided in"), Head("p (Holm)", number=True), Head("verdict", menu=True)),
            ],
            [_pair(one) for one in pairs],
        ),
        Grid(
            "failing-arms",
            "Arms with runs that diverged or got stuck, against all others",
            "Exact within seeds: how often an arm like the others would be among those that fail.",
            [
                *(Head("what", menu=True), Head("arm"), Head("runs", number=True)),
                *(Head("expected", number=True), Head("p (Holm)", number=True)),
            ],
            [_arm(ending, arm) for ending, arm in arms],
        ),
    ]
    return [grid for grid in grids if grid.rows]


def _pair(one: PairFailures) -> list[GridCell]:
    test = one.test
    return [
        GridCell(one.ending, kind=one.ending),
        GridCell(clean(one.name)),
        GridCell(clean(one.against)),
        GridCell(" : ".join(map("{} of {}".format, test.failed, test.of))),
        GridCell(clean(some(cells_named(one), 2)) or NONE),
        _p(test.p_holm),
        GridCell(test.verdict, kind="mattered" if test.shown else ""),
    ]


def _arm(ending: Ending, arm: ArmFailures) -> list[GridCell]:
    return [
        GridCell(ending, kind=ending),
        GridCell(clean(arm.arm)),
        GridCell(f"{arm.failed} of {arm.of}", arm.failed),
        GridCell(f"{arm.expected:.1f}", arm.expected),
        _p(arm.p_holm),
    ]


def _p(p: float | None) -> GridCell:
    return GridCell(NONE) if p is None else GridCell(p_decimals(p), p)
