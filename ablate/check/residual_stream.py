"""A watch on the residual stream."""

import math
from typing import Any

from torch import Tensor

from ablate.model.transformer import Transformer
from ablate.train.instruments import tensors_in
from ablate.train.measures import cosine, likeness, rms


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
            *(b.register_forward_pre_hook(lambda _, inputs: self._see(inputs[0])) for b in blocks),
            blocks[-1].register_forward_hook(lambda _, inputs, state: self._see(state)),
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
            self.kept = cosine(self._start, now)
        self._last = now

    def detach(self) -> None:
        """Remove every hook."""
        for handle in self._handles:
            handle.remove()
