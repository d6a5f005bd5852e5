"""What checks of a model share: made-up text, repeatable passes, differences against rounding."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import torch
from torch import Tensor, nn

from ablate.model.transformer import Transformer

EXACT = 1e-9
"""Largest difference, over the rms of the logits, that float64 rounding may leave."""
FAINT = 1e-7
"""Effect on the logits below which a property cannot be told from rounding."""


def made_up(model: Transformer, tokens: int) -> Tensor:
    """Two sequences of uniform tokens, at most half the train length: [2, length]."""
    shape = model.shape
    generator = torch.Generator().manual_seed(0)
    return torch.randint(
        shape.vocabulary, (2, min(tokens, shape.seq_len // 2)), generator=generator
    )


@contextmanager
def undisturbed(model: nn.Module) -> Iterator[None]:
    """Leave a model's buffers, modes and torch's generators afterwards as they were before."""
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    modes = {module: module.training for module in model.modules()}
    device = next(model.parameters()).device
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        try:
            yield
        finally:
            with torch.no_grad():
                for name, buffer in model.named_buffers():
                    buffer.copy_(buffers[name])
            for module, mode in modes.items():
                module.training = mode


@torch.no_grad()
def forward(model: nn.Module, text: Tensor) -> Tensor:
    """Logits, with the same numbers drawn in every pass of a model in training mode."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return cast(Tensor, model(text))


def moved(before: Tensor, after: Tensor) -> float:
    """The largest difference over the rms of `before`."""
    size = before.square().mean().sqrt()
    return float((before - after).abs().max() / size.clamp(min=torch.finfo(before.dtype).tiny))
