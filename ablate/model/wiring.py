"""How a sublayer F reads from the residual stream and writes to it.

Every wiring has the same methods: `open` makes the stream's state from the embeddings, `enter`
lets a position scheme change it at a block's entry, `read` takes F's input from it, `write` puts
F's output back, `close` gives the last state to the head. The plain row is
x → after(write(skip(x), branch(F(before(x))))), where the residual rule decides what `write` is:
x + y, y alone, x + αy, ...
"""

from abc import ABC
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ablate.errors import UserError
from ablate.model.residual import ResidualRule


class Wiring(nn.Module, ABC):
    """The base of wirings: each verb goes to the residual rule."""

    def __init__(self, residual: ResidualRule) -> None:
        super().__init__()
        self.residual = residual

    def open(self, x: Tensor) -> Any:
        """See `ResidualRule.open`; called on the stack's first wiring."""
        return self.residual.open(x)

    def enter(self, state: Any, change: Callable[[Tensor], Tensor]) -> Any:
        """See `ResidualRule.enter`; called on the attention wiring of each block."""
        return self.residual.enter(state, change)

    def read(self, state: Any) -> Tensor:
        """F's input: [batch, length, width]."""
        return self.residual.read(state)

    def write(self, state: Any, y: Tensor) -> Any:
        """The state after F gave y: [batch, length, width]."""
        return self.residual.write(state, y)

    def close(self, state: Any) -> Tensor:
        """See `ResidualRule.close`; called on the stack's last wiring."""
        return self.residual.close(state)


class Row(Wiring):
    """One sublayer's row: norms before F, on its branch and after the sum, and the skip's factor.

    `opening` stands on the embeddings. Raises UserError for a residual rule that has no single
    stream to put `after` on, or no sum for `skip` to act in.
    """

    def __init__(
        self,
        residual: ResidualRule,
        *,
        before: nn.Module | None = None,
        branch: nn.Module | None = None,
        after: nn.Module | None = None,
        skip: nn.Module | None = None,
        opening: nn.Module | None = None,
    ) -> None:
        super().__init__(residual)
        if skip is not None:
            require_additive(residual, "it scales the skip path")
        if after is not None and not residual.one_stream:
            raise UserError(
                f"residual: {type(residual).__name__} keeps several streams, and this norm "
                "placement puts a norm on the sum; use norm=pre, peri, sandwich or none"
            )
        self.before = before or nn.Identity()
        self.branch = branch or nn.Identity()
        self.after = after or nn.Identity()
        self.skip = skip or nn.Identity()
        self.opening = opening or nn.Identity()

    def open(self, x: Tensor) -> Any:
        return self.residual.open(self.opening(x))

    def read(self, state: Any) -> Tensor:
        return self.before(self.residual.read(state))

    def write(self, state: Any, y: Tensor) -> Any:
        return self.after(self.residual.write(self.skip(state), self.branch(y)))


class Scale(nn.Module):
    """A fixed factor, not trained."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
        return self.factor * x


class TrainedScale(nn.Module):
    """w⊙x, a trained factor per feature; all begin at `start`."""

    def __init__(self, width: int, start: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((width,), float(start)))

    def forward(self, x: Float[Tensor, "... width"]) -> Float[Tensor, "... width"]:
        return self.weight * x


def require_additive(residual: ResidualRule, reason: str) -> None:
    """Raise UserError for a residual rule that replaces the sum x + F."""
    if not residual.additive:
        raise UserError(
            f"residual: {type(residual).__name__} replaces the sum x + F, which this norm "
            f"placement needs ({reason}); use residual=on or a rule that only scales F"
        )
