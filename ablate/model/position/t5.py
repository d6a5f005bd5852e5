"""T5's bias: a learned number per head and bucket of distances."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from ablate.errors import UserError
from ablate.model.position.base import Positions, PositionScheme
from ablate.model.shape import Drawn, Shape


def t5_bucket(
    relative: Int[Tensor, "..."], *, bidirectional: bool, buckets: int = 32, max_distance: int = 128
) -> Int[Tensor, "..."]:
    """The bucket of `relative` = key position − query position.

    Half of a direction's buckets hold one distance each, the others grow logarithmically up to
    `max_distance`; whatever is farther falls in the last. Bidirectional, keys after the query have
    the upper half; else they are in bucket 0. Raffel et al. 2019 (arXiv 1910.10683), its code.

    >>> t5_bucket(-torch.tensor([15, 16, 20, 32, 64, 127]), bidirectional=False).tolist()
    [15, 16, 17, 21, 26, 31]
    """
    start = torch.zeros_like(relative)
    if bidirectional:
        buckets //= 2
        start = (relative > 0) * buckets
        distance = relative.abs()
    else:
        distance = (-relative).clamp(min=0)
    exact_up_to = buckets // 2
    # This order of operations gives whole numbers where they are due, as at a distance of 64.
    grown = (
        torch.log(distance.clamp(min=1).double() / exact_up_to)
        / math.log(max_distance / exact_up_to)
        * (buckets - exact_up_to)
    )
    far = (exact_up_to + grown.long()).clamp(max=buckets - 1)
    return start + torch.where(distance < exact_up_to, distance, far)


class T5(PositionScheme, Drawn):
    """A bias b_h[bucket(j − i)] on unscaled scores q·k, one table for all layers.

    T5 leaves out 1/sqrt(d) and draws its query maps smaller instead, which our init recipes do not;
    `scale_scores` puts the factor back. The table starts as N(0, 1/width), as released.
    Raffel et al. 2019 (arXiv 1910.10683).
    """

    facts = frozenset({"fading"})
    relative = True

    def __init__(
        self,
        shape: Shape,
        *,
        buckets: int = 32,
        max_distance: int = 128,
        scale_scores: bool = False,
    ) -> None:
        super().__init__(shape)
        directions = 1 if shape.causal else 2
        if buckets < 2 * directions or buckets % (2 * directions):
            raise UserError(f"buckets={buckets}: must be a multiple of {2 * directions} here")
        if max_distance <= buckets // (2 * directions):
            raise UserError(
                f"max_distance={max_distance}: must be above {buckets // (2 * directions)}, the "
                f"distances that have a bucket of their own (buckets={buckets})"
            )
        self.buckets, self.max_distance = buckets, max_distance
        self.factor = shape.head_width**-0.5 if scale_scores else 1.0
        self.table = nn.Parameter(torch.zeros(buckets, shape.heads))

    def draw(self, generator: Generator) -> None:
        nn.init.normal_(self.table, std=self.shape.width**-0.5, generator=generator)

    @property
    def scale(self) -> float:
        """1 as in T5, or 1/sqrt(d) with `scale_scores`."""
        return self.factor

    def prepare(
        self, positions: Positions, dtype: torch.dtype
    ) -> Float[Tensor, "*batch heads query key"]:
        bucket = t5_bucket(
            -positions.distance(),
            bidirectional=not self.shape.causal,
            buckets=self.buckets,
            max_distance=self.max_distance,
        )
        return positions.share(F.embedding(bucket, self.table).permute(2, 0, 1))

    def bias(
        self, q: Tensor, k: Tensor, x: Tensor, positions: Positions, layer: int
    ) -> Float[Tensor, "*batch heads query key"]:
        return positions.shared
