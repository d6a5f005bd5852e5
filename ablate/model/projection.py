"""Linear maps that know their role, and what a norm placement asks of a sublayer's maps."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

Role = Literal["query", "key", "value", "output", "up", "gate", "down", "head", "carry"]


class Projection(nn.Linear):
    """A linear map that knows its role, so that an init recipe can tell one from another."""

    def __init__(self, inputs: int, outputs: int, role: Role, *, bias: bool) -> None:
        super().__init__(inputs, outputs, bias=bias)
        self.role = role


class UnitProjection(Projection):
    """W/‖W‖ x + b: vectors along the stream's axis have unit length.

    That axis is W's outputs where the map writes to the stream, its inputs elsewhere. Loshchilov
    et al. 2024 (arXiv 2410.01131) rescale the matrix itself after each step; dividing in the
    forward pass gives the same function and needs no rule in the optimiser.
    """

    def forward(self, x: Float[Tensor, "... inputs"]) -> Float[Tensor, "... outputs"]:
        stream_axis = 0 if self.role in ("output", "down") else 1
        return F.linear(x, F.normalize(self.weight, dim=stream_axis), self.bias)


@dataclass(frozen=True)
class Maps:
    """How a sublayer makes its linear maps and the norms between them.

    `inner_norm(features)` stands before the sublayer's last map, `head_norm(role, head_width)` on
    queries, keys and values in heads; both are the identity in most placements.
    """

    bias: bool
    projection: type[Projection] = Projection
    inner_norm: Callable[[int], nn.Module] = lambda features: nn.Identity()
    head_norm: Callable[[Role, int], nn.Module] = lambda role, head_width: nn.Identity()

    def linear(self, inputs: int, outputs: int, role: Role) -> Projection:
        """A map of the placement's kind."""
        return self.projection(inputs, outputs, role, bias=self.bias)
