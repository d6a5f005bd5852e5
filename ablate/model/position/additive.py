"""Schemes that add a vector per position to the token embedding."""

import math
from dataclasses import dataclass

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


def embedding_factor(shape: Shape, scale_embedding: bool) -> float:
    """sqrt(width) where embeddings are drawn with std 1/sqrt(width) and are to be scaled, else 1.

    >>> embedding_factor(Shape(64, 2, 2, 8, 16, embedding_std=0.125), True)
    8.0
    """
    drawn_small = math.isclose(shape.embedding_std, shape.width**-0.5, rel_tol=0.01)
    return math.sqrt(shape.width) if scale_embedding and drawn_small else 1.0


@dataclass(frozen=True)
class Waves:
    """The checked options of a sinusoid table."""

    base: float
    layout: str
    exponent_slip: bool = False

    def __post_init__(self) -> None:
        if self.layout not in ("interleaved", "half_split"):
            raise UserError(f"layout={self.layout}: allowed are interleaved, half_split")
        if self.base <= 0:
            raise UserError(f"base={self.base}: must be above 0")

    def table(self, positions: Positions, width: int, dtype: torch.dtype) -> Tensor:
        """[query, width] in `dtype`; computed in float64."""
        return sinusoid_table(
            positions.query, width, self.base, self.layout, self.exponent_slip
        ).to(dtype)


class Sinusoidal(PositionScheme):
    """Fixed sines and cosines added once: s·x + PE(t), PE(t) = (sin tθ_i, cos tθ_i).

    The factor s on the token embedding is sqrt(width) where the init recipe draws embeddings with
    a standard deviation of 1/sqrt(width), as the paper does, and 1 elsewhere. `embedding_norm` puts
    a layer norm "before" the addition, norm(s·x) + PE, or "after" it, norm(s·x + PE), as BERT does
    with its learned table. Vaswani et al. 2017 (arXiv 1706.03762).
    """

    def __init__(
        self,
        shape: Shape,
        *,
        base: float = 10000.0,
        layout: str = "interleaved",
        scale_embedding: bool = True,
        exponent_slip: bool = False,
        embedding_norm: str = "none",
    ) -> None:
        super().__init__(shape)
        if embedding_norm not in ("none", "before", "after"):
            raise UserError(f"embedding_norm={embedding_norm}: allowed are none, before, after")
        self.waves = Waves(base, layout, exponent_slip)
        self.factor = embedding_factor(shape, scale_embedding)
        norms = {embedding_norm: nn.LayerNorm(shape.width)}
        self.before = norms.get("before", nn.Identity())
        self.after = norms.get("after", nn.Identity())

    def prepare(self, positions: Positions, dtype: torch.dtype) -> Float[Tensor, "query width"]:
        return self.waves.table(positions, self.shape.width, dtype)

    def embed(self, x: Float[Tensor, "batch query width"], positions: Positions) -> Tensor:
        return self.after(self.before(self.factor * x) + positions.shared)


class Concatenated(PositionScheme):
    """The last p of a token's coordinates are its position's sines and cosines: [s·x, PE(t)].

    The width stays; the token embedding has the first width − p coordinates, and its last p
    columns are not looked at. s as in `Sinusoidal`. So does Jaegle et al. 2021 (Perceiver, arXiv
    2103.03206) with its Fourier features.
    """

    def __init__(
        self,
        shape: Shape,
        *,
        position_width: int | None = None,
        base: float = 10000.0,
        layout: str = "interleaved",
        scale_embedding: bool = True,
    ) -> None:
        """`position_width` is p; None takes a quarter of the width."""
        super().__init__(shape)
        width = max(1, shape.width // 4) if position_width is None else position_width
        if not 1 <= width < shape.width:
            raise UserError(
                f"position_width={width}: must be at least 1 and below the width {shape.width}"
            )
        self.position_width, self.waves = width, Waves(base, layout)
        self.factor = embedding_factor(shape, scale_embedding)

    def prepare(self, positions: Positions, dtype: torch.dtype) -> Float[Tensor, "query p"]:
        return self.waves.table(positions, self.position_width, dtype)

    def embed(self, x: Float[Tensor, "batch query width"], positions: Positions) -> Tensor:
        token = self.factor * x[..., : -self.position_width]
        return torch.cat([token, positions.shared.expand(*x.shape[:2], -1)], dim=-1)
