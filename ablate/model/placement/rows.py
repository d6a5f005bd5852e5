"""Placements that are one row of norms around a sublayer, the same or not in every layer."""

from torch import nn

from ablate.errors import UserError
from ablate.model.placement.rule import Normalizer, Placement
from ablate.model.projection import Role
from ablate.model.residual import ResidualRule, Site
from ablate.model.wiring import Row, Scale


class Pre(Placement):
    """x + F(N(x)). Xiong et al. 2020 (arXiv 2002.04745)."""

    def wire(self, site: Site, residual: ResidualRule) -> Row:
        return Row(residual, before=self.normalizer(site.width))


class Post(Placement):
    """N(x + F(x)). Vaswani et al. 2017 (arXiv 1706.03762)."""

    facts = frozenset({"post-norm"})

    def __init__(self, normalizer: Normalizer, *, final: bool = False, qk: bool = False) -> None:
        super().__init__(normalizer, final=final, qk=qk)

    def wire(self, site: Site, residual: ResidualRule) -> Row:
        return Row(residual, after=self.normalizer(site.width))


class NoPlacement(Placement):
    """x + F(x): no norm in any block."""

    facts = frozenset({"absent"})

    def __init__(self, normalizer: Normalizer, *, final: bool = False, qk: bool = False) -> None:
        super().__init__(normalizer, final=final, qk=qk)

    def wire(self, site: Site, residual: ResidualRule) -> Row:
        return Row(residual)


class BranchPost(Placement):
    """x + N(F(x)): the branch's output alone is normed, so the skip path stays clean.

    Liu et al. 2021, Swin v2 (arXiv 2111.09883); OLMo 2 (arXiv 2501.00656) calls it reordered norm.
    """

    def wire(self, site: Site, residual: ResidualRule) -> Row:
        return Row(residual, branch=self.normalizer(site.width))


class Sandwich(Placement):
    """x + N(F(N(x))). Ding et al. 2021, CogView (arXiv 2105.13290); Gemma 2 and GLM-4 take it."""

    def wire(self, site: Site, residual: ResidualRule) -> Row:
        return Row(residual, before=self.normalizer(site.width), branch=self.normalizer(site.width))


class Peri(Placement):
    """x + N(F(N(x))) with a norm on the embedding and on the final output.

    Kim et al. 2025 (arXiv 2502.02732). Without the embedding's norm it is sandwich.
    """

    def __init__(
        self,
        normalizer: Normalizer,
        *,
        final: bool = True,
        qk: bool = False,
        embedding: bool = True,
    ) -> None:
        super().__init__(normalizer, final=final, qk=qk)
        self.embedding = embedding

    def wire(self, site: Site, residual: ResidualRule) -> Row:
        return Row(
            residual,
            before=self.normalizer(site.width),
            branch=self.normalizer(site.width),
            opening=self.normalizer(site.width) if site.first and self.embedding else None,
        )


class LayerNormScaling(Placement):
    """x + F(N(x) / sqrt(l)), l the block's number from 1; the final norm is not scaled.

    Sun et al. 2025 (arXiv 2502.05795).
    """

    def wire(self, site: Site, residual: ResidualRule) -> Row:
        scale = Scale((site.layer + 1) ** -0.5)
        return Row(residual, before=nn.Sequential(self.normalizer(site.width), scale))


class MixLN(Placement):
    """Post-norm in the first share · depth blocks (rounded down), pre-norm in the rest.

    Li et al. 2024 (arXiv 2412.13795). share 0 is pre, share 1 is post with a final norm.
    """

    def __init__(
        self,
        normalizer: Normalizer,
        *,
        final: bool = True,
        qk: bool = False,
        share: float = 0.25,
    ) -> None:
        super().__init__(normalizer, final=final, qk=qk)
        if not 0 <= share <= 1:
            raise UserError(f"share={share}: must lie between 0 (pre) and 1 (post)")
        self.share = share

    def wire(self, site: Site, residual: ResidualRule) -> Row:
        norm = self.normalizer(site.width)
        if site.layer < int(self.share * site.depth):
            return Row(residual, after=norm)
        return Row(residual, before=norm)


class Hybrid(Placement):
    """HybridNorm: h = x + A(x) with normed queries, keys and values; x ← N(h) + F(N(h)).

    Zhuo et al. 2025 (arXiv 2503.04598). The feed-forward's norm stands on its skip path too, which
    the paper calls post-norm; so it is wired as a norm after attention's sum, and the stack ends
    un-normed but for the final norm. With `qk` false values alone are normed.
    """

    def __init__(self, normalizer: Normalizer, *, final: bool = True, qk: bool = True) -> None:
        super().__init__(normalizer, final=final, qk=qk)

    def wire(self, site: Site, residual: ResidualRule) -> Row:
        if site.sublayer == "attention":
            return Row(residual, after=self.normalizer(site.width))
        return Row(residual)

    def head_norm(self, role: Role, head_width: int) -> nn.Module:
        if role == "value":
            return self.normalizer(head_width)
        return super().head_norm(role, head_width)
