"""A figure with its words, drawn when it is needed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Drawing:
    """`name` is its file's; the caption says what is drawn, with units, and how to read it."""

    name: str
    title: str
    caption: str
    draw: Callable[[], "Figure"]
