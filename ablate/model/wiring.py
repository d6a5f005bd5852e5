"""How a sublayer F hangs on the residual stream.

Every wiring speaks four verbs: `open` makes the stream's state from the embeddings, `read` takes
F's input from it, `write` puts F's output back, `close` gives the last state to the head. The
plain row is  x → after(write(skip(x), branch(F(before(x))))), where the residual rule decides what
`write` is: x + y, y alone, x + αy, ...
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor, nn

Sublayer = Literal["attention", "feed_forward"]


@dataclass(frozen=True)
class Site:
    """Which sublayer of the stack is being wired; `layer` counts blocks from 0."""

    layer: int
    depth: int
    sublayer: Sublayer
    width: int

    @property
    def first(self) -> bool:
        """The stack's first sublayer."""
        return self.layer == 0 and self.sublayer == "attention"

    @property
    def last(self) -> bool:
        """The stack's last sublayer."""
        return self.layer == self.depth - 1 and self.sublayer == "feed_forward"


class ResidualRule(nn.Module):
    """x + y, the residual connection. He et al. 2015 (arXiv 1512.03385).

    Built as `Rule(site, **options)`, one for each sublayer. A rule whose state is richer than one
    stream overrides `open`, `read` and `close` too.
    """

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

    def write(self, state: Any, y: Tensor) -> Any:
        """The state after the sublayer's output y: [batch, length, width]."""
        return state + y

    def close(self, state: Any) -> Tensor:
        """The stream that the head reads: [batch, length, width]."""
        return state


class NoResidual(ResidualRule):
    """y alone: the sublayer's input is dropped and gradients pass through every sublayer."""

    def write(self, state: Any, y: Tensor) -> Any:
        return y


class Wiring(nn.Module):
    """One sublayer's row: norms before F, on its branch and after the sum, and the skip's factor."""

    def __init__(
        self,
        residual: ResidualRule,
        *,
        before: nn.Module | None = None,
        branch: nn.Module | None = None,
        after: nn.Module | None = None,
        skip: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.residual = residual
        self.before = before or nn.Identity()
        self.branch = branch or nn.Identity()
        self.after = after or nn.Identity()
        self.skip = skip or nn.Identity()

    def open(self, x: Tensor) -> Any:
        """See `ResidualRule.open`; called on the stack's first wiring."""
        return self.residual.open(x)

    def enter(self, state: Any, change: Callable[[Tensor], Tensor]) -> Any:
        """See `ResidualRule.enter`; called on the attention wiring of each block."""
        return self.residual.enter(state, change)

    def read(self, state: Any) -> Tensor:
        """F's input."""
        return self.before(self.residual.read(state))

    def write(self, state: Any, y: Tensor) -> Any:
        """The state after F gave y."""
        return self.after(self.residual.write(self.skip(state), self.branch(y)))

    def close(self, state: Any) -> Tensor:
        """See `ResidualRule.close`; called on the stack's last wiring."""
        return self.residual.close(state)
