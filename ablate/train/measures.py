"""Small numbers about tensors and profiles; pure functions."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

TINY = 1e-24  # keeps a token of zeros from dividing by zero


class States:
    """A residual stream at one place, of one tensor or several, [..., length, width] each.

    Squared lengths of tokens are computed once for all measures; each measure is a 0-dim tensor.
    """

    def __init__(self, parts: Sequence[Tensor]) -> None:
        self.parts = [part.float() for part in parts]
        self.squares = [part.square().sum(-1) for part in self.parts]

    def rms(self) -> Tensor:
        """Root mean square over all entries."""
        total = torch.stack([square.sum() for square in self.squares]).sum()
        return (total / sum(part.numel() for part in self.parts)).sqrt()

    def largest(self) -> Tensor:
        """The largest absolute entry."""
        return torch.stack([part.abs().amax() for part in self.parts]).amax()

    def cosine(self, other: "States") -> Tensor:
        """Mean cosine between tokens here and the same tokens there."""
        means = [
            ((x * y).sum(-1) * (a * b).clamp_min(TINY).rsqrt()).mean()
            for x, y, a, b in zip(self.parts, other.parts, self.squares, other.squares, strict=True)
        ]
        return torch.stack(means).mean()

    def likeness(self) -> Tensor:
        """Mean cosine between two different tokens of one sequence; NaN for a single token."""
        means = []
        for part, square in zip(self.parts, self.squares, strict=True):
            length = part.shape[-2]
            total = (square.clamp_min(TINY).rsqrt()[..., None, :] @ part).square().sum((-2, -1))
            means.append(((total - length) / (length * (length - 1) or math.nan)).mean())
        return torch.stack(means).mean()


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
    """Least-squares slope of the logarithm of positive values; NaN where there is none.

    >>> round(slope([1.0, 2.0, 4.0]), 6)
    0.693147
    """
    if len(values) < 2 or not all(0 < v < math.inf for v in values):
        return math.nan
    logs, middle = [math.log(v) for v in values], (len(values) - 1) / 2
    squares = sum((i - middle) ** 2 for i in range(len(logs)))
    return sum((i - middle) * log for i, log in enumerate(logs)) / squares
