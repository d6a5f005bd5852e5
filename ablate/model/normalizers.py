"""The kinds of normalisation; each is built as `Kind(width, **options)` and works on the last axis."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class LayerNorm(nn.LayerNorm):
    """y = (x − mean) / sqrt(var + eps) · g + b over the features of one token.

    Ba et al. 2016 (arXiv 1607.06450).
    """

    def __init__(
        self, width: int, *, eps: float = 1e-5, affine: bool = True, bias: bool = True
    ) -> None:
        super().__init__(width, eps=eps, elementwise_affine=affine, bias=bias)


class RMSNorm(nn.RMSNorm):
    """y = x / sqrt(mean(x²) + eps) · g over the features of one token.

    Zhang and Sennrich 2019 (arXiv 1910.07467).
    """

    def __init__(self, width: int, *, eps: float = 1e-6, affine: bool = True) -> None:
        super().__init__(width, eps=eps, elementwise_affine=affine)


class NoNorm(nn.Module):
    """The identity: norm placement without a norm."""

    def __init__(self, width: int) -> None:
        super().__init__()

    def forward(self, x: Float[Tensor, "... width"]) -> Float[Tensor, "... width"]:
        return x
