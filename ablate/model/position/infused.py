"""Schemes that give fixed sines and cosines to every block anew."""

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.model.position.additive import Waves
from ablate.model.position.base import Positions, PositionScheme
from ablate.model.shape import Shape


class SinusoidTable(PositionScheme):
    """What both schemes share: a table of sines and cosines [query, width], one for all layers."""

    def __init__(self, shape: Shape, *, base: float = 10000.0, layout: str = "interleaved") -> None:
        super().__init__(shape)
        self.waves = Waves(base, layout)

    def prepare(self, positions: Positions, dtype: torch.dtype) -> Float[Tensor, "query width"]:
        return self.waves.table(positions, self.shape.width, dtype)


class SinusoidalEveryLayer(SinusoidTable):
    """The sinusoid table added to the residual stream at the entry of every block, x_l + PE(t).

    Dehghani et al. 2018 (Universal Transformer, arXiv 1807.03819).
    """

    def enter_block(
        self, x: Float[Tensor, "batch query width"], positions: Positions, layer: int
    ) -> Tensor:
        return x + positions.shared


class SinusoidalQueryKey(SinusoidTable):
    """The sinusoid table added to what queries and keys are made from, in every block; not values.

    Press et al. 2020 (position-infused attention, arXiv 2012.15832).
    """

    def attend_to(
        self, x: Float[Tensor, "batch query width"], positions: Positions, layer: int
    ) -> Tensor:
        return x + positions.shared
