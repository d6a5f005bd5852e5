"""How a choice looks in every figure: colour, dashes and marker follow from its name alone.

The colours are Okabe and Ito's (2008), which people with any colour vision can tell apart; two
choices of one colour differ in dashes or marker. Yellow is darkened, since it must show on paper.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from ablate.shell.canvas import own_defaults

INK = "#1c1e21"  # text, axes, and Okabe and Ito's black
SOFT = "#6b7076"  # ticks and reference lines
FAINT = "#e3e5e8"  # the grid
GREY = "#b4b8bd"  # arms that are not told apart
PAPER = "#fefefe"  # what lies below: the page puts its own in place of these five

COLOURS = ("#cc79a7", "#e69f00", "#0072b2", INK, "#009e73", "#a39a00", "#d55e00", "#56b4e9")
Dashes = Literal["solid"] | tuple[float, tuple[float, ...]]
DASHES: tuple[Dashes, ...] = (
    "solid",
    (0, (5, 1.5)),
    (0, (1.5, 1.2)),
    (0, (5, 1.2, 1.2, 1.2)),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")
# Of the numbers below 400,000 the one under which the schemes, placements, residual rules and kinds
# of norm that are compared most have eight different colours.
SALT = 108410

LABEL_COLOURS = {
    "healthy": "#009e73",
    "undecided": "#56b4e9",
    "unstable": "#e69f00",
    "stuck": "#cc79a7",
    "diverged": "#d55e00",
}

RAMP = ("#56b4e9", "#3a93cd", "#1f73ad", "#4b5796", "#7d4a86", "#a8406a", "#c9442f", "#e07b00")
"""For numbers, which have an order: from cool to warm, each legible on white and on black."""


@dataclass(frozen=True)
class Look:
    """What a line is drawn with."""

    colour: str
    dashes: Dashes
    marker: str


def look(key: str, value: str) -> Look:
    """Return the look of a choice, the same in every figure of every report.

    >>> look("pos", "rope").colour, look("pos", "alibi").colour, look("pos", "none").colour
    ('#0072b2', '#d55e00', '#1c1e21')
    """
    digest = hashlib.blake2b(f"{SALT}{key}={value}".encode(), digest_size=6).digest()
    number = int.from_bytes(digest, "big")
    return Look(
        COLOURS[number % 8],
        DASHES[number // 8 % len(DASHES)],
        MARKERS[number // 32 % len(MARKERS)],
    )


def looks(key: str, values: Sequence[str]) -> dict[str, Look]:
    """Return the looks of the values of a key: numbers take a ramp in their order.

    >>> [look.colour for look in looks("depth", ["24", "6"]).values()]
    ['#56b4e9', '#e07b00']
    """
    if not values or not all(map(is_number, values)):
        return {value: look(key, value) for value in values}
    ordered = sorted(set(values), key=float)
    places = [round(i * (len(RAMP) - 1) / max(1, len(ordered) - 1)) for i in range(len(ordered))]
    return {
        value: Look(RAMP[place], DASHES[0], MARKERS[i % len(MARKERS)])
        for i, (value, place) in enumerate(zip(ordered, places, strict=True))
    }


def is_number(value: str) -> bool:
    """Whether a setting's text is a finite number.

    >>> is_number("1e-3"), is_number("rope"), is_number("nan")
    (True, False, False)
    """
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


@contextmanager
def drawing() -> Iterator[None]:
    """The context that figures are drawn and saved in: sizes for a text column, no dates."""
    from matplotlib import rc_context

    with (
        own_defaults(),
        rc_context(
            {
                "axes.axisbelow": True,
                "axes.edgecolor": SOFT,
                "axes.facecolor": "none",
                "axes.grid": True,
                "axes.labelcolor": INK,
                "axes.labelsize": 8,
                "axes.linewidth": 0.6,
                "axes.spines.right": False,
                "axes.spines.top": False,
                "axes.titlecolor": INK,
                "axes.titlesize": 8.5,
                "axes.titleweight": "bold",
                "axes.titlelocation": "left",
                "axes.unicode_minus": True,
                "figure.constrained_layout.use": True,
                "figure.facecolor": "none",
                "font.size": 8,
                "grid.color": FAINT,
                "grid.linewidth": 0.6,
                "hatch.linewidth": 0.5,
                "image.composite_image": False,
                "legend.fontsize": 8,
                "legend.frameon": False,
                "legend.handlelength": 2.4,
                "legend.labelcolor": INK,
                "legend.title_fontsize": 8,
                "lines.linewidth": 1.4,
                "lines.markersize": 3.8,
                "path.simplify": True,
                # A name from a config may hold dollars, which are no formula.
                "text.parse_math": False,
                "text.color": INK,
                "xtick.color": SOFT,
                "xtick.labelcolor": INK,
                "xtick.labelsize": 7.5,
                "xtick.major.width": 0.6,
                "xtick.minor.width": 0.4,
                "ytick.color": SOFT,
                "ytick.labelcolor": INK,
                "ytick.labelsize": 7.5,
                "ytick.major.width": 0.6,
                "ytick.minor.width": 0.4,
                "pdf.fonttype": 42,
                "svg.hashsalt": "ablate",
            }
        ),
    ):
        yield
