"""A block: an attention sublayer and a feed-forward sublayer on the residual stream."""

from typing import Any

from torch import nn

from ablate.model.attention import Attention
from ablate.model.cache import LayerCache
from ablate.model.feed_forward import FeedForward
from ablate.model.position.base import Positions, PositionScheme
from ablate.model.wiring import Wiring


class Block(nn.Module):
    """Attention and feed-forward, each hung on the stream's state by its wiring."""

    def __init__(
        self,
        attention: Attention,
        attention_wiring: Wiring,
        feed_forward: FeedForward,
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
