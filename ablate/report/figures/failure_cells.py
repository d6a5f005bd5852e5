"""How many runs of each cell of the grid got stuck or diverged, with what the report says of it."""

import textwrap
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ablate.report.figures.label_grid import ACROSS, DOWN, MOST
from ablate.report.figures.look import FAINT, INK, LABEL_COLOURS, PAPER
from ablate.report.figures.view import Drawing, number_first, shortened
from ablate.report.inference.analysis import Analysis
from ablate.report.inference.failure_facts import CellFailures, StudyFailures
from ablate.report.words.statements import of_failures, statements

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SENTENCES = 2  # of an ending, above its grid
WIDTH = 92  # letters in a line above a grid
Side = tuple[str, ...]


def failure_cells(analysis: Analysis) -> Drawing | None:
    """A grid for each ending that some run has, every factor of the study down or across."""
    grids = [one for one in analysis.failures if _is_drawn(one)]
    if not grids:
        return None
    points = statements(analysis)
    claims = [[one.sentence.claim for one in of_failures(points, g.ending)] for g in grids]
    return Drawing(
        "failures",
        "Runs that got stuck or diverged, by cell",
        "How many of the runs of each cell that ended, one a seed, got stuck (no better than token"
        " frequencies) or diverged; the bar is their share. Framed: shown to fail more often, than"
        " the other arms or than the level beside it. Above each grid what the report says of it.",
        partial(_draw, grids, claims),
    )


def _is_drawn(failures: StudyFailures) -> bool:
    rows, columns = sides(failures.factors)
    down, across = (_values(failures, keys) for keys in (rows, columns))
    return bool(rows) and len(down) <= MOST and len(across) <= MOST


def sides(factors: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the factors down and across: all of them, so that a cell of the grid is one cell.

    >>> sides(["pos", "norm", "lr"]), sides(["pos", "task"]), sides(["pos"])
    ((['norm', 'pos'], ['lr']), (['task'], ['pos']), (['pos'], []))
    """
    across = [key for key in ACROSS if key in factors]
    others = [key for key in factors if key not in (*DOWN, *across)]
    down = [key for key in DOWN if key in factors]
    if not across and len(down) + len(others) > 1:
        across = [others.pop(0) if others else down.pop()]
    elif not down and not others and len(across) > 1:
        down = [across.pop(0)]
    return (down + others, across) if down or others else (across, [])


def _values(failures: StudyFailures, keys: Sequence[str]) -> list[Side]:
    values = dict.fromkeys(_place(cell, keys) for cell in failures.cells)
    return sorted(values, key=lambda value: [number_first(part) for part in value])


def _place(cell: CellFailures, keys: Sequence[str]) -> Side:
    return tuple(dict(cell.levels)[key] for key in keys)


def _draw(grids: Sequence[StudyFailures], claims: Sequence[Sequence[str]]) -> "Figure":
    from matplotlib.figure import Figure

    titles = [_title(grid, own) for grid, own in zip(grids, claims, strict=True)]
    heights = [_height(grid, title) for grid, title in zip(grids, titles, strict=True)]
    figure = Figure(figsize=(7.2, sum(heights)))
    parts = figure.subplots(len(grids), 1, squeeze=False, height_ratios=heights)
    for axes, grid, title in zip(parts[:, 0], grids, titles, strict=True):
        axes.set_title(title, fontsize=7.5, fontweight="normal")
        _draw_grid(axes, grid)
    return figure


def _title(failures: StudyFailures, claims: Sequence[str]) -> str:
    """What the report says of these failures, most important first, in lines."""
    lines = [f"{failures.ending}, runs of each cell"]
    for claim in claims[:SENTENCES]:
        lines += textwrap.wrap(claim, WIDTH)
    return "\n".join(lines)


def _height(failures: StudyFailures, title: str) -> float:
    """Inches of a grid with its title and its names across."""
    rows, columns = sides(failures.factors)
    return 0.4 + 0.26 * len(_values(failures, rows)) + 0.13 * (title.count("\n") + len(columns))


def _draw_grid(axes: "Axes", failures: StudyFailures) -> None:
    rows, columns = sides(failures.factors)
    down, across = _values(failures, rows), _values(failures, columns)
    for cell in failures.cells:
        x, y = across.index(_place(cell, columns)), down.index(_place(cell, rows))
        _draw_cell(axes, x, y, cell, LABEL_COLOURS[failures.ending])
    axes.set_xlim(0, len(across))
    axes.set_ylim(len(down), 0)
    names = ["\n".join(shortened(part, 16) for part in value) for value in across]
    axes.set_xticks([place + 0.5 for place in range(len(across))], names)
    names = [shortened("  ".join(value)) for value in down]
    axes.set_yticks([place + 0.5 for place in range(len(down))], names)
    axes.set_xlabel(" / ".join(columns))
    axes.set_ylabel("  ".join(rows))
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def _draw_cell(axes: "Axes", x: int, y: int, cell: CellFailures, colour: str) -> None:
    from matplotlib.patches import Rectangle

    edge, width, above = (INK, 1.2, 3) if cell.named else (PAPER, 0.8, 2)
    axes.add_patch(Rectangle((x + 0.03, y + 0.06), 0.94, 0.88, facecolor=FAINT, edgecolor="none"))
    share = cell.failed / cell.of if cell.of else 0.0
    if share:
        axes.add_patch(
            Rectangle((x + 0.03, y + 0.7), 0.94 * share, 0.24, facecolor=colour, edgecolor="none")
        )
    axes.add_patch(
        Rectangle(
            (x + 0.03, y + 0.06),
            0.94,
            0.88,
            facecolor="none",
            edgecolor=edge,
            linewidth=width,
            zorder=above,
        )
    )
    words = f"{cell.failed} of {cell.of}" if cell.of else "none ended"
    axes.text(
        x + 0.5, y + 0.4, words, ha="center", va="center", fontsize=7, color=INK, clip_on=True
    )
