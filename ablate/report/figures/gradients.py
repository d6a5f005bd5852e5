"""Gradient norms by depth: at the first step, and over the steps as a heat map."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from ablate.record.curves import block_norms, read_lines
from ablate.record.record import Gradients
from ablate.report.figures.axes import WIDTH, grid, logarithmic, name_panel, name_rows
from ablate.report.figures.look import GREY
from ablate.report.figures.panels import PanelLayout, layout, legend
from ablate.report.figures.view import PLACEMENT, Drawing, Panel, Series, View, in_turn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Quantity = Callable[[Gradients], list[float | None]]
QUANTITIES: tuple[tuple[Quantity, str], ...] = (
    (lambda gradients: gradients.parameters_first, "parameters"),
    (lambda gradients: gradients.inputs_first, "input (dL/dx)"),
)
MAPS = 9
STEPS = 48  # columns of a heat map
NORM = "L2 norm of the gradient before clipping, of the mean-token loss"


def by_depth(view: View) -> Drawing | None:
    """Gradient norm by block at step 1, one panel a placement, all on one scale."""
    known = [(norms, name) for norms, name in QUANTITIES if any(_lines(view, norms).values())]
    if not known:
        return None
    return Drawing(
        "gradient_by_depth",
        "Gradient norm by depth",
        f"{NORM}, by block at step 1, median over seeds; block 1 is next to the input. Above: over"
        " all parameters of the block; below: with respect to the block's input. A panel a norm"
        " placement, all on one logarithmic scale: a level line passes the gradient on evenly, a"
        " rise to the right is a gradient that vanishes towards the input. A norm of zero has no"
        " place on it and leaves a gap.",
        partial(_draw_by_depth, view, layout(view, [PLACEMENT]), known),
    )


def _lines(view: View, norms: Quantity) -> dict[int, list[float | None]]:
    """Return the median norm by block of every series."""
    return {
        id(series): over_seeds([norms(run.record.gradients) for run in series.runs])
        for series in view.series
    }


def over_seeds(norms: Sequence[Sequence[float | None]]) -> list[float | None]:
    """Return the median by block of the profiles of the most common depth; zero is None.

    >>> over_seeds([[1.0, 2.0], [3.0, 0.0], []])
    [2.0, 2.0]
    """
    depths = [len(profile) for profile in norms if profile]
    if not depths:
        return []
    depth = max(sorted(set(depths)), key=depths.count)
    columns = zip(*(profile for profile in norms if len(profile) == depth), strict=True)
    positive = ([norm for norm in column if norm is not None and norm > 0] for column in columns)
    return [median(column) if column else None for column in positive]


def _draw_by_depth(view: View, plan: PanelLayout, known: list[tuple[Quantity, str]]) -> "Figure":
    figure, rows = grid(len(plan.panels), len(known), height=1.75, across=plan.across)
    for row, (norms, name) in zip(rows, known, strict=True):
        lines = _lines(view, norms)
        row[0].set_yscale("log")
        name_rows(row, name)
        for axes, panel in zip(row, plan.panels, strict=True):
            if row is rows[0]:
                name_panel(axes, panel.title)
            if row is rows[-1]:
                axes.set_xlabel("block")
            for series in reversed(panel.series):
                _draw_profile(axes, plan, series, lines[id(series)])
        logarithmic(row[0].yaxis)
    legend(figure, plan)
    return figure


def _draw_profile(
    axes: "Axes", plan: PanelLayout, series: Series, norms: list[float | None]
) -> None:
    from matplotlib.ticker import MaxNLocator

    look = plan.look(series)
    values = [math.nan if norm is None else norm for norm in norms]
    blocks = range(1, len(values) + 1)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    if look is None:
        axes.plot(blocks, values, color=GREY, linewidth=0.7, zorder=2)
        return
    axes.plot(
        blocks,
        values,
        color=look.colour,
        linestyle=look.dashes,
        marker=look.marker,
        markevery=max(1, len(values) // 8),
        zorder=3,
    )


def over_steps(view: View) -> Drawing | None:
    """Gradient norm over depth and steps, a heat map an arm."""
    chosen = _spread_over_placements(view)
    maps = [(series, grid_) for series in chosen if (grid_ := heat(series))]
    if not maps:
        return None
    left = len(view.series) - len(maps)
    return Drawing(
        "gradient_over_steps",
        "Gradient norm over depth and training",
        f"{NORM}, over all parameters of a block (block 1 below, next to the input), along the"
        " logged steps; median over seeds, one logarithmic colour scale for all arms, hatched where"
        " it is zero or was not reached."
        + (f" The best arms of each placement; {left} others are in the table." if left else ""),
        partial(_draw_over_steps, view, maps),
    )


def _spread_over_placements(view: View) -> list[Series]:
    """The best arms of each placement in turn, then in the order of their placement."""
    panels = view.panels([PLACEMENT]) if PLACEMENT in view.keys else [Panel("", view.series)]
    chosen = [id(series) for series in in_turn(panels, MAPS)]
    return [series for panel in panels for series in panel.series if id(series) in chosen]


def heat(series: Series) -> tuple[list[int], list[list[float | None]]] | None:
    """Return (steps, norms by step and block) of a series, the median over its seeds."""
    by_step: dict[int, list[list[float | None]]] = {}
    for run in series.runs:
        for step, norms in block_norms(read_lines(run.directory, 4 * STEPS), "parameters"):
            by_step.setdefault(step, []).append(norms)
    steps = sorted(by_step)
    if len(steps) < 2:
        return None
    columns = [over_seeds(by_step[step]) for step in steps]
    depth = max(map(len, columns))
    return steps, [[*column, *[None] * (depth - len(column))] for column in columns]


def _draw_over_steps(
    view: View, maps: list[tuple[Series, tuple[list[int], list[list[float | None]]]]]
) -> "Figure":
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    values = [v for _, (_, norms) in maps for column in norms for v in column if v]
    scale = LogNorm(*(min(values), max(values)) if values else (0.1, 1.0), clip=True)
    colours = colormaps["viridis"].with_extremes(bad=(0, 0, 0, 0))
    across = min(3, len(maps))
    down = math.ceil(len(maps) / across)
    figure = Figure(figsize=(WIDTH, 1.65 * down + 0.3))
    drawn = []
    for place, (series, (steps, norms)) in enumerate(maps):
        axes = figure.add_subplot(down, across, place + 1)
        name_panel(axes, series.named(view.keys) or "all runs")
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.grid(visible=False)
        axes.patch.set(visible=True, facecolor="none", hatch="////", edgecolor=GREY, linewidth=0)
        drawn.append(axes)
        image = axes.imshow(
            _even(steps, norms),
            aspect="auto",
            origin="lower",
            interpolation="none",
            cmap=colours,
            norm=scale,
            extent=(steps[0], steps[-1], 0.5, len(norms[0]) + 0.5),
        )
        if place % across == 0:
            axes.set_ylabel("block")
        if place >= len(maps) - across:
            axes.set_xlabel("step")
    bar = figure.colorbar(image, ax=drawn, label="gradient norm", shrink=0.85, pad=0.02)
    logarithmic(bar.ax.yaxis)
    return figure


def _even(steps: list[int], norms: list[list[float | None]]) -> list[list[float]]:
    """Return block by even steps: each column shows the logged step nearest to it."""
    count = min(STEPS, len(steps))
    spots = [steps[0] + (i + 0.5) * (steps[-1] - steps[0]) / count for i in range(count)]
    nearest = [min(range(len(steps)), key=lambda i: abs(steps[i] - spot)) for spot in spots]
    return [
        [math.nan if (norm := norms[i][block]) is None else norm for i in nearest]
        for block in range(len(norms[0]))
    ]
