"""From a batch of numpy arrays to logits on the model's device."""

from collections.abc import Callable

import torch
from torch import Tensor

from ablate.data.tasks import Batch

Predictor = Callable[..., Tensor]
"""A model, or what stands in for it: tokens [batch, length], with or without padding, to logits."""


def predict(model: Predictor, batch: Batch, device: torch.device) -> Tensor:
    """Logits [batch, length, vocabulary]; what is padding no token attends to."""
    inputs = torch.from_numpy(batch.inputs).to(device)
    if batch.padding is None:
        return model(inputs)
    return model(inputs, padding=torch.from_numpy(batch.padding).to(device))


def goal(batch: Batch, device: torch.device) -> Tensor:
    """What is to be predicted, [batch, length]."""
    return torch.from_numpy(batch.targets).to(device)


def part(batch: Batch, index: int, count: int) -> Batch:
    """The rows of part `index` of `count` equally large ones, in order."""
    size = len(batch.inputs) // count
    rows = slice(index * size, (index + 1) * size)
    padding = None if batch.padding is None else batch.padding[rows]
    return Batch(batch.inputs[rows], batch.targets[rows], padding)
