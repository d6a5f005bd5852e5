"""The transformer: embedding, blocks, head."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ablate.model.attention import Attention
from ablate.model.autocast import unrounded
from ablate.model.block import Block
from ablate.model.cache import Cache
from ablate.model.feed_forward import GELU, FeedForward
from ablate.model.normalizers import PaddingAware
from ablate.model.placement import Placement
from ablate.model.position.base import Positions, PositionScheme, causal_square
from ablate.model.projection import Maps
from ablate.model.residual import ResidualRule, Site, Sublayer
from ablate.model.shape import Shape
from ablate.model.wiring import Wiring


@dataclass(frozen=True)
class Parts:
    """The exchangeable parts of a transformer; `feed_forward` is called with (width, maps)."""

    position: PositionScheme
    placement: Placement
    residual: Callable[[Site], ResidualRule]
    feed_forward: Callable[[int, Maps], FeedForward] = GELU


class Transformer(nn.Module):
    """A stack of blocks between a token embedding and a linear head.

    With `tied`, the head uses the embedding's matrix. `bias`: linear maps inside blocks have one;
    the head never has. `kv_heads`: how many heads have keys and values of their own; None is all.
    """

    def __init__(
        self,
        shape: Shape,
        parts: Parts,
        *,
        tied: bool = False,
        dropout: float = 0.0,
        bias: bool = True,
        kv_heads: int | None = None,
    ) -> None:
        super().__init__()
        self.shape, self.placement = shape, parts.placement
        maps = Maps(
            bias,
            parts.placement.projection,
            parts.placement.inner_norm,
            parts.placement.head_norm,
        )
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.position = parts.position
        self.dropout = nn.Dropout(dropout) if dropout else nn.Identity()
        self.blocks = nn.ModuleList(
            build_block(shape, layer, parts, maps, dropout=dropout, kv_heads=kv_heads)
            for layer in range(shape.depth)
        )
        for layer, block in enumerate(self._stack()):
            self.position.bind(layer, block.attention.query, block.attention.key)
        self.final_norm = parts.placement.final_norm(shape.width)
        self.head = parts.placement.projection(shape.width, shape.vocabulary, "head", bias=False)
        if tied:
            self.head.weight = self.embedding.weight
        self.padding_aware = [m for m in self.modules() if isinstance(m, PaddingAware)]

    def forward(
        self,
        tokens: Int[Tensor, "batch length"],
        cache: Cache | None = None,
        padding: Bool[Tensor, "batch key"] | None = None,
        scored: Bool[Tensor, "batch length"] | None = None,
    ) -> Float[Tensor, "rows columns vocabulary"]:
        """Logits. `cache` holds what came before and takes in these tokens.

        With `scored`, only those of the positions where it is true, in order, as one row.
        `padding` is true at tokens that no other token may attend to; with a cache it covers what
        was cached too. Raises UserError where the position scheme has no such position.
        """
        positions = self._positions(tokens, cache, padding)
        for module in self.padding_aware:
            module.valid = None if padding is None else ~padding[:, -tokens.shape[1] :]
        with unrounded(tokens.device):  # what a network makes of distances
            positions.shared = self.position.prepare(positions, self.embedding.weight.dtype)
        x = self.position.embed(self.embedding(tokens), positions)
        blocks = self._stack()
        state = blocks[0].attention_wiring.open(self.dropout(x))
        for layer, block in enumerate(blocks):
            # An empty cache is false, so ask for None.
            memory = None if cache is None else cache.layers[layer]
            state = block(state, self.position, positions, memory)
        x = blocks[-1].feed_forward_wiring.close(state)
        if scored is not None:
            x = x[scored][None]
        return self.head(self.final_norm(x))

    def _stack(self) -> list[Block]:
        return cast(list[Block], list(self.blocks))

    def _positions(self, tokens: Tensor, cache: Cache | None, padding: Tensor | None) -> Positions:
        length, before = tokens.shape[1], 0 if cache is None else len(cache)
        query = self.position.positions(length, before).to(tokens.device)
        key = query
        if cache is not None:
            cache.positions = key = torch.cat([cache.positions.to(query.device), query])
        visible = None
        if self.shape.causal and before:
            visible = causal_square(length, len(key), tokens.device)
        if padding is not None:
            visible = ~padding[:, None, None, :]
            if self.shape.causal:
                visible = visible & causal_square(length, len(key), tokens.device)
            # Each token sees itself: a row without any key would be 0/0.
            itself = torch.eye(len(key), dtype=torch.bool, device=tokens.device)[-length:]
            visible = visible | itself
        return Positions(query, key, visible, self.shape.causal)


def build_block(
    shape: Shape,
    layer: int,
    parts: Parts,
    maps: Maps,
    *,
    dropout: float,
    kv_heads: int | None,
) -> Block:
    """Block number `layer` (from 0) with its two sublayers wired."""

    def wiring(sublayer: Sublayer) -> Wiring:
        site = Site(layer, shape.depth, sublayer, shape.width)
        return parts.placement.wire(site, parts.residual(site))

    return Block(
        Attention(shape, layer, maps, kv_heads=kv_heads),
        wiring("attention"),
        parts.feed_forward(shape.width, maps),
        wiring("feed_forward"),
        dropout,
    )


def token_loss(
    logits: Float[Tensor, "batch length vocabulary"], targets: Int[Tensor, "batch length"]
) -> Float[Tensor, ""]:
    """Mean cross-entropy per target token in nats; targets of −100 do not count."""
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def summed_loss(
    logits: Float[Tensor, "batch length vocabulary"], targets: Int[Tensor, "batch length"]
) -> Float[Tensor, ""]:
    """The sum that `token_loss` is the mean of; 0 where every target is −100."""
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), reduction="sum")


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
