"""Placements with a second path beside the stream: ResiDual and bottom-to-top."""

from collections.abc import Callable

from torch import Tensor, nn

from ablate.model.placement.rule import Normalizer, Placement
from ablate.model.residual import ResidualRule, Site
from ablate.model.wiring import Wiring, require_additive

Pair = tuple[Tensor, Tensor]


class DualStream(Wiring):
    """A post-norm stream s ← N(s + F(s)) and a plain sum d ← d + F(s), both from the embeddings.

    F reads s; `dual_norm` stands on d at the end. A position scheme that changes the stream at a
    block's entry changes s, since d is never read in between.
    """

    def __init__(self, residual: ResidualRule, norm: nn.Module, dual_norm: nn.Module) -> None:
        super().__init__(residual)
        require_additive(residual, "both of its streams add F")
        self.after, self.dual_norm = norm, dual_norm

    def open(self, x: Tensor) -> Pair:
        return x, x

    def enter(self, state: Pair, change: Callable[[Tensor], Tensor]) -> Pair:
        return change(state[0]), state[1]

    def read(self, state: Pair) -> Tensor:
        return state[0]

    def write(self, state: Pair, y: Tensor) -> Pair:
        added = self.residual.branch(y)
        return self.after(state[0] + added), state[1] + added

    def close(self, state: Pair) -> Tensor:
        return state[0] + self.dual_norm(state[1])


class ResidualDual(Placement):
    """ResiDual: s ← N(s + F(s)) and d ← d + F(s); the output is s + N(d).

    Xie et al. 2023 (arXiv 2304.14802); d starts at the embeddings, as in the released code. N(d)
    belongs to the scheme; `final` puts one more norm on the sum.
    """

    def __init__(self, normalizer: Normalizer, *, final: bool = False, qk: bool = False) -> None:
        super().__init__(normalizer, final=final, qk=qk)

    def wire(self, site: Site, residual: ResidualRule) -> DualStream:
        dual_norm = self.normalizer(site.width) if site.last else nn.Identity()
        return DualStream(residual, self.normalizer(site.width), dual_norm)


class BottomOfBlock(Wiring):
    """h = N(x + A(x)), with x kept beside it for the block's end."""

    def __init__(self, residual: ResidualRule, norm: nn.Module) -> None:
        super().__init__(residual)
        require_additive(residual, "a block's input joins two sums")
        self.after = norm

    def write(self, state: Tensor, y: Tensor) -> Pair:
        return self.after(state + self.residual.branch(y)), state


class TopOfBlock(Wiring):
    """x ← N(x + h + F(h))."""

    def __init__(self, residual: ResidualRule, norm: nn.Module) -> None:
        super().__init__(residual)
        require_additive(residual, "a block's input joins two sums")
        self.after = norm

    def read(self, state: Pair) -> Tensor:
        return state[0]

    def write(self, state: Pair, y: Tensor) -> Tensor:
        h, x = state
        return self.after(x + h + self.residual.branch(y))


class BottomToTop(Placement):
    """B2T: h = N(x + A(x)); x ← N(x + h + F(h)), post-norm with a path around the first norm.

    Takase et al. 2022 (arXiv 2206.00330).
    """

    def __init__(self, normalizer: Normalizer, *, final: bool = False, qk: bool = False) -> None:
        super().__init__(normalizer, final=final, qk=qk)

    def wire(self, site: Site, residual: ResidualRule) -> Wiring:
        norm = self.normalizer(site.width)
        if site.sublayer == "attention":
            return BottomOfBlock(residual, norm)
        return TopOfBlock(residual, norm)
