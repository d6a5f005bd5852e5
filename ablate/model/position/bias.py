"""Schemes that add a bias by distance to the attention scores."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ablate.model.position.base import Positions, PositionScheme, exact
from ablate.model.shape import Shape


def alibi_slopes(heads: int) -> list[float]:
    """m_h = 2^(−8h/H) for H a power of two; else those of the power below, then every second
    slope of twice that power.

    >>> alibi_slopes(6)
    [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]
    """
    below = 2 ** math.floor(math.log2(heads))
    slopes = [2 ** (-8 * (h + 1) / below) for h in range(below)]
    if heads > below:
        slopes += alibi_slopes(2 * below)[0::2][: heads - below]
    return slopes


class Alibi(PositionScheme):
    """Attention with linear biases: −m_h (i − j) on the scores; −m_h |i − j| in an encoder.

    With `learned` slopes, ln m_h is trained from the published slopes on, one set for all layers.
    Press et al. 2021 (arXiv 2108.12409); the symmetric form is later practice.
    """

    facts = frozenset({"fading"})
    relative = True

    def __init__(self, shape: Shape, *, learned: bool = False) -> None:
        super().__init__(shape)
        # In float64 and no buffer, so that casting the model does not round fixed slopes.
        slopes = torch.tensor(alibi_slopes(shape.heads), dtype=torch.float64).log()
        self.log_slopes = nn.Parameter(slopes.float()) if learned else slopes

    def prepare(
        self, positions: Positions, dtype: torch.dtype
    ) -> Float[Tensor, "*batch heads query key"]:
        distance = positions.distance().abs()
        slopes = self.log_slopes.to(distance.device).exp().to(exact(dtype))
        return positions.share(-slopes[:, None, None] * distance)

    def bias(
        self, q: Tensor, k: Tensor, x: Tensor, positions: Positions, layer: int
    ) -> Float[Tensor, "*batch heads query key"]:
        return positions.shared
