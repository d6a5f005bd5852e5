"""The page's tables of differences, and of what was chosen."""

from collections.abc import Sequence
from dataclasses import replace

from ablate.report.inference.analysis import Analysis
from ablate.report.inference.contrasts import Contrast
from ablate.report.page.grid import Grid, GridCell, Head
from ablate.report.runs.settings import text
from ablate.report.words.cells import NONE
from ablate.report.words.heading import against, baseline_reason, direction
from ablate.report.words.interactions import INTERACT, verdict_text, within_text
from ablate.report.words.numbers import decimals, p_decimals
from ablate.shell.clean import clean

ALIKE = ("against", "within", "diverged")


def differences(analysis: Analysis) -> list[Grid]:
    """Arms against the baseline, main effects and interactions with intervals and verdicts."""
    unit = analysis.unit
    parts: list[tuple[str, str, Sequence[Contrast], str]] = [
        (
            "contrasts",
            f"Arms against {against(analysis)}",
            analysis.contrasts,
            f"{analysis.meaning}; {direction(analysis)}. Baseline: {baseline_reason(analysis)}.",
        ),
        (
            "main-effects",
            "Main effects",
            analysis.effects if len(analysis.factors) > 1 else (),
            "A level against the reference level, over all settings of the other factors that both"
            " have.",
        ),
        (
            "interactions",
            "Interactions",
            analysis.interactions,
            "By how much one difference changes with the level of another factor.",
        ),
        (
            "simple-effects",
            "Simple effects",
            analysis.simple,
            "A level against the reference level within levels of the factors it depends on.",
        ),
        (
            "within",
            f"Within {clean(analysis.asked_within)}",
            analysis.within,
            "What each other factor does within the levels that were asked for.",
        ),
    ]
    return [
        _contrasts(Grid(name, title, caption, _contrast_heads(unit), []), contrasts)
        for name, title, contrasts, caption in parts
        if contrasts
    ]


def _contrasts(empty: Grid, contrasts: Sequence[Contrast]) -> Grid:
    """Fill a grid of contrasts; a column that says the same in every row is left out."""
    rows = [_contrast(contrast) for contrast in contrasts]
    differing = [
        place
        for place, head in enumerate(empty.heads)
        if head.name not in ALIKE or len({row[place].text for row in rows}) > 1
    ]
    heads = [empty.heads[place] for place in differing]
    return replace(empty, heads=heads, rows=[[row[place] for place in differing] for row in rows])


def _contrast_heads(unit: str) -> list[Head]:
    of = f", {unit}" if unit else ""
    return [
        Head("what"),
        Head("against"),
        Head("within", "levels of other factors"),
        Head(f"difference{of}", "mean over seeds of the paired differences", number=True),
        Head("95 % interval", "t-interval over seeds, of this difference alone", number=True),
        Head("corrected", "interval as strict as the verdict, by Holm", number=True),
        Head("p (Holm)", "two-sided p of no difference, over its family", number=True),
        Head("verdict", "at the stated margin; see the notes", menu=True),
        Head("seeds", "that both sides have", number=True),
        Head("diverged", "of the paired runs, on either side"),
    ]


def _contrast(contrast: Contrast) -> list[GridCell]:
    test, verdict = contrast.difference, verdict_text(contrast)
    sides = " : ".join(map(str, contrast.diverged))
    p = contrast.p_holm
    return [
        GridCell(clean(contrast.name)),
        GridCell(clean(contrast.against)),
        GridCell(clean(within_text([contrast])) if contrast.within else NONE),
        GridCell(NONE) if test.mean is None else GridCell(decimals(test.mean), test.mean),
        _interval(test.low, test.high),
        _interval(contrast.low, contrast.high),
        GridCell(NONE) if p is None else GridCell(p_decimals(p), p),
        GridCell(verdict, kind=_kind(contrast)),
        GridCell(str(test.n), test.n),
        GridCell(f"{sides} of {contrast.of}" if any(contrast.diverged) else NONE),
    ]


def _interval(low: float | None, high: float | None) -> GridCell:
    if low is None or high is None:
        return GridCell(NONE)
    return GridCell(f"{decimals(low)} to {decimals(high)}", low)


def _kind(contrast: Contrast) -> str:
    """What a verdict is coloured by."""
    matters = contrast.verdict == "depends" or verdict_text(contrast) == INTERACT
    return "mattered" if matters else contrast.verdict


def tests(analysis: Analysis) -> list[Grid]:
    """Learning rates that were chosen, and sensitivities."""
    grids = [
        Grid(
            "chosen",
            "What was chosen for each arm",
            "By the mean validation loss on seeds that nothing else here is made of.",
            [Head("arm"), Head("chosen"), Head("among, with their losses"), Head("on seeds")],
            [
                [
                    GridCell(clean(one.arm)),
                    GridCell(clean(f"{one.key}={one.value}")),
                    GridCell(clean(_losses(one.among, one.losses))),
                    GridCell(", ".join(map(text, one.seeds))),
                ]
                for one in analysis.choices
            ],
        ),
        Grid(
            "sensitivity",
            "Sensitivity to the learning rate",
            "Mean over the rates of min(loss, ln V), less the best, nats (Wortsman et al. 2023): 0"
            " is an arm that any of these rates suits.",
            [
                *(Head("arm"), Head("sensitivity", number=True), Head("rates, with their losses")),
                Head("seeds", number=True),
            ],
            [
                [
                    GridCell(clean(one.arm)),
                    GridCell(_with_half(one.value.mean, one.value.half_width), one.value.mean),
                    GridCell(_losses([text(rate) for rate in one.rates], one.losses)),
                    GridCell(str(one.value.n), one.value.n),
                ]
                for one in analysis.sensitivities
            ],
        ),
    ]
    return [grid for grid in grids if grid.rows]


def _losses(names: Sequence[str], losses: Sequence[float | None]) -> str:
    pairs = zip(names, losses, strict=True)
    return ", ".join(f"{name}: {NONE if loss is None else f'{loss:.3f}'}" for name, loss in pairs)


def _with_half(mean: float | None, half: float | None) -> str:
    if mean is None:
        return NONE
    return f"{mean:.3f}" if half is None else f"{mean:.3f} ±{half:.3f}"
