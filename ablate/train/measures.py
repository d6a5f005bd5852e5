"""Small numbers about tensors and profiles; pure functions."""

import math
from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor


def rms(tensors: Sequence[Tensor]) -> float:
    """Root mean square over all entries of all tensors."""
    squares = sum(t.float().square().sum().item() for t in tensors)
    return math.sqrt(squares / sum(t.numel() for t in tensors))


def largest(tensors: Sequence[Tensor]) -> float:
    """The largest absolute value among all entries of all tensors."""
    return max(t.float().abs().max().item() for t in tensors)


def cosine(a: Sequence[Tensor], b: Sequence[Tensor]) -> float:
    """Mean cosine between tokens of a and the same tokens of b, [..., width] each."""
    means = [F.cosine_similarity(x, y, dim=-1).mean().item() for x, y in zip(a, b, strict=True)]
    return sum(means) / len(means)


def likeness(x: Tensor) -> float:
    """Mean cosine between two different tokens of one sequence; x is [..., length, width].

    >>> import torch
    >>> likeness(torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    0.3333333432674408
    """
    length = x.shape[-2]
    if length < 2:
        return math.nan
    total = F.normalize(x, dim=-1).sum(-2).square().sum(-1)
    return ((total - length) / (length * (length - 1))).mean().item()


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
