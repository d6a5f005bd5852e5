"""The position protocol: a null scheme whose hooks do nothing."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ablate.model.shape import Shape


@dataclass
class Positions:
    """The positions of one forward pass, with what a scheme shares over its layers.

    `query` and `key` are integers; with a key-value cache there are more keys than queries.
    `visible` says which keys a query may see, or is None for the plain causal square that a fused
    kernel masks by itself, and for an encoder without padding.
    """

    query: Int[Tensor, "query"]
    key: Int[Tensor, "key"]
    visible: Bool[Tensor, "*batch query key"] | None = None
    causal: bool = True
    shared: Any = None
    _masked: tuple[Tensor, Tensor] | None = field(default=None, repr=False)

    def masked(self, bias: Float[Tensor, "*batch heads query key"]) -> Tensor:
        """`bias` with −inf where a query may not look; computed once for a bias shared by layers."""
        if self._masked is None or self._masked[0] is not bias:
            visible = self.visible
            if visible is None and self.causal:
                visible = causal_square(len(self.query), len(self.key), bias.device)
            if visible is None:
                return bias
            self._masked = (bias, bias.masked_fill(~visible, float("-inf")))
        return self._masked[1]


def causal_square(query: int, key: int, device: torch.device) -> Bool[Tensor, "query key"]:
    """Which keys a query may see when the last query stands at the last key.

    >>> causal_square(2, 3, torch.device("cpu")).int().tolist()
    [[1, 1, 0], [1, 1, 1]]
    """
    return torch.ones(query, key, dtype=torch.bool, device=device).tril(key - query)


class PositionScheme(nn.Module):
    """No position at all; a scheme overrides the hooks that it uses and no others.

    The hooks stand in the order in which a forward pass calls them. `layer` counts blocks from 0.
    """

    relative: ClassVar[bool] = False
    """Scores do not change when queries and keys move by one common shift."""
    causal_only: ClassVar[bool] = False
    needs_inputs: ClassVar[bool] = False
    """`bias` reads the sublayer's input at the keys, which a cache must then keep."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape

    @property
    def max_length(self) -> int | None:
        """The hard limit on positions in tokens, or None."""
        return None

    @property
    def scale(self) -> float:
        """The factor on q·k."""
        return self.shape.head_width**-0.5

    def positions(self, length: int, offset: int = 0) -> Int[Tensor, "length"]:
        """Which integers the tokens number `offset` to `offset + length − 1` get."""
        return torch.arange(offset, offset + length)

    def prepare(self, positions: Positions, dtype: torch.dtype) -> Any:
        """What all layers share in this forward pass; the hooks find it in `positions.shared`."""
        return None

    def embed(self, x: Float[Tensor, "batch query width"], positions: Positions) -> Tensor:
        """Once, after the token embedding."""
        return x

    def enter_block(
        self, x: Float[Tensor, "batch query width"], positions: Positions, layer: int
    ) -> Tensor:
        """At each block's entry, on the residual stream."""
        return x

    def attend_to(
        self, x: Float[Tensor, "batch query width"], positions: Positions, layer: int
    ) -> Tensor:
        """What queries and keys are made from; values are always made from `x`."""
        return x

    def rotate(
        self,
        q: Float[Tensor, "batch heads query head_width"],
        k: Float[Tensor, "batch heads key head_width"],
        positions: Positions,
        layer: int,
    ) -> tuple[Tensor, Tensor]:
        """On queries and keys before their product."""
        return q, k

    def bias(
        self,
        q: Float[Tensor, "batch heads query head_width"],
        k: Float[Tensor, "batch heads key head_width"],
        x: Float[Tensor, "batch key width"],
        positions: Positions,
        layer: int,
    ) -> Float[Tensor, "*batch heads query key"] | None:
        """Added to the scaled scores, or None; the mask is attention's business.

        `q` and `k` come as `rotate` leaves them. Where `needs_inputs` is false, `x` holds the
        inputs at the queries alone.
        """
        return None


class NoPosition(PositionScheme):
    """No position scheme (NoPE): order enters through the causal mask alone.

    Kazemnejad et al. 2023 (arXiv 2305.19466).
    """

    relative = True
