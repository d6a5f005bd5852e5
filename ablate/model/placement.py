"""Norm placements: which norms stand where around a sublayer.

A placement is built as `Placement(normalizer, **options)` and asked once for every sublayer; it is
a builder, not a module, so no choice is left for the forward pass.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

from torch import nn

from ablate.model.wiring import ResidualRule, Site, Wiring

Normalizer = Callable[[int], nn.Module]
"""A width → a fresh norm over that many features."""


class Placement(ABC):
    """The base of norm placements. `final`: a norm stands before the head."""

    def __init__(self, normalizer: Normalizer, *, final: bool) -> None:
        self.normalizer = normalizer
        self.final = final

    @abstractmethod
    def wire(self, site: Site, residual: ResidualRule) -> Wiring:
        """The wiring of one sublayer, each with norms of its own."""

    def final_norm(self, width: int) -> nn.Module:
        """What stands between the last block and the head."""
        return self.normalizer(width) if self.final else nn.Identity()


class Pre(Placement):
    """x + F(N(x)). Xiong et al. 2020 (arXiv 2002.04745)."""

    def __init__(self, normalizer: Normalizer, *, final: bool = True) -> None:
        super().__init__(normalizer, final=final)

    def wire(self, site: Site, residual: ResidualRule) -> Wiring:
        return Wiring(residual, before=self.normalizer(site.width))


class Post(Placement):
    """N(x + F(x)). Vaswani et al. 2017 (arXiv 1706.03762)."""

    def __init__(self, normalizer: Normalizer, *, final: bool = False) -> None:
        super().__init__(normalizer, final=final)

    def wire(self, site: Site, residual: ResidualRule) -> Wiring:
        return Wiring(residual, after=self.normalizer(site.width))


class NoPlacement(Placement):
    """x + F(x): no norm in any block."""

    def __init__(self, normalizer: Normalizer, *, final: bool = False) -> None:
        super().__init__(normalizer, final=final)

    def wire(self, site: Site, residual: ResidualRule) -> Wiring:
        return Wiring(residual)
