"""The position protocol: a null scheme whose hooks do nothing."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ablate.errors import UserError
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
    _masked: list[Tensor] = field(default_factory=list, repr=False)

    def distance(self) -> Int[Tensor, "query key"]:
        """i − j for query i and key j; negative where the key comes later."""
        return self.query[:, None] - self.key[None, :]

    def span(self) -> int:
        """How many positions are attended, from the first key to the newest token."""
        # Counted from the first key, so that a common shift makes no longer sequence.
        return int(torch.maximum(self.query.max(), self.key.max()) - self.key.min()) + 1

    def seen(self) -> Bool[Tensor, "*batch query key"] | None:
        """`visible` with the causal square written out; None where everything may be seen."""
        if self.visible is None and self.causal:
            return causal_square(len(self.query), len(self.key), self.query.device)
        return self.visible

    def masked(self, bias: Float[Tensor, "*batch heads query key"]) -> Tensor:
        """`bias` with −inf where a query may not look; what `share` returned is masked already."""
        if any(bias is masked for masked in self._masked):
            return bias
        visible = self.seen()
        return bias if visible is None else bias.masked_fill(~visible, float("-inf"))

    def share(self, bias: Float[Tensor, "*batch heads query key"]) -> Tensor:
        """`bias` masked once, for a scheme that gives every layer the same one."""
        self._masked.append(self.masked(bias))
        return self._masked[-1]


def exact(dtype: torch.dtype) -> torch.dtype:
    """The dtype in which positions are computed: float64 in a float64 model, else float32.

    >>> exact(torch.bfloat16), exact(torch.float64)
    (torch.float32, torch.float64)
    """
    return torch.float64 if dtype == torch.float64 else torch.float32


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

    facts: ClassVar[frozenset[str]] = frozenset()
    """What a diagnosis knows the scheme by. fading: scores fall with the distance, or know none
    beyond some bound. rotary: queries and keys are turned. scalable: trained weights bear the
    phases of pos=yarn. drawn: training draws from all positions that there are. absent: there is
    no scheme."""
    relative: bool = False
    """Scores do not change when queries and keys move by one common shift."""
    causal_only: ClassVar[bool] = False
    """Undefined where a key comes after its query; refused in an encoder."""
    needs_inputs: bool = False
    """`bias` reads the sublayer's input at the keys, which a cache must then keep."""
    whole_length: bool = False
    """Scores depend on how long the sequence is: past the train length, decoding with a cache
    differs from a full pass, since what was cached had been computed at a shorter length."""

    def __init__(self, shape: Shape) -> None:
        """Raises UserError where the scheme looks back only and the shape is an encoder's."""
        super().__init__()
        if self.causal_only and not shape.causal:
            raise UserError(
                "defined for causal attention only, but this task's attention is bidirectional; "
                "try pos=rope, alibi, t5 or another of `attention: both`"
            )
        self.shape = shape

    def bind(self, layer: int, query: nn.Linear, key: nn.Linear) -> None:
        """Once, when the model is built: the maps that make a block's queries and keys.

        For a scheme that passes something of its own through them; they stay the block's.
        """

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
        x: Float[Tensor, "batch inputs width"],
        positions: Positions,
        layer: int,
    ) -> Float[Tensor, "*batch heads query key"] | None:
        """Added to the scaled scores, or None; the mask is attention's business.

        Computed without autocast, `q`, `k` and `x` being float32, and added in float32.
        `q` and `k` come as `rotate` leaves them. Where `needs_inputs` is false, `x` holds the
        inputs at the queries alone. A bias from `Positions.share` is masked already.
        """
        return None


class NoPosition(PositionScheme):
    """No position scheme (NoPE): order enters through the causal mask alone.

    Kazemnejad et al. 2023 (arXiv 2305.19466).
    """

    facts = frozenset({"absent"})
    relative = True
