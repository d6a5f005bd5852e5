"""A block: an attention sublayer and a feed-forward sublayer on the residual stream."""

from typing import Any

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from ablate.model.attention import Attention, Projection
from ablate.model.cache import LayerCache
from ablate.model.position.base import Positions, PositionScheme
from ablate.model.wiring import Wiring


class FeedForward(nn.Module):
    """W₂ gelu(W₁ x), four times as wide inside."""

    def __init__(self, width: int, *, bias: bool) -> None:
        super().__init__()
        self.up = Projection(width, 4 * width, "up", bias=bias)
        self.down = Projection(4 * width, width, "down", bias=bias)

    def forward(self, x: Float[Tensor, "batch length width"]) -> Tensor:
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    """Attention and feed-forward, each hung on the stream's state by its wiring."""

    def __init__(
        self,
        attention: Attention,
        attention_wiring: Wiring,
        feed_forward: nn.Module,
        feed_forward_wiring: Wiring,
        dropout: float,
    ) -> None:
        super().__init__()
        self.attention, self.attention_wiring = attention, attention_wiring
        self.feed_forward, self.feed_forward_wiring = feed_forward, feed_forward_wiring
        self.dropout = nn.Dropout(dropout) if dropout else nn.Identity()

    def forward(
        self,
        state: Any,
        scheme: PositionScheme,
        positions: Positions,
        cache: LayerCache | None = None,
    ) -> Any:
        layer = self.attention.layer
        state = self.attention_wiring.enter(
            state, lambda x: scheme.enter_block(x, positions, layer)
        )
        x = self.attention_wiring.read(state)
        y = self.dropout(self.attention(x, scheme, positions, cache))
        state = self.attention_wiring.write(state, y)
        y = self.dropout(self.feed_forward(self.feed_forward_wiring.read(state)))
        return self.feed_forward_wiring.write(state, y)
