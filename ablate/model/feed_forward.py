"""Feed-forward sublayers; each is built as `Kind(width, maps, **options)`."""

from abc import ABC, abstractmethod

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from ablate.errors import UserError
from ablate.model.projection import Maps


class FeedForward(nn.Module, ABC):
    """W_down N(features(x)); N is the identity unless the norm placement puts a norm there."""

    def __init__(self, width: int, hidden: int, maps: Maps) -> None:
        super().__init__()
        self.up = maps.linear(width, hidden, "up")
        self.down = maps.linear(hidden, width, "down")
        self.inner_norm = maps.inner_norm(hidden)

    @abstractmethod
    def features(self, x: Float[Tensor, "batch length width"]) -> Tensor:
        """What the last map reads: [batch, length, hidden]."""

    def forward(self, x: Float[Tensor, "batch length width"]) -> Tensor:
        return self.down(self.inner_norm(self.features(x)))


def hidden_width(width: int, ratio: float) -> int:
    """Width inside: ratio · width, rounded. Raises UserError where nothing is left.

    >>> hidden_width(64, 4.0)
    256
    """
    if round(ratio * width) < 1:
        raise UserError(f"ratio={ratio}: ratio * width must be at least 1, but width={width}")
    return round(ratio * width)


class GELU(FeedForward):
    """W₂ gelu(W₁ x), ratio times as wide inside. Hendrycks and Gimpel 2016 (arXiv 1606.08415)."""

    def __init__(self, width: int, maps: Maps, *, ratio: float = 4.0) -> None:
        super().__init__(width, hidden_width(width, ratio), maps)

    def features(self, x: Tensor) -> Tensor:
        return F.gelu(self.up(x))


class ReLU(FeedForward):
    """W₂ relu(W₁ x), ratio times as wide inside. Vaswani et al. 2017 (arXiv 1706.03762)."""

    def __init__(self, width: int, maps: Maps, *, ratio: float = 4.0) -> None:
        super().__init__(width, hidden_width(width, ratio), maps)

    def features(self, x: Tensor) -> Tensor:
        return F.relu(self.up(x))


class SwiGLU(FeedForward):
    """W₂ (silu(W_g x) ⊙ W₁ x), 2/3 · ratio times as wide inside.

    Shazeer 2020 (arXiv 2002.05202). Three matrices of 2/3 the width have as many parameters as two
    of the full one, so that it compares with a plain feed-forward of the same ratio.
    """

    def __init__(self, width: int, maps: Maps, *, ratio: float = 4.0) -> None:
        hidden = hidden_width(width, 2 * ratio / 3)
        super().__init__(width, hidden, maps)
        self.gate = maps.linear(width, hidden, "gate")

    def features(self, x: Tensor) -> Tensor:
        return F.silu(self.gate(x)) * self.up(x)
