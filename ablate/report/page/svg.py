"""A figure inside a page: its colours follow the page's theme, its text the page's font."""

import io
import re
import warnings
from typing import TYPE_CHECKING

from ablate.report.figures.look import (
    COLOURS,
    FAINT,
    GREY,
    INK,
    LABEL_COLOURS,
    PAPER,
    RAMP,
    SOFT,
    drawing,
)
from ablate.report.figures.view import Drawing
from ablate.shell.clean import clean_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DARK = {
    INK: "#e6e8eb",
    SOFT: "#9aa1a9",
    FAINT: "#31363b",
    GREY: "#5b6168",
    PAPER: "#1b1e21",
    "#0072b2": "#3f97da",
    "#56b4e9": "#8fd0f7",
    "#009e73": "#20b88e",
    "#d55e00": "#f3793a",
    "#cc79a7": "#e39ac3",
    "#e69f00": "#f2b63d",
    "#a39a00": "#d3ca3c",
    "#1f73ad": "#4f9ad0",
    "#4b5796": "#8b96d6",
    "#7d4a86": "#bb83c4",
    "#a8406a": "#df7aa2",
    "#c9442f": "#ee7d6a",
}
"""Colour on paper to colour on black, where they differ."""
BASE = (INK, SOFT, FAINT, GREY, PAPER)
THEMED = tuple(dict.fromkeys((*BASE, *COLOURS, *RAMP, *LABEL_COLOURS.values())))
METADATA = re.compile(r"<metadata>.*?</metadata>|<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)


def theme(dark: bool) -> dict[str, str]:
    """Return the CSS variable of every colour of the figures, and its value."""
    return {variable(colour): DARK.get(colour, colour) if dark else colour for colour in THEMED}


def variable(colour: str) -> str:
    """Return the name of a colour's CSS variable.

    >>> variable("#0072b2")
    '--h0072b2'
    """
    return f"--h{colour.removeprefix('#')}"


def inline(figure: Drawing) -> str:
    """Return a figure as an SVG element for a page, the same text for the same figure."""
    from matplotlib import rc_context

    with drawing(), rc_context({"svg.fonttype": "none"}):
        text = clean_lines(_svg(figure.draw()))
    text = text[text.index("<svg") :]
    text = METADATA.sub("", text)
    width = re.search(r'viewBox="0 0 ([\d.]+)', text)
    size = f' style="max-width:{float(width.group(1)) * 1.35:.0f}px"' if width else ""
    head, rest = text.split(">", 1)
    head = re.sub(r' (?:width|height|version)="[^"]*"', "", head)
    body = _own_ids(_themed(_short(rest)), figure.name)
    return f'{head} role="img" aria-labelledby="{figure.name}-title"{size}>{body.strip()}'


def _svg(figure: "Figure") -> str:
    file = io.StringIO()
    with warnings.catch_warnings():
        # Texts stay texts: the reader's browser has its own fonts for them.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return file.getvalue()


def _short(text: str) -> str:
    """Round coordinates to a hundredth of a point, and drop comments and line ends."""

    def rounded(tag: re.Match[str]) -> str:
        return re.sub(r"(\d+\.\d\d)\d+", r"\1", tag[0])

    # Tags alone: a number that is text, such as a tick's, is kept as it is.
    text = re.sub(r"<[^>]+>", rounded, re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL))
    return re.sub(r">\s+<", "><", text)


def _themed(text: str) -> str:
    for colour in THEMED:
        text = text.replace(f": {colour}", f": var({variable(colour)})")
    return re.sub(r"font: ((?:\w+ )*[\d.]+px) [^;\"]+", r"font: \1 var(--font)", text)


def _own_ids(text: str, name: str) -> str:
    """Keep the ids that are referred to, as this figure's own; the page has many figures."""
    used = set(re.findall(r"(?:url\(#|href=\"#)([\w.-]+)", text))

    def renamed(match: re.Match[str]) -> str:
        return f' id="{name}-{match[1]}"' if match[1] in used else ""

    text = re.sub(r' id="([^"]*)"', renamed, text)
    return re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", text)
