"""Admin: post-norm whose skip path is rescaled from a first, profiling pass."""

from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor, nn

from ablate.errors import UserError
from ablate.model.placement.rule import Normalizer, Placement
from ablate.model.residual import ResidualRule, Site
from ablate.model.wiring import Row, TrainedScale


class Admin(Placement):
    """N(ω⊙x + F(x)), ω trained, and set at the start from the variance of the branches.

    Liu et al. 2020 (arXiv 2004.08249). As in the authors' code, one pass through the drawn model
    sets ω sublayer by sublayer: ω = 1 at the first and then ω_{i+1}² = Var[ω_i x_i] + Var[F_i],
    which is the paper's ω_i² = Σ_{j<i} Var[F_j] with the stream's own variance as the first term.
    The pass takes seeded uniform tokens, so that ω follows from config and seed alone. A number as
    `omega` stands for every ω and nothing is profiled; omega = 1 starts as post.
    """

    def __init__(
        self,
        normalizer: Normalizer,
        *,
        final: bool = False,
        qk: bool = False,
        omega: float | None = None,
    ) -> None:
        super().__init__(normalizer, final=final, qk=qk)
        if omega is not None and omega <= 0:
            raise UserError(f"omega={omega}: must be above 0, or null to be profiled")
        self.omega = omega

    def wire(self, site: Site, residual: ResidualRule) -> Row:
        skip = TrainedScale(site.width, 1.0 if self.omega is None else self.omega)
        return Row(residual, skip=skip, after=self.normalizer(site.width))

    def profile(self, blocks: nn.ModuleList, forward: Callable[[], object]) -> None:
        if self.omega is None:
            profile_omega(blocks, forward)


def profile_omega(blocks: Iterable[Any], forward: Callable[[], object]) -> None:
    """Run `forward` once and set the ω of each block's two rows on the way; see `Admin`."""
    omega, branch_variance = 1.0, 0.0

    def after_sublayer(row: Row) -> Callable[..., None]:
        def hook(module: nn.Module, inputs: Any, y: Tensor) -> None:
            nonlocal branch_variance
            branch_variance = row.residual.branch(y).double().var().item()

        return hook

    def before_skip(skip: TrainedScale, inputs: tuple[Tensor]) -> None:
        nonlocal omega
        skip.weight.data.fill_(omega)
        omega = ((omega * inputs[0].double()).var().item() + branch_variance) ** 0.5

    handles = []
    sublayers = [
        pair
        for block in blocks
        for pair in (
            (block.attention, block.attention_wiring),
            (block.feed_forward, block.feed_forward_wiring),
        )
    ]
    for sublayer, row in sublayers:
        handles.append(sublayer.register_forward_hook(after_sublayer(row)))
        handles.append(row.skip.register_forward_pre_hook(before_skip))
    try:
        forward()
    finally:
        for handle in handles:
            handle.remove()
