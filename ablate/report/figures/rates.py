"""Validation loss against the learning rate."""

from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING

from ablate.report.figures.axes import grid, logarithmic, name_panel, name_rows, reference, zone
from ablate.report.figures.look import GREY, is_number
from ablate.report.figures.panels import PanelLayout, layout, legend
from ablate.report.figures.view import Drawing, Series, View
from ablate.report.runs.settings import text
from ablate.report.runs.tables import distinct

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KEY = "lr"
FEWEST = 3  # learning rates that make a curve
TICKS = 8
Sweep = dict[float, Series]


def sensitivity(view: View) -> Drawing | None:
    """Validation loss against learning rate, a line for each arm that was tried at three."""
    sweeps = rate_sweeps(view)
    if not sweeps:
        return None
    lines = [series for series, _ in sweeps]
    plan = layout(replace(view, series=lines, keys=[key for key in view.keys if key != KEY]))
    return Drawing(
        "learning_rate",
        "Sensitivity to the learning rate",
        "Validation loss at the end, nats per token, against the learning rate: mean and range over"
        " the seeds that finished. Crosses in the hatched zone: no seed finished at that rate."
        " A flat line is a robust arm; compare arms at the best rate of each, chosen on other"
        " seeds.",
        partial(_draw, plan, {id(series): sweep for series, sweep in sweeps}),
    )


def rate_sweeps(view: View) -> list[tuple[Series, Sweep]]:
    """Return for each arm without its learning rate, the series by rate, if there are three."""
    by_others: dict[tuple[str, ...], Sweep] = {}
    if KEY not in view.keys:
        return []
    for series in view.series:
        if is_number(series.keys[KEY]) and float(series.keys[KEY]) > 0:
            others = tuple(series.keys[key] for key in view.keys if key != KEY)
            by_others.setdefault(others, {})[float(series.keys[KEY])] = series
    # The series of an arm stands for it under its best rate, so that arms keep their order.
    return [
        (next(iter(sweep.values())), dict(sorted(sweep.items())))
        for sweep in by_others.values()
        if len(sweep) >= FEWEST
    ]


def _losses(series: Series) -> list[float]:
    records = [run.record for run in series.runs if run.record.status == "done"]
    losses = (record.loss.validation for record in records)
    return [loss for loss in losses if loss is not None]


def _draw(plan: PanelLayout, sweeps: dict[int, Sweep]) -> "Figure":
    figure, (row,) = grid(len(plan.panels), height=2.2, across=plan.across)
    row[0].set_xscale("log")
    name_rows(row, "validation loss, nats")
    lost = False
    for axes, panel in zip(row, plan.panels, strict=True):
        name_panel(axes, panel.title)
        axes.set_xlabel("learning rate")
        for series in reversed(panel.series):
            lost |= _draw_sweep(axes, plan, series, sweeps[id(series)])
    every = [series for sweep in sweeps.values() for series in sweep.values()]
    unigram = distinct(
        round(loss, 3)
        for series in every
        for run in series.runs
        if (loss := run.record.loss.unigram) is not None
    )
    if len(unigram) == 1:
        for axes in row:
            reference(axes, unigram[0], "unigram" if axes is row[0] else "")
    if lost:
        middle = zone(row, "not finished")
        for axes, panel in zip(row, plan.panels, strict=True):
            for series in panel.series:
                look = plan.look(series)
                rates = [rate for rate, at in sweeps[id(series)].items() if not _losses(at)]
                axes.plot(
                    rates,
                    [middle] * len(rates),
                    "x",
                    transform=axes.get_xaxis_transform(),
                    color=look.colour if look else GREY,
                )
    rates = sorted({rate for sweep in sweeps.values() for rate in sweep})
    if len(rates) <= TICKS:
        row[0].set_xticks(rates, list(map(text, rates)))
        row[0].minorticks_off()
    else:
        logarithmic(row[0].xaxis)
    legend(figure, plan)
    return figure


def _draw_sweep(axes: "Axes", plan: PanelLayout, series: Series, sweep: Sweep) -> bool:
    """Draw the line of an arm; return whether a rate of it has no finished seed."""
    known = {rate: losses for rate, at in sweep.items() if (losses := _losses(at))}
    rates, means = list(known), [fmean(losses) for losses in known.values()]
    look = plan.look(series)
    if look is None:
        axes.plot(rates, means, color=GREY, linewidth=0.7, zorder=2)
    else:
        axes.plot(
            rates, means, color=look.colour, linestyle=look.dashes, marker=look.marker, zorder=3
        )
        for rate, losses in known.items():
            axes.plot([rate] * 2, [min(losses), max(losses)], color=look.colour, linewidth=0.8)
    return len(known) < len(sweep)
