"""A watch on the residual stream, and small numbers about it."""

import math
from collections.abc import Sequence
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from ablate.model.transformer import Transformer
from ablate.train.instruments import tensors_in


class Stream:
    """Watches the residual stream, which may be several tensors, at every block of a pass."""

    def __init__(self, model: Transformer) -> None:
        self.rms: list[float] = []
        self.changes: list[float] = []
        self.alike: list[float] = []
        self.kept = math.nan
        self._start: list[Tensor] = []
        self._last: list[Tensor] = []
        blocks = list(model.blocks)
        self._handles = [
            *(b.register_forward_pre_hook(lambda _, given: self._see(given[0])) for b in blocks),
            blocks[-1].register_forward_hook(lambda _, given, state: self._see(state)),
        ]

    def _see(self, state: Any) -> None:
        now = [t.detach().float() for t in tensors_in(state)]
        self.rms.append(rms(now))
        self.alike.append(sum(map(likeness, now)) / len(now))
        if self._last:
            self.changes.append(rms([b - a for a, b in zip(self._last, now, strict=True)]))
        if len(self.rms) == 2:
            self._start = now
        if self._start:
            cosines = [
                F.cosine_similarity(a, b, -1).mean().item()
                for a, b in zip(self._start, now, strict=True)
            ]
            self.kept = sum(cosines) / len(cosines)
        self._last = now

    def detach(self) -> None:
        """Remove every hook."""
        for handle in self._handles:
            handle.remove()


def rms(tensors: Sequence[Tensor]) -> float:
    """Root mean square over all entries of all tensors."""
    squares = sum(t.float().square().sum().item() for t in tensors)
    return math.sqrt(squares / sum(t.numel() for t in tensors))


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
