"""Self-attention: one code path for every position scheme."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from ablate.errors import UserError
from ablate.model.autocast import rounded_to, unrounded
from ablate.model.cache import LayerCache
from ablate.model.position.base import Positions, PositionScheme, exact
from ablate.model.projection import Maps, side_by_side
from ablate.model.shape import Shape


class Attention(nn.Module):
    """softmax(scale · q·k + bias) v in heads. Vaswani et al. 2017 (arXiv 1706.03762).

    With fewer `kv_heads` than heads, groups of heads share one key and value; position schemes
    see them repeated to all heads. Ainslie et al. 2023 (arXiv 2305.13245). Raises UserError where
    heads do not divide the width or key heads the heads.
    """

    def __init__(
        self, shape: Shape, layer: int, maps: Maps, *, kv_heads: int | None = None
    ) -> None:
        super().__init__()
        kv_heads = shape.heads if kv_heads is None else kv_heads
        check_heads(shape.width, shape.heads, kv_heads)
        self.shape, self.layer = shape, layer
        width, kv_width = shape.width, kv_heads * shape.head_width
        self.query = maps.linear(width, width, "query")
        self.key = maps.linear(width, kv_width, "key")
        self.value = maps.linear(width, kv_width, "value")
        self.output = maps.linear(width, width, "output")
        self.query_norm = maps.head_norm("query", shape.head_width)
        self.key_norm = maps.head_norm("key", shape.head_width)
        self.value_norm = maps.head_norm("value", shape.head_width)
        self.inner_norm = maps.inner_norm(width)
        shared = shape.heads // kv_heads
        self.repeat = RepeatHeads(shared) if shared > 1 else nn.Identity()

    def forward(
        self,
        x: Float[Tensor, "batch query width"],
        scheme: PositionScheme,
        positions: Positions,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "batch query width"]:
        q, k, v, mask = self._heads_and_mask(x, scheme, positions, cache)
        mixed = attend(q, k, v, mask, causal=positions.causal, scale=scheme.scale)
        return self.output(self.inner_norm(mixed.transpose(1, 2).flatten(2)))

    def scores(
        self,
        x: Float[Tensor, "batch query width"],
        scheme: PositionScheme,
        positions: Positions,
    ) -> Float[Tensor, "batch heads query query"]:
        """What the softmax of a pass without a cache gets: scaled, biased, −inf where masked."""
        q, k, _, mask = self._heads_and_mask(x, scheme, positions, None)
        scores = scheme.scale * q @ k.transpose(-1, -2)
        if mask is None or mask.dtype == torch.bool:
            return positions.masked(scores)
        return scores + mask

    def _heads_and_mask(
        self, x: Tensor, scheme: PositionScheme, positions: Positions, cache: LayerCache | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Queries, keys and values, [batch, heads, length, head_width], and the biased mask."""
        source = scheme.attend_to(x, positions, self.layer)
        if source is x and cache is None:
            q, k, v = side_by_side(x, (self.query, self.key, self.value))
        else:  # of a token alone, joining the matrices would cost as much as the product
            q, k, v = self.query(source), self.key(source), self.value(x)
        q = self.query_norm(self._heads(q))
        k = self.key_norm(self._heads(k))
        v = self.value_norm(self._heads(v))
        if cache is not None:
            k, v, x = cache.extend(k, v, x, keep_inputs=scheme.needs_inputs)
        k, v = self.repeat(k), self.repeat(v)
        q, k = scheme.rotate(q, k, positions, self.layer)
        bias = exact_bias(scheme, q, k, x, positions, self.layer)
        mask = positions.visible if bias is None else positions.masked(bias).to(exact(q.dtype))
        # A 4-D mask reaches the fused CPU kernel; a 3-D one falls back to the slow path.
        while mask is not None and mask.dim() < 4:
            mask = mask[None]
        return q, k, v, mask

    def _heads(self, x: Tensor) -> Float[Tensor, "batch heads length head_width"]:
        return x.unflatten(-1, (-1, self.shape.head_width)).transpose(1, 2)


def exact_bias(
    scheme: PositionScheme, q: Tensor, k: Tensor, x: Tensor, positions: Positions, layer: int
) -> Tensor | None:
    """The bias of a scheme, in float32 under autocast too: distances need more than its 8 bits."""
    if rounded_to(q.device):
        q, k, x = q.float(), k.float(), x.float()
    with unrounded(q.device):
        return scheme.bias(q, k, x, positions, layer)


def attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, causal: bool, scale: float
) -> Tensor:
    """softmax(scale · q·k + mask) v by torch's fused kernels; a mask of floats is not rounded.

    Beside bfloat16 the CPU's kernel takes a float32 mask. CUDA's does not, so there the products of
    a scheme with a bias are float32 too.
    """
    dtype = rounded_to(q.device) or v.dtype
    if mask is None or mask.dtype in (torch.bool, dtype):
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=mask is None and causal, scale=scale
        )
    inner = dtype if q.device.type == "cpu" else mask.dtype
    q, k, v = q.to(inner), k.to(inner), v.to(inner)
    with unrounded(q.device):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale).to(dtype)


class RepeatHeads(nn.Module):
    """Repeats each head `times` times, the copies side by side."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    def forward(self, x: Float[Tensor, "batch kv_heads length head_width"]) -> Tensor:
        return x.repeat_interleave(self.times, dim=1)


def check_heads(width: int, heads: int, kv_heads: int) -> None:
    """Raise UserError where heads do not divide the width or key heads the heads."""
    if heads < 1 or width % heads:
        divisors = [h for h in range(1, width + 1) if width % h == 0]
        nearest = min(divisors, key=lambda h: abs(h - heads))
        raise UserError(f"heads={heads}: must divide width={width}; the nearest is {nearest}")
    if kv_heads < 1 or heads % kv_heads:
        allowed = ", ".join(str(h) for h in range(1, heads + 1) if heads % h == 0)
        raise UserError(f"kv_heads={kv_heads}: must divide heads={heads}; allowed are {allowed}")
