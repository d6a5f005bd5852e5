"""Schemes that add a vector per position to the token embedding."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate.errors import UserError
from ablate.model.position.base import Positions, PositionScheme
from ablate.model.shape import Shape


class Learned(PositionScheme):
    """A trained row per position, x + P[t]; rows 0 to max_length − 1 and none beyond.

    Gehring et al. 2017 (arXiv 1705.03122); BERT, GPT-2.
    """

    def __init__(self, shape: Shape, *, rows: int | None = None) -> None:
        """`rows` is the table's length in tokens; None takes the train length."""
        super().__init__(shape)
        if rows is not None and rows < shape.seq_len:
            raise UserError(
                f"rows={rows}: the table must have a row for each of the {shape.seq_len} "
                f"positions of training (seq_len={shape.seq_len})"
            )
        self.table = nn.Embedding(rows or shape.seq_len, shape.width)

    @property
    def max_length(self) -> int:
        """Rows of the table."""
        return self.table.num_embeddings

    def embed(self, x: Float[Tensor, "batch query width"], positions: Positions) -> Tensor:
        last = int(positions.query.max())
        if last >= self.max_length:
            raise UserError(
                f"position {last} has no row: the learned table ends at {self.max_length - 1} "
                f"(max_length {self.max_length})"
            )
        return x + self.table(positions.query)


def sinusoid_frequencies(
    width: int, base: float = 10000.0, exponent_slip: bool = False
) -> Float[Tensor, "pairs"]:
    """θ_i = base^(−2i/width) for the pairs i = 0, 1, ... in float64.

    `exponent_slip` writes i/width for 2i/width, a frequent mistake that halves the band in log
    space.

    >>> sinusoid_frequencies(4).tolist()
    [1.0, 0.01]
    """
    pairs = torch.arange(math.ceil(width / 2), dtype=torch.float64)
    return base ** -(pairs * (1 if exponent_slip else 2) / width)


def sinusoid_table(
    positions: Int[Tensor, "position"],
    width: int,
    base: float = 10000.0,
    layout: str = "interleaved",
    exponent_slip: bool = False,
) -> Float[Tensor, "position width"]:
    """Rows of sines and cosines of position · θ_i, in float64.

    `layout` "interleaved" puts sin at 2i and cos at 2i + 1 (the paper); "half_split" puts all
    sines before all cosines. An odd width ends on a sine without its cosine.
    Vaswani et al. 2017 (arXiv 1706.03762), section 3.5.

    >>> [round(v, 6) for v in sinusoid_table(torch.tensor([1]), 4)[0].tolist()]
    [0.841471, 0.540302, 0.01, 0.99995]
    """
    frequencies = sinusoid_frequencies(width, base, exponent_slip).to(positions.device)
    angles = positions.double()[:, None] * frequencies
    sines, cosines = angles.sin(), angles.cos()
    if layout == "half_split":
        return torch.cat([sines, cosines], dim=-1)[:, :width]
    return torch.stack([sines, cosines], dim=-1).flatten(1)[:, :width]


class Sinusoidal(PositionScheme):
    """Fixed sines and cosines added once: s·x + PE(t), PE(t) = (sin tθ_i, cos tθ_i).

    The factor s on the token embedding is sqrt(width) where the init recipe draws embeddings with
    a standard deviation of 1/sqrt(width), as the paper does, and 1 elsewhere.
    Vaswani et al. 2017 (arXiv 1706.03762).
    """

    def __init__(
        self,
        shape: Shape,
        *,
        base: float = 10000.0,
        layout: str = "interleaved",
        scale_embedding: bool = True,
        exponent_slip: bool = False,
    ) -> None:
        super().__init__(shape)
        if layout not in ("interleaved", "half_split"):
            raise UserError(f"layout={layout}: allowed are interleaved, half_split")
        if base <= 0:
            raise UserError(f"base={base}: must be above 0")
        self.base, self.layout, self.exponent_slip = base, layout, exponent_slip
        drawn_small = math.isclose(shape.embedding_std, shape.width**-0.5, rel_tol=0.01)
        self.factor = math.sqrt(shape.width) if scale_embedding and drawn_small else 1.0

    def prepare(self, positions: Positions, dtype: torch.dtype) -> Float[Tensor, "query width"]:
        return sinusoid_table(
            positions.query, self.shape.width, self.base, self.layout, self.exponent_slip
        ).to(dtype)

    def embed(self, x: Float[Tensor, "batch query width"], positions: Positions) -> Tensor:
        return self.factor * x + positions.shared
