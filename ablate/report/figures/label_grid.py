"""What the training curves look like, as a grid of labels."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ablate.judge.labels import LABELS
from ablate.report.figures.look import GREY, LABEL_COLOURS, PAPER
from ablate.report.figures.view import NAMES, Drawing, Series, View, number_first, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOWN, ACROSS = ("norm", "warmup"), ("lr", "depth")  # science.md: where training becomes unstable
MOST = 40  # rows, and columns
NO_LABEL = "no label"
Cells = dict[tuple[tuple[str, ...], tuple[str, ...]], Counter[str]]


def label_grid(view: View) -> Drawing | None:
    """Labels by placement and warmup (down) and learning rate and depth (across)."""
    rows, columns = axes_of(view)
    cells = counted(view.series, rows, columns)
    if not rows or set().union(*cells.values()) <= {NO_LABEL}:
        return None
    down, across = _sides(cells)
    if len(down) > MOST or len(across) > MOST:
        return None
    others = [key for key in view.keys if key not in (*rows, *columns)]
    return Drawing(
        "labels",
        "What became of the runs",
        "How many runs of each cell are healthy, undecided (whether better than token"
        " frequencies), unstable (spikes), stuck (no better than they) or diverged; the width of a"
        " colour is its share."
        + (f" A cell counts all of {', '.join(others)} and all seeds." if others else ""),
        partial(_draw, cells, rows, columns),
    )


def axes_of(view: View) -> tuple[list[str], list[str]]:
    """Return the keys down and across: those of instability, or else the first that differ."""
    named = [key for key in view.keys if key not in NAMES] or view.keys
    rows = [key for key in DOWN if key in named]
    columns = [key for key in ACROSS if key in named]
    others = [key for key in named if key not in (*rows, *columns)]
    if not rows:
        rows = [others.pop(0)] if others else [columns.pop(0)] if len(columns) > 1 else []
    if not columns and others:
        columns = [others.pop(0)]
    if not columns and len(rows) > 1:
        columns = [rows.pop()]
    return (rows, columns) if rows else (columns, [])


def counted(series: Sequence[Series], rows: list[str], columns: list[str]) -> Cells:
    """Count the labels of the runs in each cell; a run without one is told by its status."""
    cells: Cells = {}
    for arm in series:
        place = (tuple(arm.keys[key] for key in rows), tuple(arm.keys[key] for key in columns))
        for run in arm.runs:
            name = run.label if run.label in LABEL_COLOURS else NO_LABEL
            cells.setdefault(place, Counter())[name or NO_LABEL] += 1
    return cells


def _sides(cells: Cells) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    def ordered(side: int) -> list[tuple[str, ...]]:
        values = dict.fromkeys(place[side] for place in cells)
        return sorted(values, key=lambda value: [number_first(part) for part in value])

    return ordered(0), ordered(1)


def _draw(cells: Cells, rows: list[str], columns: list[str]) -> "Figure":
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    down, across = _sides(cells)
    wide = max(0.5, min(1.5, 5.2 / len(across)))
    longest = max(len("  ".join(value)) for value in down)
    figure = Figure(figsize=(min(7.2, 1.4 + 0.065 * longest + wide * len(across)), 0))
    figure.set_size_inches(figure.get_figwidth(), 1.15 + 0.27 * len(down))
    axes = figure.add_subplot()
    for (row, column), labels in cells.items():
        _draw_cell(axes, across.index(column), down.index(row), labels)
    axes.set_xlim(0, len(across))
    axes.set_ylim(len(down), 0)
    spots = [place + 0.5 for place in range(len(across))]
    names = ["\n".join(shortened(part, 16) for part in value) for value in across]
    axes.set_xticks(spots, names if columns else [""] * len(across))
    axes.set_yticks(
        [place + 0.5 for place in range(len(down))],
        [shortened("  ".join(value)) for value in down],
    )
    axes.set_xlabel(" / ".join(columns))
    axes.set_ylabel("  ".join(rows))
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    present = [
        name for name in (*LABELS, NO_LABEL) if any(name in labels for labels in cells.values())
    ]
    handles = [Patch(facecolor=_colour(name), label=name) for name in present]
    figure.legend(handles=handles, loc="outside upper left", ncols=len(present), handlelength=1)
    return figure


def _colour(name: str) -> str:
    return LABEL_COLOURS.get(name, GREY)


def _draw_cell(axes: "Axes", x: int, y: int, labels: Counter[str]) -> None:
    from matplotlib.patches import Rectangle

    total, left = labels.total(), x + 0.03
    for name in (*LABELS, NO_LABEL):
        if not labels[name]:
            continue
        width = 0.94 * labels[name] / total
        axes.add_patch(
            Rectangle((left, y + 0.06), width, 0.88, facecolor=_colour(name), edgecolor=PAPER)
        )
        axes.text(
            left + width / 2, y + 0.5, str(labels[name]), ha="center", va="center", fontsize=7,
            color="#101214", clip_on=True,
        )  # fmt: skip
        left += width
