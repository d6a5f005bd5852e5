"""Placements whose factors and init gains follow from the depth: DeepNorm and Sub-LN."""

import math
from dataclasses import dataclass

from torch import nn

from ablate.errors import UserError
from ablate.model.placement.rule import Normalizer, Placement
from ablate.model.projection import Role
from ablate.model.residual import ResidualRule, Site
from ablate.model.wiring import Row, Scale

GAINED: tuple[Role, ...] = ("value", "output", "up", "down")
"""Roles that DeepNorm and Sub-LN rescale. A gate is not among them: with it the branch of a gated
feed-forward would scale by the third power of the gain where a plain one has the second."""


@dataclass(frozen=True)
class DepthConstants:
    """DeepNorm's α and β and Sub-LN's init gain for one stack of blocks."""

    alpha: float
    beta: float
    sub_ln_gain: float


def one_stack(depth: int) -> DepthConstants:
    """An encoder or a decoder alone: (2·depth)^(1/4), (8·depth)^(−1/4), sqrt(ln(2·depth)).

    Wang et al. 2022 (arXiv 2203.00555, table 1; arXiv 2210.06423).

    >>> constants = one_stack(24)
    >>> round(constants.alpha, 6), round(constants.beta, 6), round(constants.sub_ln_gain, 6)
    (2.632148, 0.268642, 1.967537)
    """
    return DepthConstants((2 * depth) ** 0.25, (8 * depth) ** -0.25, math.sqrt(math.log(2 * depth)))


class DeepNorm(Placement):
    """N(αx + F(x)), with β on the initial weights of values, outputs and feed-forward.

    α = (2·depth)^(1/4), β = (8·depth)^(−1/4) unless given. Wang et al. 2022 (arXiv 2203.00555).
    α stands on the skip path; queries and keys keep their init. α = β = 1 is post.
    """

    def __init__(
        self,
        normalizer: Normalizer,
        *,
        final: bool = False,
        qk: bool = False,
        alpha: float | None = None,
        beta: float | None = None,
    ) -> None:
        super().__init__(normalizer, final=final, qk=qk)
        for name, value in (("alpha", alpha), ("beta", beta)):
            if value is not None and value <= 0:
                raise UserError(f"{name}={value}: must be above 0, or null to follow the depth")
        self.alpha, self.beta = alpha, beta

    def wire(self, site: Site, residual: ResidualRule) -> Row:
        alpha = one_stack(site.depth).alpha if self.alpha is None else self.alpha
        return Row(residual, skip=Scale(alpha), after=self.normalizer(site.width))

    def gain(self, role: Role, depth: int) -> float:
        if role not in GAINED:
            return 1.0
        return one_stack(depth).beta if self.beta is None else self.beta


class SubLN(Placement):
    """x + W_o N(mix(W_v N(x))) and x + W₂ N(φ(W₁ N(x))): a second norm before the last map.

    The initial weights of values, outputs and feed-forward are multiplied by sqrt(ln(2·depth))
    unless `init_gain` is given. Wang et al. 2022, Foundation Transformers (arXiv 2210.06423).
    """

    def __init__(
        self,
        normalizer: Normalizer,
        *,
        final: bool = True,
        qk: bool = False,
        init_gain: float | None = None,
    ) -> None:
        super().__init__(normalizer, final=final, qk=qk)
        if init_gain is not None and init_gain <= 0:
            raise UserError(f"init_gain={init_gain}: must be above 0, or null to follow the depth")
        self.init_gain = init_gain

    def wire(self, site: Site, residual: ResidualRule) -> Row:
        return Row(residual, before=self.normalizer(site.width))

    def inner_norm(self, features: int) -> nn.Module:
        return self.normalizer(features)

    def gain(self, role: Role, depth: int) -> float:
        if role not in GAINED:
            return 1.0
        return one_stack(depth).sub_ln_gain if self.init_gain is None else self.init_gain
