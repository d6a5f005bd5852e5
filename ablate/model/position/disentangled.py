"""DeBERTa's disentangled attention: content and position in separate terms."""

from collections.abc import Sequence
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate.errors import UserError
from ablate.model.position.base import Positions, PositionScheme
from ablate.model.position.relative import Lookup, OffsetRows, look_up
from ablate.model.projection import Projection, Role
from ablate.model.shape import Shape

TERMS = ("c2c", "c2p", "p2c")
INDICES = ("paper", "released_code")


def deberta_row(distance: Int[Tensor, "..."], k: int) -> Int[Tensor, "..."]:
    """δ = clip(distance + k, 0, 2k − 1).

    >>> deberta_row(torch.tensor([-4, -3, 0, 3, 4]), 4).tolist()
    [0, 1, 4, 7, 7]
    """
    return (distance + k).clamp(0, 2 * k - 1)


class Deberta(PositionScheme):
    """[q_i·k_j + q_i·K_r[δ(i, j)] + k_j·Q_r[δ(j, i)]]/sqrt(n d), with clipped δ(i, j) = i − j + k.

    K_r and Q_r are maps of one table of 2k rows: a layer's own, or with `share_projections` those
    of its content. `terms` switches c2c, c2p and p2c, the products in their order; n counts those
    that are on. `p2c_index` "released_code" takes δ(i, j) in the last term, as all released codes
    do against the paper's equation 4. k is `max_distance` (None: the train length). The table
    starts as N(0, 0.02²), as released; the map to keys has no bias, which softmax would cancel.
    He et al. 2020 (arXiv 2006.03654).
    """

    relative = True

    def __init__(
        self,
        shape: Shape,
        *,
        terms: Sequence[str] = TERMS,
        max_distance: int | None = None,
        share_projections: bool = False,
        p2c_index: str = "paper",
    ) -> None:
        super().__init__(shape)
        if not terms or set(terms) - set(TERMS) or len(set(terms)) < len(terms):
            raise UserError(f"terms={list(terms)}: allowed are one to three of {', '.join(TERMS)}")
        if p2c_index not in INDICES:
            raise UserError(f"p2c_index={p2c_index}: allowed are {', '.join(INDICES)}")
        if max_distance is not None and max_distance < 1:
            raise UserError(f"max_distance={max_distance}: must be at least 1 token")
        self.terms = tuple(terms)
        self.max_distance = max_distance or shape.seq_len
        self.p2c_sign = -1 if p2c_index == "paper" else 1
        self.divided = (shape.head_width * len(self.terms)) ** -0.5
        self.positional = tuple(t for t in TERMS[1:] if t in self.terms)
        if self.positional:
            self.table = OffsetRows(2 * self.max_distance, shape.width, std=0.02)
        own_layers = 0 if share_projections else shape.depth
        self.layers = nn.ModuleList(
            nn.ModuleDict({term: self._map(term) for term in self.positional})
            for _ in range(own_layers)
        )
        # A plain list, since maps that belong to the blocks must not be listed here too.
        self.maps: list[dict[str, nn.Module]] = [
            dict(cast(nn.ModuleDict, maps).items()) for maps in self.layers
        ]
        self.share_projections = share_projections

    def _map(self, term: str) -> Projection:
        """A map for the table's rows: to keys for c2p, to queries for p2c."""
        role: Role = "key" if term == "c2p" else "query"
        return Projection(self.shape.width, self.shape.width, role, bias=term == "p2c")

    def bind(self, layer: int, query: nn.Linear, key: nn.Linear) -> None:
        if self.share_projections:
            self.maps.append({"c2p": key, "p2c": query})

    @property
    def scale(self) -> float:
        """1/sqrt(n d) on q·k, or 0 where the content term is off."""
        return self.divided if "c2c" in self.terms else 0.0

    def prepare(self, positions: Positions, dtype: torch.dtype) -> dict[str, Lookup]:
        k, sign = self.max_distance, self.p2c_sign
        rows = {
            "c2p": lambda distance: deberta_row(distance, k),
            "p2c": lambda distance: deberta_row(sign * distance, k),
        }
        return {
            term: look_up(positions, rows[term], by_key=term == "p2c") for term in self.positional
        }

    def bias(
        self, q: Tensor, k: Tensor, x: Tensor, positions: Positions, layer: int
    ) -> Float[Tensor, "batch heads query key"] | None:
        terms = []
        if "c2p" in self.positional:
            terms.append(self._term("c2p", q, positions, layer))
        if "p2c" in self.positional:
            terms.append(self._term("p2c", k, positions, layer).transpose(-1, -2))
        return sum(terms[1:], start=terms[0]) if terms else None

    def _term(self, term: str, content: Tensor, positions: Positions, layer: int) -> Tensor:
        lookup = positions.shared[term]
        rows = self.maps[layer][term](F.embedding(lookup.rows, self.table.weight))
        heads = self.divided * rows.unflatten(-1, (-1, self.shape.head_width)).permute(1, 2, 0)
        # A borrowed key map has fewer heads where several queries share one.
        heads = heads.repeat_interleave(self.shape.heads // len(heads), dim=0)
        return lookup.pick(content @ heads)
