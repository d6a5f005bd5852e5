"""nGPT: the residual stream lives on a sphere."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from ablate.errors import UserError
from ablate.model.normalizers import LayerNorm, RMSNorm
from ablate.model.placement.rule import Normalizer, Placement
from ablate.model.projection import Role, UnitProjection
from ablate.model.residual import ResidualRule, Site
from ablate.model.wiring import TrainedScale, Wiring


class SphereNorm(nn.Module):
    """sqrt(width) · x/‖x‖: onto the sphere where the root mean square is 1; no parameters."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, x: Float[Tensor, "... width"]) -> Float[Tensor, "... width"]:
        return F.rms_norm(x, (self.width,), eps=1e-12)


class SphereStep(Wiring):
    """h ← N(h + α⊙(N(F(h)) − h)): a step of length α on the sphere towards F's direction."""

    def __init__(self, residual: ResidualRule, site: Site, start: float) -> None:
        super().__init__(residual)
        if type(residual) is not ResidualRule:
            raise UserError(
                f"residual: {type(residual).__name__} cannot join norm=ngpt, whose own rate α "
                "stands in place of the sum; use residual=on"
            )
        self.opening = SphereNorm(site.width) if site.first else nn.Identity()
        self.branch, self.after = SphereNorm(site.width), SphereNorm(site.width)
        # Kept at 1/sqrt(width) as in the paper, so that Adam's steps suit it like any other weight.
        self.rate = nn.Parameter(torch.full((site.width,), site.width**-0.5))
        self.factor = start * site.width**0.5

    def open(self, x: Tensor) -> Tensor:
        return self.opening(x)

    def write(self, state: Tensor, y: Tensor) -> Tensor:
        alpha = (self.factor * self.rate).abs()
        return self.after(state + alpha * (self.branch(y) - state))


class NGPT(Placement):
    """nGPT: h ← N(h + α⊙(N(F(h)) − h)), N onto the sphere, and vectors of all maps of unit length.

    Loshchilov et al. 2024 (arXiv 2410.01131). h is kept at root mean square 1, which is sqrt(width)
    times the paper's unit vector and stands for its factors sqrt(width) inside the sublayers; the
    head reads z⊙h with z trained from 1/sqrt(width), the paper's s_z = 1, so that first logits are
    cosines. `qk` takes the sphere's norm on queries and keys with a trained gain, the paper's s_qk;
    the scale stays 1/sqrt(d), which on those norms is the paper's sqrt(d) on unit vectors. Linear
    maps normalise in the forward pass (`UnitProjection`) instead of after each step. Left out: s_u
    and s_v. Biases are the user's choice (the paper has none: bias=false). Normalising maps costs
    time by parameter, not by token, which shows where batches are small.
    """

    projection = UnitProjection

    def __init__(self, normalizer: Normalizer, *, qk: bool = True, alpha: float = 0.05) -> None:
        super().__init__(normalizer, final=False, qk=qk)
        if not isinstance(normalizer(1), LayerNorm | RMSNorm):
            raise UserError(
                "its norms are its own, onto the sphere; of norm_layer only layernorm and rmsnorm "
                "can be read so"
            )
        if alpha <= 0:
            raise UserError(f"alpha={alpha}: must be above 0")
        self.alpha = alpha

    def wire(self, site: Site, residual: ResidualRule) -> SphereStep:
        return SphereStep(residual, site, self.alpha)

    def final_norm(self, width: int) -> nn.Module:
        return TrainedScale(width, width**-0.5)

    def head_norm(self, role: Role, head_width: int) -> nn.Module:
        if self.qk and role in ("query", "key"):
            return nn.Sequential(SphereNorm(head_width), TrainedScale(head_width, 1.0))
        return nn.Identity()
