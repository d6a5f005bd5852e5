"""The base of norm placements.

A placement is built as `Placement(normalizer, **options)` and asked once for every sublayer; it is
a builder, not a module, so no choice is left for the forward pass.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from torch import nn

from ablate.model.projection import Projection, Role
from ablate.model.residual import ResidualRule, Site
from ablate.model.wiring import Wiring

Normalizer = Callable[[int], nn.Module]
"""A width → a fresh norm over that many features."""


class Placement(ABC):
    """A placement wires each sublayer; the other hooks do nothing unless a placement needs them.

    `final`: a norm stands before the head. `qk`: one norm on the queries and one on the keys of
    each attention, over the features of a head and before any rotation (Henry et al. 2020, arXiv
    2010.04245; Dehghani et al. 2023, arXiv 2302.05442).
    """

    facts: ClassVar[frozenset[str]] = frozenset()
    """What a diagnosis knows the placement by. post-norm: the norm after the sum is on the skip
    path of every sublayer, and nothing makes up for it. absent: no block has a norm."""
    projection: ClassVar[type[Projection]] = Projection
    """The kind of linear map that sublayers and the head are made of."""

    def __init__(self, normalizer: Normalizer, *, final: bool = True, qk: bool = False) -> None:
        self.normalizer = normalizer
        self.final = final
        self.qk = qk

    @abstractmethod
    def wire(self, site: Site, residual: ResidualRule) -> Wiring:
        """The wiring of one sublayer, each with norms of its own."""

    def final_norm(self, width: int) -> nn.Module:
        """What stands between the last block and the head."""
        return self.normalizer(width) if self.final else nn.Identity()

    def inner_norm(self, features: int) -> nn.Module:
        """What stands before a sublayer's last linear map."""
        return nn.Identity()

    def head_norm(self, role: Role, head_width: int) -> nn.Module:
        """What stands on queries, keys and values in heads."""
        if self.qk and role in ("query", "key"):
            return self.normalizer(head_width)
        return nn.Identity()

    def gain(self, role: Role, depth: int) -> float:
        """The factor on the initial weights of the blocks' linear maps of that role."""
        return 1.0

    def profile(self, blocks: nn.ModuleList, forward: Callable[[], object]) -> None:
        """Set what depends on a first pass: `forward` runs the drawn model once, without grad."""
        return  # most placements have nothing of the kind
