"""Accuracy and nll of the same targets against the length of their context."""

import math
from collections.abc import Callable
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING

from ablate.record.evaluated import Extrapolation
from ablate.report.figures.axes import grid, name_panel, name_rows, zone
from ablate.report.figures.look import GREY
from ablate.report.figures.panels import PanelLayout, layout, legend
from ablate.report.figures.view import Drawing, Series, View, seeds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Quantity = Callable[[Extrapolation], list[float | None]]
QUANTITIES: tuple[tuple[Quantity, str], ...] = (
    (lambda measured: measured.accuracy, "accuracy"),
    (lambda measured: measured.exact, "exact match"),
    (lambda measured: measured.nll, "nll, nats"),
)


def lengths(view: View) -> Drawing | None:
    """Accuracy and nll against context in train lengths; undefined lengths are marked."""
    if not any(context_curve(series, QUANTITIES[0][0]) for series in view.series):
        return None
    several = any(seeds(series.runs) > 1 for series in view.series)
    return Drawing(
        "length",
        "Accuracy and nll against context",
        "Share of the same held-out targets predicted right, and nll = mean cross-entropy of the"
        " targets, nats, with c tokens of context, in train lengths L."
        + (" Line: mean over seeds; bars: lowest and highest seed." if several else "")
        + " Crosses in the hatched zone: the scheme is undefined at that length, which is neither"
        " zero nor missing.",
        partial(_draw, view, layout(view)),
    )


Curve = dict[float, list[float] | None]
"""Context in train lengths to the values of the seeds, None where it is undefined."""


def context_curve(series: Series, quantity: Quantity) -> Curve:
    """Return a series' values by context, of finished runs."""
    curves: dict[float, list[float]] = {}
    undefined: set[float] = set()
    for run in series.runs:
        measured = run.record.extrapolation
        trained = measured.train_length
        if run.record.status != "done" or not trained:
            continue
        for length, value in zip(measured.lengths, quantity(measured), strict=False):
            if length and value is None:
                undefined.add(length / trained)
            elif length and value is not None:
                curves.setdefault(length / trained, []).append(value)
    return dict(sorted((dict.fromkeys(undefined) | curves).items()))


def _draw(view: View, plan: PanelLayout) -> "Figure":
    drawn = [
        (quantity, name)
        for quantity, name in QUANTITIES
        if any(context_curve(series, quantity) for series in view.series)
    ]
    figure, rows = grid(len(plan.panels), len(drawn), height=1.85, across=plan.across)
    for row, (quantity, name) in zip(rows, drawn, strict=True):
        curves = {id(series): context_curve(series, quantity) for series in view.series}
        contexts = sorted({context for curve in curves.values() for context in curve})
        row[0].set_xscale("log", base=2)
        row[0].set_xticks(contexts, [_times(context) for context in contexts])
        row[0].minorticks_off()
        name_rows(row, name)
        for axes, panel in zip(row, plan.panels, strict=True):
            if row is rows[0]:
                name_panel(axes, panel.title)
            if row is rows[-1]:
                axes.set_xlabel("context")
            axes.axvline(1, color=GREY, linewidth=0.8, zorder=1.4)
            for series in reversed(panel.series):
                _draw_curve(axes, plan, series, curves[id(series)])
        if any(values is None for curve in curves.values() for values in curve.values()):
            middle = zone(row, "undefined")
            for axes, panel in zip(row, plan.panels, strict=True):
                _mark_undefined(axes, plan, panel.series, curves, middle)
    legend(figure, plan)
    return figure


def _times(context: float) -> str:
    """Name a context in train lengths.

    >>> _times(0.5), _times(1.0), _times(8.0)
    ('½L', 'L', '8L')
    """
    names = {0.25: "¼L", 0.5: "½L", 1.0: "L"}
    return names.get(context, f"{context:g}L")


def _draw_curve(axes: "Axes", plan: PanelLayout, series: Series, curve: Curve) -> None:
    known = {context: values for context, values in curve.items() if values}
    means = [fmean(known[context]) if context in known else math.nan for context in curve]
    look = plan.look(series)
    if look is None:
        axes.plot(list(curve), means, color=GREY, linewidth=0.7, zorder=2)
        return
    axes.plot(
        list(curve), means, color=look.colour, linestyle=look.dashes, marker=look.marker, zorder=3
    )
    for context, values in known.items():
        axes.plot([context] * 2, [min(values), max(values)], color=look.colour, linewidth=0.8)


def _mark_undefined(
    axes: "Axes", plan: PanelLayout, series: list[Series], curves: dict[int, Curve], middle: float
) -> None:
    """Draw a cross for each series and context without a value, beside one another."""
    marked = [arm for arm in series if None in curves[id(arm)].values()]
    named = [arm for arm in marked if plan.look(arm)]
    # Arms that are not told apart share one place, in the middle.
    for arm in [*(arm for arm in marked if not plan.look(arm))][:1] + named:
        look = plan.look(arm)
        place = named.index(arm) - (len(named) - 1) / 2 if look else 0.0
        contexts = [at * 2 ** (0.14 * place) for at, value in curves[id(arm)].items() if not value]
        axes.plot(
            contexts,
            [middle] * len(contexts),
            "x",
            transform=axes.get_xaxis_transform(),
            color=look.colour if look else GREY,
            markersize=4.5,
            zorder=4,
        )
