"""KERPLE: biases from kernels of the distance with learned parameters."""

from abc import ABC, abstractmethod
from typing import cast

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from ablate.model.position.base import Positions, PositionScheme, exact
from ablate.model.shape import Drawn, Shape

SMALLEST = 0.01
"""The released code's lower bound on r1 and r2, applied at use."""


def kerple_log(
    r1: Float[Tensor, "heads"], r2: Float[Tensor, "heads"], distance: Float[Tensor, "query key"]
) -> Float[Tensor, "heads query key"]:
    """−r1 ln(1 + r2 |i − j|).

    >>> kerple_log(torch.ones(1), torch.ones(1), torch.tensor([[3.0]]))
    tensor([[[-1.3863]]])
    """
    return -r1[:, None, None] * torch.log1p(r2[:, None, None] * distance)


def kerple_power(
    r1: Float[Tensor, "heads"], r2: Float[Tensor, "heads"], distance: Float[Tensor, "query key"]
) -> Float[Tensor, "heads query key"]:
    """−r1 |i − j|^r2.

    >>> kerple_power(torch.ones(1), 0.5 * torch.ones(1), torch.tensor([[0.0, 4.0]]))
    tensor([[[-0., -2.]]])
    """
    return -r1[:, None, None] * distance ** r2[:, None, None]


class KernelParameters(nn.Module, Drawn):
    """r1 from U(0, high1) and r2 from U(0, high2) for each head of a layer, as released."""

    def __init__(self, heads: int, high1: float, high2: float) -> None:
        super().__init__()
        self.r1, self.r2 = nn.Parameter(torch.ones(heads)), nn.Parameter(torch.ones(heads))
        self.high1, self.high2 = high1, high2

    def draw(self, generator: Generator) -> None:
        nn.init.uniform_(self.r1, 0, self.high1, generator=generator)
        nn.init.uniform_(self.r2, 0, self.high2, generator=generator)


class Kerple(PositionScheme, ABC):
    """What both kernels share: r1 and r2 per head and layer, distances once for all layers."""

    facts = frozenset({"fading"})
    relative = True

    def __init__(self, shape: Shape, *, high1: float, high2: float) -> None:
        super().__init__(shape)
        self.layers = nn.ModuleList(
            KernelParameters(shape.heads, high1, high2) for _ in range(shape.depth)
        )

    @abstractmethod
    def kernel(self, r1: Tensor, r2: Tensor, distance: Tensor) -> Tensor:
        """[heads, query, key] from parameters at least `SMALLEST`."""

    def prepare(self, positions: Positions, dtype: torch.dtype) -> Float[Tensor, "query key"]:
        return positions.distance().abs().to(exact(dtype))

    def bias(
        self, q: Tensor, k: Tensor, x: Tensor, positions: Positions, layer: int
    ) -> Float[Tensor, "heads query key"]:
        parameters = cast(KernelParameters, self.layers[layer])
        r1, r2 = parameters.r1.clamp(min=SMALLEST), parameters.r2.clamp(min=SMALLEST)
        return self.kernel(r1, r2, positions.shared)


class KerpleLog(Kerple):
    """The logarithmic kernel: −r1 ln(1 + r2 |i − j|) on the scores.

    r1 starts in U(0, 2) and r2 in U(0, 1); both are held at 0.01 or more, as in the released code.
    Chi et al. 2022 (arXiv 2205.09921).
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape, high1=2.0, high2=1.0)

    def kernel(self, r1: Tensor, r2: Tensor, distance: Tensor) -> Tensor:
        return kerple_log(r1, r2, distance)


class KerplePower(Kerple):
    """The power kernel: −r1 |i − j|^r2 on the scores, 0 < r2 ≤ 2; r2 = 1 is ALiBi.

    r1 starts in U(0, 1) and r2 in U(0, 2); both are held at 0.01 or more, as in the released code.
    Chi et al. 2022 (arXiv 2205.09921).
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape, high1=1.0, high2=2.0)

    def kernel(self, r1: Tensor, r2: Tensor, distance: Tensor) -> Tensor:
        return kerple_power(r1, r2.clamp(max=2), distance)
