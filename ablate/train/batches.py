"""From a batch of numpy arrays to logits on the model's device."""

import torch
from torch import Tensor, nn

from ablate.data.tasks import Batch


def predict(model: nn.Module, batch: Batch, device: torch.device) -> Tensor:
    """Logits [batch, length, vocabulary]; what is padding no token attends to."""
    inputs = torch.from_numpy(batch.inputs).to(device)
    if batch.padding is None:
        return model(inputs)
    return model(inputs, padding=torch.from_numpy(batch.padding).to(device))


def goal(batch: Batch, device: torch.device) -> Tensor:
    """What is to be predicted, [batch, length]."""
    return torch.from_numpy(batch.targets).to(device)
