"""The page's tables of differences, of counts, and of what was chosen."""

from collections.abc import Sequence
from dataclasses import replace

from ablate.report.inference.analysis import Analysis
from ablate.report.inference.contrasts import Contrast
from ablate.report.page.grid import Grid, GridCell, Head
from ablate.report.runs.settings import text
from ablate.shell.clean import clean


def differences(analysis: Analysis) -> list[Grid]:
    """Arms against the baseline, main effects and interactions with intervals and verdicts."""
    unit = analysis.unit
    better = "higher" if analysis.higher_is_better else "lower"
    parts: list[tuple[str, str, Sequence[Contrast], str]] = [
        (
            "contrasts",
            f"Arms against {analysis.against}",
            analysis.contrasts,
            f"{analysis.meaning}; {better} is better. Baseline: {analysis.baseline_reason}.",
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
    ]
    return [
        _contrasts(Grid(name, title, caption, _contrast_heads(unit), []), found)
        for name, title, found, caption in parts
        if found
    ]


def _contrasts(empty: Grid, found: Sequence[Contrast]) -> Grid:
    """Fill a grid of contrasts; a column that says the same in every row is left out."""
    rows = [_contrast(one) for one in found]
    told = [
        place
        for place, head in enumerate(empty.heads)
        if head.name not in ("against", "diverged") or len({row[place].text for row in rows}) > 1
    ]
    heads = [empty.heads[place] for place in told]
    return replace(empty, heads=heads, rows=[[row[place] for place in told] for row in rows])


def _contrast_heads(unit: str) -> list[Head]:
    of = f", {unit}" if unit else ""
    return [
        Head("what"),
        Head("against"),
        Head(f"difference{of}", "mean over seeds of the paired differences", number=True),
        Head("95 % interval", "t-interval over seeds", number=True),
        Head("p (Holm)", "two-sided p of no difference, corrected over this table", number=True),
        Head("verdict", "at the stated margin; see the notes", menu=True),
        Head("seeds", "that both sides have", number=True),
        Head("diverged", "of the paired runs, on either side"),
    ]


def _contrast(one: Contrast) -> list[GridCell]:
    found = one.difference
    interval = GridCell("–")
    if found.low is not None and found.high is not None:
        interval = GridCell(f"{found.low:+.3f} to {found.high:+.3f}".replace("-", "−"), found.low)
    mean = GridCell("–") if found.mean is None else _signed(found.mean)
    p = GridCell("–") if one.p_holm is None else GridCell(_p(one.p_holm), one.p_holm)
    diverged = " : ".join(map(str, one.diverged)) + f" of {one.of}" if any(one.diverged) else "–"
    verdict = one.verdict
    if one.kind == "interaction" and verdict in ("better", "worse"):
        return [
            *(GridCell(clean(one.name)), GridCell(clean(one.against)), mean, interval, p),
            *(
                GridCell("interact", kind="mattered"),
                GridCell(str(found.n), found.n),
                GridCell(diverged),
            ),
        ]
    return [
        *(GridCell(clean(one.name)), GridCell(clean(one.against)), mean, interval, p),
        *(GridCell(verdict, kind=verdict), GridCell(str(found.n), found.n), GridCell(diverged)),
    ]


def _signed(value: float) -> GridCell:
    return GridCell(f"{value:+.3f}".replace("-", "−"), value)


def _p(value: float) -> str:
    """Return a p value.

    >>> _p(0.0314), _p(0.00001)
    ('0.031', '< 0.001')
    """
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def tests(analysis: Analysis) -> list[Grid]:
    """Counts of runs that ended badly, learning rates that were chosen, and sensitivities."""
    grids = [
        Grid(
            "counts",
            "Runs that diverged or got stuck",
            "Runs of the cells and seeds that both have. Runs of a seed share its luck, so Fisher's"
            " exact test is over seeds, each counted by what more than half of its runs did;"
            " Holm's correction over this table.",
            [
                *(Head("what", menu=True), Head("level"), Head("against")),
                *(Head("runs", number=True), Head("seeds", number=True)),
                Head("p (Holm)", number=True),
            ],
            [
                [
                    GridCell(one.ending, kind=one.ending),
                    GridCell(clean(f"{one.factor}={one.level}")),
                    GridCell(clean(f"{one.factor}={one.reference}")),
                    GridCell(f"{one.count} against {one.other}, of {one.of} each", one.count),
                    GridCell(
                        f"{one.in_seeds} against {one.other_seeds}, of {one.seeds} each",
                        one.in_seeds,
                    ),
                    GridCell(_p(one.p_holm), one.p_holm),
                ]
                for one in analysis.counts
            ],
        ),
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
    told = zip(names, losses, strict=True)
    return ", ".join(f"{name}: {'–' if loss is None else f'{loss:.3f}'}" for name, loss in told)


def _with_half(mean: float | None, half: float | None) -> str:
    if mean is None:
        return "–"
    return f"{mean:.3f}" if half is None else f"{mean:.3f} ±{half:.3f}"
