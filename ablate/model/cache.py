"""The key-value cache of step-by-step decoding."""

from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass
class LayerCache:
    """Keys and values of one attention sublayer, and its inputs where the scheme needs them.

    Keys are kept as they are before any rotation: a scheme whose frequencies follow the length
    (dynamic NTK) then gives the same scores as a full pass.
    """

    keys: Tensor | None = None
    values: Tensor | None = None
    inputs: Tensor | None = None

    def extend(
        self, k: Tensor, v: Tensor, x: Tensor, *, keep_inputs: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Append keys, values, inputs; return all so far (of inputs only where they are kept)."""
        self.keys = k if self.keys is None else torch.cat([self.keys, k], dim=2)
        self.values = v if self.values is None else torch.cat([self.values, v], dim=2)
        if not keep_inputs:
            return self.keys, self.values, x
        self.inputs = x if self.inputs is None else torch.cat([self.inputs, x], dim=1)
        return self.keys, self.values, self.inputs


@dataclass
class Cache:
    """One `LayerCache` a block and the positions of everything cached."""

    layers: list[LayerCache]
    positions: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.long))

    @classmethod
    def empty(cls, depth: int) -> "Cache":
        """A cache for `depth` blocks that holds nothing yet."""
        return cls([LayerCache() for _ in range(depth)])

    def __len__(self) -> int:
        return len(self.positions)
