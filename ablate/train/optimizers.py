"""Optimisers over parameter groups; weight decay is for matrices of linear maps alone."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, overload

import torch
from torch import Tensor, nn

from ablate.errors import UserError
from ablate.model.projection import Projection


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Two groups: matrices of linear maps with decay, everything else without.

    A tied head is an embedding and has no decay.
    """
    matrices = {id(p) for p in linear_weights(model)}
    decayed = [p for p in model.parameters() if id(p) in matrices]
    spared = [p for p in model.parameters() if id(p) not in matrices]
    return [
        {"params": decayed, "weight_decay": weight_decay},
        {"params": spared, "weight_decay": 0.0},
    ]


def linear_weights(model: nn.Module) -> list[Tensor]:
    """The matrices of linear maps, without a head that is tied to the embedding."""
    embeddings = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    linear = (m.weight for m in model.modules() if isinstance(m, nn.Linear))
    return [weight for weight in linear if id(weight) not in embeddings]


def hidden_matrices(model: nn.Module) -> list[Tensor]:
    """The matrices of linear maps, without the head."""
    heads = (m for m in model.modules() if isinstance(m, Projection) and m.role == "head")
    head = {id(m.weight) for m in heads}
    return [weight for weight in linear_weights(model) if id(weight) not in head]


def check_options(shares: dict[str, float], others: dict[str, float]) -> None:
    """Raise UserError for a share outside [0, 1) or another number below 0."""
    for name, value in shares.items():
        if not 0 <= value < 1:
            raise UserError(f"{name}={value:g}: must be 0 or more and below 1")
    for name, value in others.items():
        if value < 0:
            raise UserError(f"{name}={value:g}: must be 0 or more")


class OptimizerRecipe(ABC):
    """Makes the optimiser of a model; the learning rate is set before every step."""

    @abstractmethod
    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        """An optimiser over all parameters of `model`."""


class AdamW(OptimizerRecipe):
    """Adam with decoupled weight decay. Loshchilov and Hutter 2017 (arXiv 1711.05101)."""

    def __init__(self, *, beta1: float, beta2: float, eps: float, weight_decay: float) -> None:
        check_options({"beta1": beta1, "beta2": beta2}, {"eps": eps, "weight_decay": weight_decay})
        self.betas, self.eps, self.weight_decay = (beta1, beta2), eps, weight_decay

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        groups = parameter_groups(model, self.weight_decay)
        return torch.optim.AdamW(groups, lr=0.0, betas=self.betas, eps=self.eps, fused=True)


class SGD(OptimizerRecipe):
    """Stochastic gradient descent with momentum."""

    def __init__(self, *, momentum: float, weight_decay: float) -> None:
        check_options({"momentum": momentum}, {"weight_decay": weight_decay})
        self.momentum, self.weight_decay = momentum, weight_decay

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        groups = parameter_groups(model, self.weight_decay)
        return torch.optim.SGD(groups, lr=0.0, momentum=self.momentum, fused=True)


class Muon(OptimizerRecipe):
    """Momentum made orthogonal for hidden matrices, AdamW for all other parameters.

    w − 0.2 sqrt(max(rows, columns)) lr · NewtonSchulz(m): the factor gives the step the rms of
    AdamW's, so that one learning rate serves both. Jordan et al. 2024; the factor and the decay are
    those of Liu et al. 2025 (arXiv 2502.16982).
    """

    def __init__(
        self, *, momentum: float, weight_decay: float, beta1: float, beta2: float, eps: float
    ) -> None:
        check_options({"momentum": momentum}, {"weight_decay": weight_decay})
        self.momentum, self.weight_decay = momentum, weight_decay
        self.rest = AdamW(beta1=beta1, beta2=beta2, eps=eps, weight_decay=weight_decay)

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        matrices = hidden_matrices(model)
        muon = torch.optim.Muon(
            matrices,
            lr=0.0,
            weight_decay=self.weight_decay,
            momentum=self.momentum,
            adjust_lr_fn="match_rms_adamw",
        )
        by_muon = {id(p) for p in matrices}
        groups = parameter_groups(model, self.weight_decay)
        for group in groups:
            group["params"] = [p for p in group["params"] if id(p) not in by_muon]
        rest = torch.optim.AdamW(
            [group for group in groups if group["params"]],
            lr=0.0,
            betas=self.rest.betas,
            eps=self.rest.eps,
            fused=True,
        )
        return Together([muon, rest])


class Lion(OptimizerRecipe):
    """The sign of a mean gradient. Chen et al. 2023 (arXiv 2302.06675).

    Every entry moves by lr whatever its gradient, so lr is 3 to 10 times smaller than AdamW's.
    """

    def __init__(self, *, beta1: float, beta2: float, weight_decay: float) -> None:
        check_options({"beta1": beta1, "beta2": beta2}, {"weight_decay": weight_decay})
        self.betas, self.weight_decay = (beta1, beta2), weight_decay

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        return LionOptimizer(parameter_groups(model, self.weight_decay), self.betas)


class LionOptimizer(torch.optim.Optimizer):
    """w ← w − lr (sign(β1 m + (1 − β1) g) + decay · w), then m ← β2 m + (1 − β2) g."""

    def __init__(self, groups: Iterable[dict[str, Any]], betas: tuple[float, float]) -> None:
        super().__init__(groups, {"lr": 0.0, "betas": betas})

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], float]) -> float: ...
    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """One update of every parameter that has a gradient; a closure is called for the loss."""
        loss = closure() if closure else None
        for group in self.param_groups:
            (beta1, beta2), lr = group["betas"], group["lr"]
            parameters: list[Tensor] = [p for p in group["params"] if p.grad is not None]
            if not parameters:
                continue
            gradients: list[Tensor] = [p.grad for p in parameters if p.grad is not None]
            for p in parameters:
                self.state[p].setdefault("mean", torch.zeros_like(p))
            means: list[Tensor] = [self.state[p]["mean"] for p in parameters]
            update = torch._foreach_lerp(gradients, means, beta1)
            torch._foreach_sign_(update)
            torch._foreach_mul_(parameters, 1 - lr * group["weight_decay"])
            torch._foreach_add_(parameters, update, alpha=-lr)
            torch._foreach_lerp_(means, gradients, 1 - beta2)
        return loss


class Together(torch.optim.Optimizer):
    """Several optimisers, each over parameters of its own, that step as one."""

    def __init__(self, members: list[torch.optim.Optimizer]) -> None:
        self.members = members
        super().__init__([group for member in members for group in member.param_groups], {})

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], float]) -> float: ...
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """One step of each; a closure is called once, for the loss."""
        loss = closure() if closure else None
        for member in self.members:
            member.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        return {"members": [member.state_dict() for member in self.members]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for member, state in zip(self.members, state_dict["members"], strict=True):
            member.load_state_dict(state)
        # Loading makes new groups, and it is these that must hear of the learning rate.
        self.param_groups = [group for member in self.members for group in member.param_groups]
