"""All figures of a report, and their files."""

import io
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.errors import UserError, in_a_line
from ablate.record.replaced import save
from ablate.report.figures.failure_cells import failure_cells
from ablate.report.figures.forest import effects, simple_effects
from ablate.report.figures.gradients import by_depth, over_steps
from ablate.report.figures.label_grid import label_grid
from ablate.report.figures.length_curves import lengths
from ablate.report.figures.look import drawing
from ablate.report.figures.loss import curves, first
from ablate.report.figures.rates import sensitivity
from ablate.report.figures.view import Drawing, View
from ablate.report.inference.analysis import Analysis
from ablate.shell.stderr import say

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
DPI = 300
MISSING = re.compile(r"Glyph (\d+) .*missing from font")


def drawings(view: View, analysis: Analysis) -> list[Drawing]:
    """Return the figures that the runs have the data for."""
    if not view.series:
        return []
    makers = (curves, lengths, sensitivity, label_grid, first, by_depth, over_steps)
    of_analysis = (effects(analysis), simple_effects(analysis), failure_cells(analysis))
    made = [*of_analysis, *(maker(view) for maker in makers)]
    return [each for each in made if each is not None]


def encoded(figure: "Figure", format_name: str) -> bytes:
    """Return a figure as a file, the same bytes for the same figure."""
    file = io.BytesIO()
    undated = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
    metadata = undated.get(format_name, {"CreationDate": None, "Creator": None, "Producer": None})
    figure.savefig(file, format=format_name, dpi=DPI, metadata=metadata, facecolor="white")
    return file.getvalue()


def save_all(drawn: list[Drawing], directory: Path) -> list[Path]:
    """Write every figure as PNG, SVG and PDF and return the files.

    One that cannot be drawn is left out, and what is not drawn as it should be is told on stderr.
    Raises UserError if the folder cannot be written.
    """
    files = []
    with warnings.catch_warnings(record=True) as raised:
        warnings.filterwarnings("always", MISSING.pattern, UserWarning)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            for each in drawn:
                for format_name, content in in_all_formats(each).items():
                    path = directory / f"{each.name}.{format_name}"
                    save(path, content)
                    files.append(path)
        except OSError as error:
            raise UserError(f"--figures {directory}: {error.strerror or error}") from None
    matches = (MISSING.match(str(warning.message)) for warning in raised)
    if boxes := "".join(sorted({chr(int(match[1])) for match in matches if match})):
        say(f"ablate report: letters that the font of the figures lacks are boxes there: {boxes}")
    return files


def in_all_formats(drawn: Drawing) -> dict[str, bytes]:
    """The figure in each format; none, and a line on stderr, where it cannot be drawn."""
    try:
        with drawing():
            figure = drawn.draw()
            return {name: encoded(figure, name) for name in FORMATS}
    except Exception as error:
        say(f"ablate report: {drawn.name} is not drawn: {in_a_line(error)}")
        return {}
