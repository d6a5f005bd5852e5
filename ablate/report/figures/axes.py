"""Axes, ticks and zones that several figures share; matplotlib is imported on drawing."""

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ablate.report.figures.look import GREY, PAPER, SOFT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

WIDTH = 7.2  # inches: a page of text, or two columns


def grid(
    panels: int, rows: int = 1, *, height: float = 2.1, across: int = 0
) -> tuple["Figure", list[list["Axes"]]]:
    """Return a figure with `rows` axes for each of the panels, as [row][panel].

    Few panels stand side by side, more are wrapped, at `across` if it is given; all axes of a row
    share their scale.
    """
    from matplotlib.figure import Figure

    across = min(panels, across or (3 if panels != 4 else 2))
    down = math.ceil(panels / across)
    height = height if down == 1 else 0.8 * height
    figure = Figure(figsize=(WIDTH, height * down * rows + 0.35))
    axes: list[list[Axes]] = [[] for _ in range(rows)]
    for place in range(panels):
        for row in range(rows):
            first = axes[row][0] if axes[row] else None
            spot = (place // across * rows + row) * across + place % across + 1
            made = figure.add_subplot(
                down * rows,
                across,
                spot,
                sharex=axes[0][0] if axes[0] else None,
                sharey=first,
            )
            axes[row].append(made)
    return figure, axes


def name_panel(axes: "Axes", text: str) -> None:
    """Set a panel's title, in lines no longer than the panel is wide."""
    spot = axes.get_subplotspec()
    across = spot.get_gridspec().ncols if spot else 1
    axes.set_title(textwrap.fill(text, 68 // across, break_long_words=False))


def name_rows(row: Sequence["Axes"], text: str) -> None:
    """Name the y axis of a row at its left edge, where alone its ticks have labels."""
    for axes in row:
        spot = axes.get_subplotspec()
        edge = spot is None or spot.is_first_col()
        axes.set_ylabel(text if edge else "")
        axes.tick_params(which="both", labelleft=edge)


def logarithmic(axis: "Axis") -> None:
    """Give a logarithmic axis ticks that can be read, at 1, 2 and 5 within few decades."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    low, high = axis.get_view_interval()
    ratio = high / low if low > 0 else 1.0
    if ratio < 6:
        axis.set_major_locator(MaxNLocator(4))
    else:
        axis.set_major_locator(
            LogLocator(subs=(1.0, 2.0, 5.0) if ratio < 50 else (1.0,), numticks=7)
        )
    axis.set_major_formatter(FuncFormatter(lambda value, _: power(value)))
    axis.set_minor_formatter(NullFormatter())


def power(value: float) -> str:
    """Return a tick's number, as a power of ten where it is far from 1.

    >>> power(0.02), power(1e-7), power(2e5)
    ('0.02', '10⁻⁷', '2·10⁵')
    """
    if value <= 0 or 1e-4 < value < 1e4:
        return f"{value:g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    factor = f"{value / 10**exponent:.3g}"
    raised = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if factor == "1" else f"{factor}·10{raised}"


def reference(axes: "Axes", value: float, name: str) -> None:
    """Draw a level that a loss is compared with, and name it at the right edge."""
    axes.axhline(value, color=SOFT, linewidth=0.8, linestyle=(0, (1, 1.5)), zorder=1.5)
    axes.annotate(
        name,
        (1, value),
        xycoords=("axes fraction", "data"),
        xytext=(-1, 1.5),
        textcoords="offset points",
        ha="right",
        va="bottom",
        fontsize=7,
        color=SOFT,
    )


def zone(row: Sequence["Axes"], text: str, *, share: float = 0.14) -> float:
    """Set a hatched zone apart below the values of a row of axes, for what has no value.

    The limits are widened so that no value lies in it. Returns its middle as a fraction of the
    axes' height.
    """
    from matplotlib.patches import Rectangle

    low, high = row[0].get_ylim()
    if row[0].get_yscale() == "log":
        row[0].set_ylim(low / (high / low) ** (share / (1 - share)), high)
    else:
        row[0].set_ylim(low - (high - low) * share / (1 - share), high)
    for place, axes in enumerate(row):
        hatched = Rectangle((0, 0), 1, share, facecolor="none", edgecolor=GREY, linewidth=0)
        hatched.set(transform=axes.transAxes, hatch="////", zorder=0.5)
        axes.add_patch(hatched)
        if place == 0:
            axes.annotate(
                text,
                (0.015, share / 2),
                xycoords="axes fraction",
                fontsize=7,
                color=SOFT,
                va="center",
                bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1.0},
            )
    return share / 2
