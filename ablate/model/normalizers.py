"""The kinds of normalisation, each built as `Kind(width, **options)`; the last axis is features."""

from typing import ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

Features = Float[Tensor, "... width"]


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

    def forward(self, x: Features) -> Features:
        return x


class Gained(nn.Module):
    """A base with a gain g and a shift b per feature; constants 1 and 0 where not trained."""

    weight: Tensor
    bias: Tensor

    def __init__(self, width: int, affine: bool, bias: bool) -> None:
        super().__init__()
        for name, start, trained in (
            ("weight", torch.ones(width), affine),
            ("bias", torch.zeros(width), affine and bias),
        ):
            if trained:
                self.register_parameter(name, nn.Parameter(start))
            else:
                self.register_buffer(name, start, persistent=False)


class DynamicTanh(Gained):
    """y = tanh(αx) · g + b, one trained α; no statistics at all.

    Zhu et al. 2025 (arXiv 2503.10622), α from 0.5.
    """

    def __init__(
        self, width: int, *, alpha: float = 0.5, affine: bool = True, bias: bool = True
    ) -> None:
        super().__init__(width, affine, bias)
        self.alpha = nn.Parameter(torch.full((1,), float(alpha)))

    def forward(self, x: Features) -> Features:
        return torch.addcmul(self.bias, torch.tanh(self.alpha * x), self.weight)


class RunningStatistics(Gained):
    """A base for batch norms: running mean and variance of each feature, used in evaluation."""

    facts: ClassVar[frozenset[str]] = frozenset({"batch statistics"})
    running_mean: Tensor
    running_var: Tensor

    def __init__(
        self,
        width: int,
        *,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        bias: bool = True,
    ) -> None:
        super().__init__(width, affine, bias)
        self.eps, self.momentum = eps, momentum
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_var", torch.ones(width))

    def batch_norm(self, x: Features, training: bool) -> Features:
        """Batch norm with every entry of the leading axes as a sample."""
        return F.batch_norm(
            x.reshape(-1, x.shape[-1]),
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            training,
            self.momentum,
            self.eps,
        ).view(x.shape)


class BatchNorm(RunningStatistics):
    """y = (x − mean) / sqrt(var + eps) · g + b per feature, over all tokens of the batch.

    In training the statistics take in later tokens and padding, so a causal model sees a little of
    the future; in evaluation the running ones are constants. Ioffe and Szegedy 2015 (arXiv
    1502.03167).
    """

    def forward(self, x: Features) -> Features:
        return self.batch_norm(x, self.training)


class PaddingAware(nn.Module):
    """A base for modules that the transformer tells, before each pass, which tokens are real."""

    valid: Bool[Tensor, "batch length"] | None = None
    """True at real tokens; None where there is no padding."""


class MaskedBatchNorm(RunningStatistics, PaddingAware):
    """Batch norm whose statistics leave padding out.

    Over the n real tokens: y = (x − mean) / sqrt(var + eps) · g + b with the biased variance;
    running ← (1 − momentum) running + momentum (mean, var n/(n − 1)). In training a causal model
    sees a little of the future, as in `BatchNorm`. Ioffe and Szegedy 2015 (arXiv 1502.03167).
    """

    def forward(self, x: Float[Tensor, "batch *between length width"]) -> Tensor:
        if not self.training or self.valid is None:
            return self.batch_norm(x, self.training)
        between = [1] * (x.dim() - 3)
        real = self.valid.view(x.shape[0], *between, x.shape[-2], 1).expand(*x.shape[:-1], 1)
        real = real.to(x.dtype)
        samples = tuple(range(x.dim() - 1))
        count = real.sum()
        mean = (x * real).sum(samples) / count
        variance = ((x - mean).square() * real).sum(samples) / count
        with torch.no_grad():
            # One sample has no unbiased variance; its biased one, 0, stands in.
            unbiased = variance * count / (count - 1).clamp(min=1)
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(unbiased, self.momentum)
        normed = (x - mean) * torch.rsqrt(variance + self.eps)
        return torch.addcmul(self.bias, normed, self.weight)
