"""Sizes of tensors and likeness of tokens; and instruments that attach to a model by hooks.

The model knows nothing of them.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

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


def tensors_in(state: Any) -> Iterator[Tensor]:
    """The tensors of a residual stream's state, which may be several streams."""
    if isinstance(state, Tensor):
        yield state
    elif isinstance(state, tuple | list):
        for part in state:
            yield from tensors_in(part)


def norm_of(tensors: Iterable[Tensor]) -> Tensor:
    """The L2 norm over all entries of all tensors, in float32."""
    parts = [t.float() for t in tensors]
    if not parts:
        return torch.zeros(())
    return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(parts)))


class Attached(ABC):
    """What measures by hooks that are on the model while it is `active`, and at no other time."""

    def __init__(self) -> None:
        self._handles: list[RemovableHandle] = []
        self._active = False

    @abstractmethod
    def attach(self) -> list[RemovableHandle]:
        """Put the hooks on the model."""

    @property
    def active(self) -> bool:
        """Whether passes are measured; every call of a module pays for a hook, idle or not."""
        return self._active

    @active.setter
    def active(self, wanted: bool) -> None:
        if wanted and not self._active:
            self._handles = self.attach()
            self._active = True
        elif not wanted:
            self.detach()

    def detach(self) -> None:
        """Remove every hook."""
        for handle in self._handles:
            handle.remove()
        self._handles, self._active = [], False


class GradientNorms(Attached):
    """Gradient norms by block: of the block's parameters and of the loss at the block's input.

    Read between the backward pass and clipping, both are of the un-clipped gradient of the mean
    loss. Blocks are in depth order; nothing is measured while `active` is false.
    """

    def __init__(self, blocks: Iterable[nn.Module]) -> None:
        super().__init__()
        self.blocks = list(blocks)
        self._inputs: list[Tensor | None] = [None] * len(self.blocks)
        self.active = True

    def attach(self) -> list[RemovableHandle]:
        return [
            block.register_forward_pre_hook(self._watch(index))
            for index, block in enumerate(self.blocks)
        ]

    def parameters(self) -> list[float]:
        """Norm over all parameters of each block; 0 for a block that no gradient reached."""
        return self.parameter_norms().tolist()

    def parameter_norms(self) -> Tensor:
        """The same as a tensor, [blocks]."""
        norms = [
            norm_of(p.grad for p in block.parameters() if p.grad is not None)
            for block in self.blocks
        ]
        return torch.stack(norms)

    def inputs(self) -> list[float]:
        """Norm of dLoss/dx at each block's input, since the last forward pass."""
        return self.squares().sqrt().tolist()

    def squares(self) -> Tensor:
        """The squares of `inputs`, [blocks]: those of the parts of a batch add up."""
        zero = torch.zeros((), device=next(self.blocks[0].parameters()).device)
        return torch.stack([zero if n is None else n for n in self._inputs])

    def _watch(self, index: int) -> Any:
        def before(block: nn.Module, arguments: tuple[Any, ...]) -> None:
            self._inputs[index] = None
            if not torch.is_grad_enabled():
                return
            # Streams may start as one tensor (ResiDual), whose gradient is already that of both.
            for tensor in {id(t): t for t in tensors_in(arguments[0])}.values():
                if tensor.requires_grad:
                    tensor.register_hook(add)

        def add(gradient: Tensor) -> None:
            square = gradient.detach().float().square().sum()
            previous = self._inputs[index]
            self._inputs[index] = square if previous is None else previous + square

        return before
