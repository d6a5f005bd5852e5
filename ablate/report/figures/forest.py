"""Differences with their intervals, as a forest plot."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ablate.report.figures.look import FAINT, INK, SOFT
from ablate.report.figures.view import Drawing, shortened
from ablate.report.inference.analysis import Analysis
from ablate.report.inference.contrasts import Contrast
from ablate.report.words.heading import against, direction
from ablate.report.words.interactions import verdict_text, within_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 16  # rows of a kind
DECIDED = {"better": "#009e73", "worse": "#d55e00", "equivalent": "#0072b2"}
Block = tuple[str, list[Contrast]]


INTERVALS = (
    "dot, thick 95 % interval over seeds, and thin the interval after the correction, as strict as"
    " the verdict; without a bar too few seeds give none."
)


def effects(analysis: Analysis) -> Drawing | None:
    """Main effects, interactions and arms against the baseline, with their intervals."""
    main, crossed = largest(analysis.effects), largest(analysis.interactions)
    arms = largest(analysis.contrasts)
    if len(analysis.factors) < 2 and (crossed or arms):
        main = []  # with one factor they are the arms' differences over again
    titled = (
        ("main effects", main),
        ("interactions", crossed),
        (f"arms against {against(analysis)}", arms),
    )
    blocks = [(title, contrasts) for title, contrasts in titled if contrasts]
    if not blocks:
        return None
    return Drawing(
        "effects",
        "Differences with intervals",
        f"Difference in {analysis.meaning} ({direction(analysis)}), paired by seed: {INTERVALS}"
        f" {_band(analysis)} An interaction is by how much one difference changes with the other"
        " factor. The largest of each kind are drawn.",
        partial(_draw, analysis, blocks),
    )


def simple_effects(analysis: Analysis) -> Drawing | None:
    """What a level does within each combination of the levels that its effect depends on."""
    parts: dict[str, list[Contrast]] = {}
    for contrast in (*analysis.within, *analysis.simple):
        title = f"{contrast.name} − {contrast.against}, within"
        parts.setdefault(title, []).append(contrast)
    blocks = [(title, drawn) for title, part in parts.items() if (drawn := largest(part))]
    if not blocks:
        return None
    return Drawing(
        "simple_effects",
        "Simple effects",
        f"Difference in {analysis.meaning} ({direction(analysis)}) where it depends on other"
        f" factors, within each combination of their levels, paired by seed: {INTERVALS}"
        f" {_band(analysis)} The {MOST} largest of each are drawn.",
        partial(_draw, analysis, blocks),
    )


def _band(analysis: Analysis) -> str:
    return (
        f"Grey band: the margin of ±{analysis.margin:g}, below which a difference is called none."
    )


def largest(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """Return the contrasts with a mean, the largest of them, in their order."""
    known = [contrast for contrast in contrasts if contrast.difference.mean is not None]
    drawn = sorted(known, key=lambda contrast: -abs(contrast.difference.mean or 0.0))[:MOST]
    return sorted(drawn, key=lambda contrast: contrast.difference.mean or 0.0)


def _draw(analysis: Analysis, blocks: list[Block]) -> "Figure":
    from matplotlib.figure import Figure

    heights = [len(rows) for _, rows in blocks]
    figure = Figure(figsize=(7.2, 0.55 + 0.38 * len(blocks) + 0.19 * sum(heights)))
    axes = figure.subplots(
        len(blocks), 1, sharex=True, squeeze=False, height_ratios=[n + 0.6 for n in heights]
    )
    limit = _limit([contrast for _, rows in blocks for contrast in rows], analysis.margin)
    for part, (title, rows) in zip(axes[:, 0], blocks, strict=True):
        _draw_block(part, title, rows, analysis)
        part.set_xlim(-limit, limit)
    axes[-1, 0].set_xlabel(f"difference, {analysis.unit}" if analysis.unit else "difference")
    return figure


def _limit(rows: Sequence[Contrast], margin: float) -> float:
    """How far the axis goes: to all means, and to what of the intervals leaves them readable."""
    means = max(abs(contrast.difference.mean or 0.0) for contrast in rows)
    ends = [
        abs(end)
        for contrast in rows
        for end in (contrast.difference.low, contrast.difference.high)
        if end
    ]
    return 1.08 * max(margin, means, min(max(ends, default=0.0), 4 * max(means, margin)))


def _draw_block(axes: "Axes", title: str, rows: list[Contrast], analysis: Analysis) -> None:
    axes.set_title(shortened(title, 70))
    axes.axvspan(-analysis.margin, analysis.margin, color=FAINT, linewidth=0, zorder=0.5)
    axes.axvline(0, color=SOFT, linewidth=0.8, zorder=1)
    for place, contrast in enumerate(rows):
        test = contrast.difference
        colour = INK if contrast.kind == "interaction" else DECIDED.get(contrast.verdict, INK)
        for low, high, width in ((contrast.low, contrast.high, 0.7), (test.low, test.high, 2.0)):
            if low is not None and high is not None:
                axes.plot([low, high], [place] * 2, color=colour, linewidth=width)
        hollow = contrast.verdict not in DECIDED
        axes.plot(
            [test.mean or 0.0],
            [place],
            "o",
            color=colour,
            markerfacecolor="none" if hollow else colour,
            markersize=4.5,
            zorder=3,
        )
        axes.annotate(
            verdict_text(contrast),
            (1.01, place),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=7,
            color=SOFT if hollow else INK,
        )
    axes.set_yticks(range(len(rows)), [_name(contrast) for contrast in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)


def _name(contrast: Contrast) -> str:
    if contrast.within:
        return shortened(within_text([contrast]), 46)
    sides = f"{contrast.name} − {contrast.against}" if contrast.kind == "main" else contrast.name
    return shortened(sides, 46)
