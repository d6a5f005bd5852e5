"""Rotary schemes: queries and keys are turned by an angle that grows with the position."""

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.errors import UserError
from ablate.model.position.base import Positions, PositionScheme
from ablate.model.shape import Shape

LAYOUTS = ("half_split", "interleaved")


def rotary_frequencies(width: int, base: float = 10000.0) -> Float[Tensor, "pairs"]:
    """θ_i = base^(−2i/width) for pairs i = 0 .. width/2 − 1, in float64.

    >>> rotary_frequencies(4).tolist()
    [1.0, 0.01]
    """
    return base ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)


def rotate_pairs(
    x: Float[Tensor, "... length width"],
    cos: Float[Tensor, "length pairs"],
    sin: Float[Tensor, "length pairs"],
    layout: str,
) -> Float[Tensor, "... length width"]:
    """Turn each pair (a, b) to (a cos − b sin, a sin + b cos).

    `layout` says what a pair is: features (2i, 2i + 1) when "interleaved", (i, i + width/2) when
    "half_split".
    """
    if layout == "interleaved":
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class Rope(PositionScheme):
    """Rotary position embedding: q and k turned by R(tθ), θ_i = base^(−2i/d), so q·k sees i − j.

    Phases are computed in float64 and applied in float32 whatever the model's dtype, since
    rounded phases corrupt long positions. Su et al. 2021 (arXiv 2104.09864).
    """

    relative = True

    def __init__(
        self, shape: Shape, *, base: float = 10000.0, layout: str = "half_split"
    ) -> None:
        super().__init__(shape)
        if shape.head_width % 2:
            raise UserError(
                f"the head width must be even, but width={shape.width} / heads={shape.heads} "
                f"= {shape.head_width}; try heads={max(1, shape.heads // 2)} or another width"
            )
        if layout not in LAYOUTS:
            raise UserError(f"layout={layout}: allowed are {', '.join(LAYOUTS)}")
        if base <= 0:
            raise UserError(f"base={base}: must be above 0")
        self.base, self.layout = base, layout

    def prepare(self, positions: Positions, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        frequencies = rotary_frequencies(self.shape.head_width, self.base)
        frequencies = frequencies.to(positions.query.device)
        phase = torch.float64 if dtype == torch.float64 else torch.float32
        query = positions.query.double()[:, None] * frequencies
        key = positions.key.double()[:, None] * frequencies
        return (
            query.cos().to(phase),
            query.sin().to(phase),
            key.cos().to(phase),
            key.sin().to(phase),
        )

    def rotate(
        self, q: Tensor, k: Tensor, positions: Positions, layer: int
    ) -> tuple[Tensor, Tensor]:
        q_cos, q_sin, k_cos, k_sin = positions.shared
        return (
            rotate_pairs(q, q_cos, q_sin, self.layout).to(q.dtype),
            rotate_pairs(k, k_cos, k_sin, self.layout).to(k.dtype),
        )
