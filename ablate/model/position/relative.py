"""Schemes whose scores hold a product of queries with something learned per distance."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from ablate.errors import UserError
from ablate.model.position.additive import sinusoid_table
from ablate.model.position.base import Positions, PositionScheme
from ablate.model.projection import Projection
from ablate.model.shape import Drawn, Shape


@dataclass(frozen=True)
class Lookup:
    """Which rows of a table by distance a forward pass needs, and which of them each pair takes.

    At consecutive positions each query's distances are its predecessor's shifted by one, so that
    the pairs' products are a view (the papers' relative shift), several times faster than a gather;
    `index` is then None.
    """

    rows: Int[Tensor, "row"]
    index: Int[Tensor, "content other"] | None
    start: int = 0
    width: int = 0

    def pick(
        self, products: Float[Tensor, "batch heads content row"]
    ) -> Float[Tensor, "batch heads content other"]:
        """Each pair's product, from those of every content vector with every row.

        Where a key comes after its query in causal attention, the value has no meaning.
        """
        if self.index is not None:
            return products.gather(-1, self.index.expand(*products.shape[:2], -1, -1))
        content, step = products.shape[-2], products.shape[-1] - 1
        cut = products.flatten(-2)[..., self.start : self.start + content * step]
        return cut.unflatten(-1, (content, step))[..., : self.width]


def look_up(
    positions: Positions, row: Callable[[Tensor], Tensor], *, by_key: bool = False
) -> Lookup:
    """The Lookup of `row(i − j)` for all pairs: [query, key], or [key, query] where `by_key`.

    >>> at = torch.arange(3)
    >>> lookup = look_up(Positions(at, at), lambda distance: distance)
    >>> lookup.pick(lookup.rows.float().expand(1, 1, 3, -1))[0, 0].tril().tolist()
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 1.0, 0.0]]
    """
    distance = positions.distance()
    queries, keys = distance.shape
    if not (consecutive(positions.query) and consecutive(positions.key)):
        # Later keys are masked in causal attention, and their rows are not needed.
        rows = row(distance.clamp(min=0) if positions.causal else distance)
        first = int(rows.min())
        table = torch.arange(first, int(rows.max()) + 1, device=rows.device)
        return Lookup(table, (rows.T if by_key else rows) - first)
    # One distance more than there is makes room for the shift.
    lowest = -1 if positions.causal else int(distance[0, -1]) - 1
    distances = torch.arange(lowest, int(distance[-1, 0]) + 1, device=distance.device)
    if by_key:
        return Lookup(row(distances), None, start=int(distance[0, 0]) - lowest, width=queries)
    return Lookup(row(distances.flip(0)), None, start=queries - 1, width=keys)


def consecutive(positions: Int[Tensor, "length"]) -> bool:
    """Whether each position is the one before it plus 1."""
    return bool((positions.diff() == 1).all())


class OffsetRows(nn.Module, Drawn):
    """A table of learned rows; N(0, std²), or U(±sqrt(6 / (rows + width))) where std is None."""

    def __init__(self, rows: int, width: int, std: float | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(rows, width))
        self.std = std

    def draw(self, generator: Generator) -> None:
        if self.std is None:
            nn.init.xavier_uniform_(self.weight, generator=generator)
        else:
            nn.init.normal_(self.weight, std=self.std, generator=generator)


class Shaw(PositionScheme):
    """Relative keys: q_i·(k_j + a[clip(j − i, ±k)])/sqrt(d), one table a layer, shared by heads.

    The paper's relative values are not built: the fused attention kernel gives no weights to apply
    them with, and the paper finds keys alone as good. Tables are drawn by Glorot's rule, as in the
    released code. Shaw et al. 2018 (arXiv 1803.02155).
    """

    relative = True

    def __init__(self, shape: Shape, *, max_distance: int = 16) -> None:
        super().__init__(shape)
        if max_distance < 1:
            raise UserError(f"max_distance={max_distance}: must be at least 1 token")
        self.max_distance = max_distance
        self.layers = nn.ModuleList(
            OffsetRows(2 * max_distance + 1, shape.head_width) for _ in range(shape.depth)
        )

    def prepare(self, positions: Positions, dtype: torch.dtype) -> Lookup:
        k = self.max_distance
        return look_up(positions, lambda distance: (-distance).clamp(-k, k) + k)

    def bias(
        self, q: Tensor, k: Tensor, x: Tensor, positions: Positions, layer: int
    ) -> Float[Tensor, "batch heads query key"]:
        table = cast(OffsetRows, self.layers[layer]).weight
        rows = F.embedding(positions.shared.rows, table)
        return positions.shared.pick(q @ (self.scale * rows).T)


class TransformerXL(PositionScheme, Drawn):
    """[(q_i + u)·k_j + (q_i + v)·W_R R(i − j)]/sqrt(d), R the half-split sinusoids of a distance.

    W_R is a layer's own; u and v [heads, d] serve all layers and start as N(0, 0.02²), as in the
    released code. The relative shift is a gather here. Segment memory is no part of it. Dai et al.
    2019 (arXiv 1901.02860); with both directions, Yang et al. 2019 (XLNet, arXiv 1906.08237).
    """

    relative = True

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.content_bias = nn.Parameter(torch.zeros(shape.heads, shape.head_width))
        self.position_bias = nn.Parameter(torch.zeros(shape.heads, shape.head_width))
        self.layers = nn.ModuleList(
            Projection(shape.width, shape.width, "key", bias=False) for _ in range(shape.depth)
        )

    def draw(self, generator: Generator) -> None:
        nn.init.normal_(self.content_bias, std=0.02, generator=generator)
        nn.init.normal_(self.position_bias, std=0.02, generator=generator)

    def prepare(
        self, positions: Positions, dtype: torch.dtype
    ) -> tuple[Lookup, Float[Tensor, "row width"]]:
        lookup = look_up(positions, lambda distance: distance)
        table = sinusoid_table(lookup.rows, self.shape.width, layout="half_split")
        return lookup, table.to(dtype)

    def bias(
        self, q: Tensor, k: Tensor, x: Tensor, positions: Positions, layer: int
    ) -> Float[Tensor, "batch heads query key"]:
        lookup, table = positions.shared
        rows = self.scale * self.layers[layer](table).unflatten(-1, (self.shape.heads, -1))
        placed = (q + self.position_bias[:, None]) @ rows.permute(1, 2, 0)
        content = k @ (self.scale * self.content_bias)[:, :, None]
        return content.transpose(-1, -2) + lookup.pick(placed)
