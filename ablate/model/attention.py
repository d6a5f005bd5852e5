"""Self-attention: one code path for every position scheme."""

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from ablate.model.cache import LayerCache
from ablate.model.position.base import Positions, PositionScheme
from ablate.model.shape import Shape

Role = Literal["query", "key", "value", "output", "up", "gate", "down", "head"]


class Projection(nn.Linear):
    """A linear map that knows its role, so that an init recipe can tell one from another."""

    def __init__(self, inputs: int, outputs: int, role: Role, *, bias: bool) -> None:
        super().__init__(inputs, outputs, bias=bias)
        self.role = role


class Attention(nn.Module):
    """softmax(scale · q·k + bias) v in heads. Vaswani et al. 2017 (arXiv 1706.03762)."""

    def __init__(self, shape: Shape, layer: int, *, bias: bool) -> None:
        super().__init__()
        width = shape.width
        self.shape, self.layer = shape, layer
        self.query = Projection(width, width, "query", bias=bias)
        self.key = Projection(width, width, "key", bias=bias)
        self.value = Projection(width, width, "value", bias=bias)
        self.output = Projection(width, width, "output", bias=bias)

    def forward(
        self,
        x: Float[Tensor, "batch query width"],
        scheme: PositionScheme,
        positions: Positions,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "batch query width"]:
        source = scheme.attend_to(x, positions, self.layer)
        q = self._heads(self.query(source))
        k = self._heads(self.key(source))
        v = self._heads(self.value(x))
        if cache is not None:
            k, v, x = cache.extend(k, v, x, keep_inputs=scheme.needs_inputs)
        q, k = scheme.rotate(q, k, positions, self.layer)
        bias = scheme.bias(q, k, x, positions, self.layer)
        mask = positions.visible if bias is None else positions.masked(bias)
        # A 4-D mask reaches the fused CPU kernel; a 3-D one falls back to the slow path.
        while mask is not None and mask.dim() < 4:
            mask = mask[None]
        mixed = F.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=mask if bias is None or mask is None else mask.to(q.dtype),
            is_causal=mask is None and positions.causal,
            scale=scheme.scale,
        )
        return self.output(mixed.transpose(1, 2).flatten(2))

    def _heads(self, x: Tensor) -> Float[Tensor, "batch heads length head_width"]:
        return x.unflatten(-1, (self.shape.heads, self.shape.head_width)).transpose(1, 2)
