"""The transformer: embedding, blocks, head."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ablate.model.attention import Attention, Projection
from ablate.model.block import Block, FeedForward
from ablate.model.cache import Cache
from ablate.model.placement import Placement
from ablate.model.position.base import Positions, PositionScheme, causal_square
from ablate.model.shape import Shape
from ablate.model.wiring import ResidualRule, Site, Sublayer, Wiring


@dataclass(frozen=True)
class Parts:
    """The exchangeable parts of a transformer."""

    position: PositionScheme
    placement: Placement
    residual: Callable[[Site], ResidualRule]


class Transformer(nn.Module):
    """A stack of blocks between a token embedding and a linear head.

    With `tied`, the head uses the embedding's matrix. `bias`: linear maps inside blocks have one;
    the head never has.
    """

    def __init__(
        self,
        shape: Shape,
        parts: Parts,
        *,
        tied: bool = False,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.position = parts.position
        self.dropout = nn.Dropout(dropout) if dropout else nn.Identity()
        self.blocks = nn.ModuleList(
            build_block(shape, layer, parts, dropout=dropout, bias=bias)
            for layer in range(shape.depth)
        )
        self.final_norm = parts.placement.final_norm(shape.width)
        self.head = Projection(shape.width, shape.vocabulary, "head", bias=False)
        if tied:
            self.head.weight = self.embedding.weight

    def forward(
        self,
        tokens: Int[Tensor, "batch length"],
        cache: Cache | None = None,
        padding: Bool[Tensor, "batch length"] | None = None,
    ) -> Float[Tensor, "batch length vocabulary"]:
        """Logits. `cache` holds what came before and takes in these tokens.

        `padding` is true at tokens that nobody may attend to. Raises UserError where the position
        scheme has no such position.
        """
        positions = self._positions(tokens, cache, padding)
        positions.shared = self.position.prepare(positions, self.embedding.weight.dtype)
        x = self.position.embed(self.embedding(tokens), positions)
        state = self.blocks[0].attention_wiring.open(self.dropout(x))
        for layer, block in enumerate(self.blocks):
            state = block(state, self.position, positions, cache and cache.layers[layer])
        x = self.blocks[-1].feed_forward_wiring.close(state)
        return self.head(self.final_norm(x))

    def _positions(
        self, tokens: Tensor, cache: Cache | None, padding: Tensor | None
    ) -> Positions:
        length, before = tokens.shape[1], 0 if cache is None else len(cache)
        query = self.position.positions(length, before).to(tokens.device)
        key = query
        if cache is not None:
            cache.positions = key = torch.cat([cache.positions.to(query.device), query])
        visible = None
        if self.shape.causal and before:
            visible = causal_square(length, len(key), tokens.device)
        if padding is not None:
            shown = ~padding[:, None, None, :]
            square = causal_square(length, len(key), tokens.device) if self.shape.causal else True
            visible = shown & square
        return Positions(query, key, visible, self.shape.causal)


def build_block(shape: Shape, layer: int, parts: Parts, *, dropout: float, bias: bool) -> Block:
    """Block number `layer` (from 0) with its two sublayers wired."""

    def wiring(sublayer: Sublayer) -> Wiring:
        site = Site(layer, shape.depth, sublayer, shape.width)
        return parts.placement.wire(site, parts.residual(site))

    return Block(
        Attention(shape, layer, bias=bias),
        wiring("attention"),
        FeedForward(shape.width, bias=bias),
        wiring("feed_forward"),
        dropout,
    )


def token_loss(
    logits: Float[Tensor, "batch length vocabulary"], targets: Int[Tensor, "batch length"]
) -> Float[Tensor, ""]:
    """Mean cross-entropy per target token in nats; targets of −100 do not count."""
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def count_parameters(model: nn.Module) -> int:
    """Trainable numbers, a tied matrix counted once."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def flops_per_token(model: Transformer) -> int:
    """Floating-point operations of a training step per token: 6 N + 12 · depth · width · L.

    N counts the parameters without the embedding tables that are only looked up; the second term
    is attention over a full, unmasked square. Kaplan et al. 2020 (arXiv 2001.08361), forward and
    backward.
    """
    shape = model.shape
    looked_up = sum(
        m.weight.numel()
        for m in model.modules()
        if isinstance(m, nn.Embedding) and m.weight is not model.head.weight
    )
    dense = count_parameters(model) - looked_up
    return 6 * dense + 12 * shape.depth * shape.width * shape.seq_len
