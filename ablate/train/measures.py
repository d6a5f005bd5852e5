"""Sizes of tensors, likeness of tokens, slopes of profiles; pure functions."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

TINY = 1e-12  # keeps a token of zeros from dividing by zero


class States:
    """A residual stream at one place: one tensor or several, [..., length, width] each.

    L2 norms of tokens are computed once for all measures; each measure is a 0-dim tensor.
    """

    def __init__(self, parts: Sequence[Tensor]) -> None:
        self.values = (parts[0] if len(parts) == 1 else torch.stack(list(parts))).float()
        self.lengths = torch.linalg.vector_norm(self.values, dim=-1)

    def rms(self) -> Tensor:
        """Root mean square over all entries."""
        return torch.linalg.vector_norm(self.lengths) / math.sqrt(self.values.numel())

    def largest(self) -> Tensor:
        """The largest absolute entry."""
        return torch.linalg.vector_norm(self.values, math.inf)

    def cosine(self, other: "States") -> Tensor:
        """Mean cosine between tokens here and the same tokens in `other`."""
        lengths = (self.lengths * other.lengths).clamp_min_(TINY)
        return (torch.linalg.vecdot(self.values, other.values) / lengths).mean()

    def likeness(self) -> Tensor:
        """Mean cosine between two different tokens of one sequence; NaN for a single token."""
        length = self.values.shape[-2]
        units = self.lengths.clamp_min(TINY).reciprocal_().unsqueeze(-2) @ self.values
        # Of the squared length of the sum of n unit vectors, n is due to each with itself.
        squared = units.square().sum() / (units.numel() // units.shape[-1])
        return (squared - length) / (length * (length - 1) or math.nan)


def rms(tensors: Sequence[Tensor]) -> float:
    """Root mean square over all entries of all tensors."""
    return States(tensors).rms().item()


def cosine(a: Sequence[Tensor], b: Sequence[Tensor]) -> float:
    """Mean cosine between tokens of a and the same tokens of b, [..., width] each."""
    return States(a).cosine(States(b)).item()


def likeness(x: Tensor) -> float:
    """Mean cosine between two different tokens of one sequence; x is [..., length, width].

    >>> round(likeness(torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])), 6)
    0.333333
    """
    return States([x]).likeness().item()


def slope(values: Sequence[float]) -> float:
    """Least-squares slope of ln(value) by index; NaN with fewer than two or a value not above 0.

    >>> round(slope([1.0, 2.0, 4.0]), 6)
    0.693147
    """
    if len(values) < 2 or not all(0 < v < math.inf for v in values):
        return math.nan
    logs, middle = [math.log(v) for v in values], (len(values) - 1) / 2
    squares = sum((i - middle) ** 2 for i in range(len(logs)))
    return sum((i - middle) * log for i, log in enumerate(logs)) / squares
