"""Residual rules: how a sublayer's output y joins the stream x.

Built as `Rule(site, **options)`, one for each sublayer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ablate.errors import UserError
from ablate.model.projection import Projection

Sublayer = Literal["attention", "feed_forward"]


@dataclass(frozen=True)
class Site:
    """Which sublayer of the stack is being wired; `layer` counts blocks from 0."""

    layer: int
    depth: int
    sublayer: Sublayer
    width: int

    @property
    def number(self) -> int:
        """The sublayer's number in the stack, 1 to 2 · depth."""
        return 2 * self.layer + (1 if self.sublayer == "attention" else 2)

    @property
    def first(self) -> bool:
        """The stack's first sublayer."""
        return self.number == 1

    @property
    def last(self) -> bool:
        """The stack's last sublayer."""
        return self.number == 2 * self.depth


class ResidualRule(nn.Module):
    """x + y, the residual connection. He et al. 2015 (arXiv 1512.03385).

    A rule that only changes what is added overrides `branch`. One that replaces the sum overrides
    `write` and says that it is not `additive`; one whose state is richer than one stream overrides
    `open`, `enter`, `read` and `close` too and says that it is not `one_stream`.
    """

    facts: ClassVar[frozenset[str]] = frozenset()
    """What a diagnosis knows the rule by. gated: the branch has a factor that starts near 0 and is
    trained. absent: x is dropped."""
    additive: ClassVar[bool] = True
    """`write` is x + branch(y), so that a placement may do the sum itself."""
    one_stream: ClassVar[bool] = True
    """The state is the stream, so that a placement may put a norm on it."""

    def __init__(self, site: Site) -> None:
        super().__init__()

    def open(self, x: Tensor) -> Any:
        """The state that the stack starts with."""
        return x

    def enter(self, state: Any, change: Callable[[Tensor], Tensor]) -> Any:
        """The state after a position scheme's `change` to the stream at a block's entry."""
        return change(state)

    def read(self, state: Any) -> Tensor:
        """The sublayer's input, before any norm: [batch, length, width]."""
        return state

    def branch(self, y: Tensor) -> Tensor:
        """What is added for the sublayer's output y: [batch, length, width]."""
        return y

    def write(self, state: Any, y: Tensor) -> Any:
        """The state after the sublayer's output y: [batch, length, width]."""
        return state + self.branch(y)

    def close(self, state: Any) -> Tensor:
        """The stream that the head reads: [batch, length, width]."""
        return state


class NoResidual(ResidualRule):
    """y alone: the sublayer's input is dropped and gradients pass through every sublayer."""

    facts = frozenset({"absent"})
    additive = False

    def write(self, state: Any, y: Tensor) -> Any:
        return y


class ReZero(ResidualRule):
    """x + αy, one trained α a sublayer that starts at 0, so that the stack starts as the identity.

    Bachlechner et al. 2020 (arXiv 2003.04887), whose released code shares α between the two
    sublayers of a block. The paper takes no norm: norm=none.
    """

    facts = frozenset({"gated"})

    def __init__(self, site: Site, *, start: float = 0.0) -> None:
        super().__init__(site)
        self.alpha = nn.Parameter(torch.full((1,), float(start)))

    def branch(self, y: Tensor) -> Tensor:
        return self.alpha * y


class SkipInit(ResidualRule):
    """x + αy, one trained α a sublayer, from 0 or from 1/sqrt(2·depth).

    De and Smith 2020 (arXiv 2002.10444). The equation of ReZero; the paper also starts at one over
    the root of the number of branches (`start` null) and keeps whatever norm there is.
    """

    facts = frozenset({"gated"})

    def __init__(self, site: Site, *, start: float | None = 0.0) -> None:
        super().__init__(site)
        first = (2 * site.depth) ** -0.5 if start is None else float(start)
        self.alpha = nn.Parameter(torch.full((1,), first))

    def branch(self, y: Tensor) -> Tensor:
        return self.alpha * y


def layer_scale_start(depth: int) -> float:
    """λ at the start: 0.1 up to 18 blocks, 1e-5 up to 24, 1e-6 beyond.

    Touvron et al. 2021 (arXiv 2103.17239), section 2.

    >>> layer_scale_start(18), layer_scale_start(24), layer_scale_start(25)
    (0.1, 1e-05, 1e-06)
    """
    if depth <= 18:
        return 0.1
    return 1e-5 if depth <= 24 else 1e-6


class LayerScale(ResidualRule):
    """x + λ⊙y, a trained λ per feature that starts small, by depth.

    Touvron et al. 2021 (arXiv 2103.17239).
    """

    facts = frozenset({"gated"})

    def __init__(self, site: Site, *, start: float | None = None) -> None:
        super().__init__(site)
        first = layer_scale_start(site.depth) if start is None else float(start)
        self.scale = nn.Parameter(torch.full((site.width,), first))

    def branch(self, y: Tensor) -> Tensor:
        return self.scale * y


class DepthScaled(ResidualRule):
    """x + y / (2·depth)^power: the variance that all branches add does not grow with depth.

    Hayou et al. 2020 (arXiv 2010.12859) for power 1/2. No parameters.
    """

    def __init__(self, site: Site, *, power: float = 0.5) -> None:
        super().__init__(site)
        self.factor = (2 * site.depth) ** -power

    def branch(self, y: Tensor) -> Tensor:
        return self.factor * y


class Gated(ResidualRule):
    """(1 − g) x + g y, g = σ(W x + b): a highway.

    Srivastava et al. 2015 (arXiv 1505.00387); b starts at `start`, below 0 so that x is carried.
    With `coupled` false x is carried whole: x + g y.
    """

    additive = False

    def __init__(self, site: Site, *, start: float = -2.0, coupled: bool = True) -> None:
        super().__init__(site)
        self.gate = Projection(site.width, site.width, "carry", bias=False)
        self.gate_bias = nn.Parameter(torch.full((site.width,), float(start)))
        self.carry_loss = 1.0 if coupled else 0.0

    def write(self, state: Float[Tensor, "batch length width"], y: Tensor) -> Tensor:
        gate = torch.sigmoid(self.gate(state) + self.gate_bias)
        return state + gate * (y - self.carry_loss * state)


class StochasticDepth(ResidualRule):
    """x + d y, in training d = 0 with probability p and 1/(1 − p) else, for each sequence.

    p grows in a line from rate/(2·depth) at the first sublayer to `rate` at the last. Huang et al.
    2016 (arXiv 1603.09382), who instead drop for a whole batch and scale by 1 − p in evaluation.
    """

    def __init__(self, site: Site, *, rate: float = 0.1) -> None:
        super().__init__(site)
        if not 0 <= rate < 1:
            raise UserError(f"rate={rate}: must be at least 0 and below 1")
        self.probability = rate * site.number / (2 * site.depth)

    def branch(self, y: Tensor) -> Tensor:
        if not self.training:
            return y
        keep = torch.rand(y.shape[0], 1, 1, device=y.device) >= self.probability
        return y * keep / (1 - self.probability)
