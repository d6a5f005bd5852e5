"""Gradient norms by depth as pictures (PNG), for the Images page of TensorBoard."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ablate.shell.canvas import own_defaults

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MOMENTS = 400  # columns of a heat map; more are not seen
KINDS = {"parameters": "of a block's parameters", "inputs": "at a block's input"}


@own_defaults()
def profile(gradients: dict[str, Sequence[float | None]], step: int) -> bytes:
    """Draw the two gradient norms over depth at one step, on a logarithmic scale."""
    from matplotlib.ticker import MaxNLocator

    figure = _figure(4.8, 3.2)
    axes = figure.subplots(gridspec_kw={"left": 0.16, "right": 0.97, "bottom": 0.15, "top": 0.9})
    for kind, name in KINDS.items():
        norms = _positive(gradients[kind])
        axes.plot(range(1, len(norms) + 1), norms, marker="o", markersize=3.5, label=name)
    if any(np.isfinite(_positive(gradients[kind])).any() for kind in KINDS):
        axes.set_yscale("log")
        _plain_numbers(axes.yaxis)
    axes.set_xlabel("block (1: next to the embedding)")
    axes.set_ylabel("L2 norm of the gradient")
    axes.set_title(f"gradient norms at step {step:,}")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return _png(figure)


@own_defaults()
def over_training(lines: Sequence[dict]) -> bytes:
    """Draw the two gradient norms over depth and step, as colour; needs two lines or more."""
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import MaxNLocator

    lines = lines[:: -(-len(lines) // MOMENTS)]
    steps = [line["step"] for line in lines]
    figure = _figure(4.8, 4.8)
    margins = {"left": 0.12, "right": 0.92, "bottom": 0.1, "top": 0.94}
    rows = figure.subplots(2, 1, sharex=True, gridspec_kw=margins)
    for axes, (kind, name) in zip(rows, KINDS.items(), strict=True):
        norms = np.stack([_positive(line["gradients"][kind]) for line in lines], axis=1)
        blocks = np.arange(1, len(norms) + 1)
        scale = LogNorm() if np.isfinite(norms).any() else None
        mesh = axes.pcolormesh(
            steps, blocks, np.ma.masked_invalid(norms), norm=scale, shading="nearest"
        )
        bar = figure.colorbar(mesh, ax=axes, label="L2 norm")
        if scale is not None:
            _plain_numbers(bar.ax.yaxis)
        axes.set_ylabel("block")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_title(f"gradient {name}", fontsize="medium")
    axes.set_xlabel("step (blank: zero or not finite)")
    return _png(figure)


def _figure(width: float, height: float) -> "Figure":
    # Figure without pyplot: no window system is asked and no global state is kept. With margins and
    # plain numbers on its axes it is drawn in a third of the time that a layout engine and powers
    # of ten in mathematical type need.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def _plain_numbers(axis: "Axis") -> None:
    """Label a logarithmic axis with plain numbers, where there is room for them."""
    from matplotlib.ticker import LogFormatter

    class Plain(LogFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return f"{x:.3g}" if super().__call__(x, pos) else ""

    axis.set_major_formatter(Plain())
    axis.set_minor_formatter(Plain())


def _positive(norms: Sequence[float | None]) -> np.ndarray:
    """Norms as an array, with NaN for what a logarithm cannot show."""
    array = np.array(norms, dtype=float)
    return np.where(np.isfinite(array) & (array > 0), array, np.nan)


def _png(figure: "Figure") -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130, pil_kwargs={"compress_level": 3})
    return buffer.getvalue()
