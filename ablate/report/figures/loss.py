"""Training loss against steps, and the first loss against ln V."""

from collections.abc import Sequence
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING

from ablate.judge.labels import smooth, smoothing_window
from ablate.record.curves import thinned
from ablate.report.figures.axes import grid, logarithmic, name_panel, name_rows, reference
from ablate.report.figures.look import GREY, INK, SOFT
from ablate.report.figures.panels import PanelLayout, layout, legend
from ablate.report.figures.view import Drawing, Series, View, seeds
from ablate.report.runs.collect import Run
from ablate.report.runs.tables import distinct

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 160  # of a curve in a figure
ROWS = 24  # of a dot plot
HEADROOM = 1.12  # times ln V: what is above is cut off

Curve = list[tuple[float, float, float, float]]
"""Step, mean over seeds, lowest and highest seed."""


def curves(view: View) -> Drawing | None:
    """Training loss of every arm, with a band over its seeds."""
    by_series = {id(series): seed_curve(series.runs) for series in view.series}
    if not any(by_series.values()):
        return None
    several = any(seeds(series.runs) > 1 for series in view.series)
    band = " Line: mean over seeds; band: from the lowest to the highest seed." if several else ""
    return Drawing(
        "loss",
        "Training loss",
        "Cross-entropy of the training batches, nats per token, smoothed over a twentieth of the"
        f" steps.{band} Dotted: ln V, a uniform guess, and the loss of a model that knows only"
        " token frequencies. A cross ends a curve that diverged or stopped early.",
        partial(_draw_curves, view, layout(view), by_series),
    )


def seed_curve(runs: Sequence[Run]) -> Curve:
    """Return the smoothed loss over the runs at the steps that they logged, thinned."""
    smoothed = [curve for curve in map(_smoothed, runs) if curve]
    if not smoothed:
        return []
    steps = sorted({step for curve in smoothed for step in curve})
    curve: Curve = []
    for step in (steps[place] for place in thinned(len(steps), POINTS)):
        values = [curve[step] for curve in smoothed if step in curve]
        curve.append((step, fmean(values), min(values), max(values)))
    return curve


def _smoothed(run: Run) -> dict[float, float]:
    points = run.record.curve.points()
    losses = [loss for _, loss in points]
    # The window is one in steps; the curve of a long run is thinned in the record.
    means = smooth(losses, smoothing_window(len(losses)))
    return {step: mean for (step, _), mean in zip(points, means, strict=True)}


def _draw_curves(view: View, plan: PanelLayout, by_series: dict[int, Curve]) -> "Figure":
    figure, (row,) = grid(len(plan.panels), across=plan.across)
    for axes, panel in zip(row, plan.panels, strict=True):
        name_panel(axes, panel.title)
        axes.set_xlabel("step")
        for series in reversed(panel.series):
            _draw_curve(axes, plan, series, by_series[id(series)])
    name_rows(row, "training loss, nats")
    _levels(row, view, [point for curve in by_series.values() for point in curve])
    legend(figure, plan)
    return figure


def _draw_curve(axes: "Axes", plan: PanelLayout, series: Series, curve: Curve) -> None:
    if not curve:
        return
    look = plan.look(series)
    steps = [point[0] for point in curve]
    means = [point[1] for point in curve]
    if look is None:
        axes.plot(steps, means, color=GREY, linewidth=0.7, zorder=2)
        return
    lowest, highest = [point[2] for point in curve], [point[3] for point in curve]
    axes.fill_between(steps, lowest, highest, color=look.colour, alpha=0.16, linewidth=0)
    axes.plot(steps, means, color=look.colour, linestyle=look.dashes, zorder=3)
    if any(run.record.status in ("diverged", "failed") for run in series.runs):
        axes.plot(steps[-1], means[-1], "x", color=look.colour, markersize=5, zorder=4)


def _levels(row: Sequence["Axes"], view: View, points: Curve) -> None:
    """Draw ln V and the unigram loss, and cut off what lies far above."""
    losses = [run.record.loss for series in view.series for run in series.runs]
    uniform = distinct(loss.uniform for loss in losses if loss.uniform is not None)
    unigram = distinct(round(loss.unigram, 3) for loss in losses if loss.unigram is not None)
    low, high = min(point[2] for point in points), max(point[3] for point in points)
    if uniform and high > HEADROOM * uniform[-1] and low < uniform[-1]:
        high = HEADROOM * uniform[-1]
    margin = 0.04 * (high - low or 1)
    row[0].set_ylim(low - margin, high + margin)
    for axes in row:
        for values, name in ((uniform, "ln V"), (unigram, "unigram")):
            if len(values) == 1 and low - margin < values[0] < high + margin:
                reference(axes, values[0], name if axes is row[0] else "")


def first(view: View) -> Drawing | None:
    """The first loss of every arm beside ln V."""
    if not any(values_of_first(series) for series in view.series):
        return None
    cut = len(view.series) - ROWS
    return Drawing(
        "first_loss",
        "First loss against ln V",
        "Cross-entropy of the first batch before any update, nats per token: a dot a seed, a bar"
        " their mean. Upright line: ln V, what a model that knows nothing should pay; far above it"
        " the head is too large or a final norm is missing, below it targets leak."
        + (f" The {ROWS} arms farthest from ln V; {cut} others lie nearer." if cut > 0 else ""),
        partial(_draw_first, view),
    )


def values_of_first(series: Series) -> list[tuple[float, float]]:
    """Return (first loss, ln V) of the runs that have both."""
    losses = [run.record.loss for run in series.runs]
    return [
        (loss.first, loss.uniform)
        for loss in losses
        if loss.first is not None and loss.uniform is not None
    ]


def _draw_first(view: View) -> "Figure":
    from matplotlib.figure import Figure

    rows = [(series, values) for series in view.series if (values := values_of_first(series))]
    rows.sort(key=lambda row: -abs(fmean(loss - uniform for loss, uniform in row[1])))
    rows = rows[:ROWS]
    rows.sort(key=lambda row: fmean(loss for loss, _ in row[1]))
    figure = Figure(figsize=(7.2, 0.75 + 0.19 * len(rows)))
    axes = figure.add_subplot()
    looks = view.looks(view.colour_key)
    for place, (series, values) in enumerate(rows):
        look = looks[series.keys[view.colour_key]] if view.colour_key else None
        colour = look.colour if look else INK
        marker = look.marker if look else "o"
        losses = [loss for loss, _ in values]
        uniform = values[0][1]
        axes.plot([uniform] * 2, [place - 0.5, place + 0.5], color=SOFT, linewidth=1, zorder=1.5)
        axes.plot([uniform, fmean(losses)], [place] * 2, color=colour, linewidth=0.8, alpha=0.6)
        axes.plot(losses, [place] * len(losses), marker, color=colour, alpha=0.75, zorder=3)
        axes.plot([fmean(losses)] * 2, [place - 0.32, place + 0.32], color=colour, linewidth=1.6)
    everything = [loss for _, values in rows for pair in values for loss in pair]
    if min(everything) > 0 and max(everything) > 3 * min(everything):
        axes.set_xscale("log")
        logarithmic(axes.xaxis)
    axes.set_yticks(range(len(rows)), [series.named(view.keys) for series, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("first loss, nats per token (upright line: ln V)")
    return figure
