"""From a batch of numpy arrays to logits on the model's device."""

from collections.abc import Callable

import torch
from torch import Tensor

from ablate.data.tasks import Batch

Predictor = Callable[..., Tensor]
"""A model or its compiled form: (tokens [batch, length], padding=None or such) → logits."""


def predict(model: Predictor, batch: Batch, device: torch.device) -> Tensor:
    """Logits [batch, length, vocabulary]; no token attends to padding."""
    inputs = torch.from_numpy(batch.inputs).to(device)
    if batch.padding is None:
        return model(inputs)
    return model(inputs, padding=torch.from_numpy(batch.padding).to(device))


def goal(batch: Batch, device: torch.device) -> Tensor:
    """The targets as a tensor on the device, int64 [batch, length]."""
    return torch.from_numpy(batch.targets).to(device)


def part(batch: Batch, index: int, count: int) -> Batch:
    """Part `index` (from 0) of a batch cut into `count` parts of equally many rows, in order."""
    size = len(batch.inputs) // count
    rows = slice(index * size, (index + 1) * size)
    padding = None if batch.padding is None else batch.padding[rows]
    return Batch(batch.inputs[rows], batch.targets[rows], padding)
