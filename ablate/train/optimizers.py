"""Optimisers from torch over parameter groups: weight decay spares norms, biases, embeddings."""

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import nn


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Two groups: matrices of linear maps with decay, everything else without.

    A tied head is an embedding and is spared.
    """
    embeddings = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    matrices = {id(m.weight) for m in model.modules() if isinstance(m, nn.Linear)} - embeddings
    decayed = [p for p in model.parameters() if id(p) in matrices]
    spared = [p for p in model.parameters() if id(p) not in matrices]
    return [
        {"params": decayed, "weight_decay": weight_decay},
        {"params": spared, "weight_decay": 0.0},
    ]


class OptimizerRecipe(ABC):
    """Makes the optimiser of a model; the learning rate is set before every step."""

    @abstractmethod
    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        """An optimiser over all parameters of `model`."""


class AdamW(OptimizerRecipe):
    """Adam with decoupled weight decay. Loshchilov and Hutter 2017 (arXiv 1711.05101)."""

    def __init__(self, *, beta1: float, beta2: float, eps: float, weight_decay: float) -> None:
        self.betas, self.eps, self.weight_decay = (beta1, beta2), eps, weight_decay

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        groups = parameter_groups(model, self.weight_decay)
        return torch.optim.AdamW(groups, lr=0.0, betas=self.betas, eps=self.eps, fused=True)


class SGD(OptimizerRecipe):
    """Stochastic gradient descent with momentum."""

    def __init__(self, *, momentum: float, weight_decay: float) -> None:
        self.momentum, self.weight_decay = momentum, weight_decay

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        groups = parameter_groups(model, self.weight_decay)
        return torch.optim.SGD(groups, lr=0.0, momentum=self.momentum, fused=True)
