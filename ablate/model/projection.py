"""Linear maps that know their role, and what a norm placement asks of a sublayer's maps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

Role = Literal["query", "key", "value", "output", "up", "gate", "down", "head", "carry"]


class Projection(nn.Linear):
    """A linear map that knows its role, so that an init recipe can tell one from another."""

    def __init__(self, inputs: int, outputs: int, role: Role, *, bias: bool) -> None:
        super().__init__(inputs, outputs, bias=bias)
        self.role = role

    def matrix(self) -> Float[Tensor, "outputs inputs"]:
        """What the input is multiplied with: the trained matrix, unless a kind says otherwise."""
        return self.weight

    def forward(self, x: Float[Tensor, "... inputs"]) -> Float[Tensor, "... outputs"]:
        return F.linear(x, self.matrix(), self.bias)


class UnitProjection(Projection):
    """W/‖W‖ x + b: vectors along the stream's axis have unit length.

    That axis is W's outputs where the map writes to the stream, its inputs elsewhere. Loshchilov
    et al. 2024 (arXiv 2410.01131) rescale the matrix itself after each step; dividing in the
    forward pass gives the same function and needs no rule in the optimiser.
    """

    def matrix(self) -> Float[Tensor, "outputs inputs"]:
        stream_axis = 0 if self.role in ("output", "down") else 1
        return F.normalize(self.weight, dim=stream_axis)


def side_by_side(
    x: Float[Tensor, "... inputs"], maps: Sequence[Projection]
) -> tuple[Float[Tensor, "... outputs"], ...]:
    """What each map makes of x, by one product with their matrices joined: it fills a CPU better.

    All of the maps have a bias or none has.
    """
    biases: list[Tensor] = [m.bias for m in maps if m.bias is not None]
    matrix = torch.cat([m.matrix() for m in maps])
    joined = F.linear(x, matrix, torch.cat(biases) if biases else None)
    return joined.split([m.out_features for m in maps], dim=-1)


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
