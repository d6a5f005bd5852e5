"""From a batch of numpy arrays to logits on the model's device."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ablate.data.tasks import IGNORED, Batch

Predictor = Callable[..., Tensor]
"""A model or its compiled form: (tokens [batch, length], padding=None or such) → logits."""


AT_ONCE = 4096
"""Tokens of a pass without a gradient: with fewer a CPU is not busy, more leave its caches."""


def predict(model: Predictor, batch: Batch, device: torch.device, **more: Tensor) -> Tensor:
    """Logits [batch, length, vocabulary]; no token attends to padding."""
    if batch.padding is not None:
        more["padding"] = torch.from_numpy(batch.padding).to(device)
    return model(torch.from_numpy(batch.inputs).to(device), **more)


def scored_logits(
    model: Predictor, batch: Batch, device: torch.device
) -> tuple[Float[Tensor, "targets vocabulary"], Int[Tensor, "targets"]]:
    """Logits in float32 and targets where something is to be predicted, row by row.

    The head is spared all other positions.
    """
    targets = goal(batch, device)
    scored = batch.targets != IGNORED
    if scored.all():
        return predict(model, batch, device).float().flatten(0, 1), targets.flatten()
    places = torch.from_numpy(scored).to(device)
    return predict(model, batch, device, scored=places).float().flatten(0, 1), targets[places]


def joined(batches: Iterable[Batch], tokens: int) -> Iterator[Batch]:
    """Neighbouring batches put together to at most `tokens` tokens, or to one batch."""
    waiting: list[Batch] = []
    for batch in batches:
        if waiting and sum(b.inputs.size for b in waiting) + batch.inputs.size > tokens:
            yield together(waiting)
            waiting = []
        waiting.append(batch)
    if waiting:
        yield together(waiting)


def together(batches: Sequence[Batch]) -> Batch:
    """The rows of several batches of one task, in order."""
    paddings = [b.padding for b in batches if b.padding is not None]
    return Batch(
        np.concatenate([b.inputs for b in batches]),
        np.concatenate([b.targets for b in batches]),
        np.concatenate(paddings) if paddings else None,
    )


def goal(batch: Batch, device: torch.device) -> Tensor:
    """The targets as a tensor on the device, int64 [batch, length]."""
    return torch.from_numpy(batch.targets).to(device)


def part(batch: Batch, index: int, count: int) -> Batch:
    """Part `index` (from 0) of a batch cut into `count` parts of equally many rows, in order."""
    size = len(batch.inputs) // count
    rows = slice(index * size, (index + 1) * size)
    padding = None if batch.padding is None else batch.padding[rows]
    return Batch(batch.inputs[rows], batch.targets[rows], padding)
