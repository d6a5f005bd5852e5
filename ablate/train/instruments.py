"""Instruments that attach to a model by hooks from outside; the model knows nothing of them."""

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle


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


class GradientNorms:
    """Gradient norms by block: of the block's parameters and of the loss at the block's input.

    Read between the backward pass and clipping, both are of the un-clipped gradient of the mean
    loss. Blocks are in depth order; nothing is measured while `active` is false.
    """

    def __init__(self, blocks: Iterable[nn.Module]) -> None:
        self.blocks = list(blocks)
        self.active = True
        self._inputs: list[Tensor | None] = [None] * len(self.blocks)
        self._handles: list[RemovableHandle] = [
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

    def detach(self) -> None:
        """Remove every hook."""
        for handle in self._handles:
            handle.remove()

    def _watch(self, index: int) -> Any:
        def before(block: nn.Module, arguments: tuple[Any, ...]) -> None:
            self._inputs[index] = None
            if not (self.active and torch.is_grad_enabled()):
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
