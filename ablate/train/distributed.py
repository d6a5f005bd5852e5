"""The processes that do one run together: alone, or several under torchrun."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from ablate.train.meeting import FAREWELL, Meeting


class Spread(ABC):
    """Makes gradients those of the whole batch.

    They are summed over processes, not averaged: the loss of each part is already divided by the
    targets of the whole batch.
    """

    sharded: ClassVar[bool]
    """Each process holds a share of every parameter alone."""

    @abstractmethod
    def shard(self, model: nn.Module) -> None:
        """Leave each process its share; an optimiser is built on it afterwards."""

    @abstractmethod
    def forward(self, model: nn.Module) -> nn.Module:
        """What to call in place of the model."""

    @abstractmethod
    def passing(self, forward: nn.Module, *, last: bool) -> AbstractContextManager[None]:
        """Encloses a pass; only after the last one of a step do processes exchange gradients."""

    @abstractmethod
    def evaluating(self, model: nn.Module) -> AbstractContextManager[None]:
        """Encloses passes of the model itself that no gradient is asked of."""

    @abstractmethod
    def gather(self, state: Any) -> Any:
        """A state of model or optimiser as one process would have it; all processes ask for it."""

    @abstractmethod
    def load(self, model: nn.Module, optimizer: torch.optim.Optimizer, state: Any) -> None:
        """Take over the "model" and "optimizer" of such a state."""


class Whole(Spread):
    """A process has all of the model, as one alone does."""

    sharded = False

    def shard(self, model: nn.Module) -> None:
        pass

    def forward(self, model: nn.Module) -> nn.Module:
        return model

    def passing(self, forward: nn.Module, *, last: bool) -> AbstractContextManager[None]:
        return nullcontext()

    def evaluating(self, model: nn.Module) -> AbstractContextManager[None]:
        return torch.inference_mode()

    def gather(self, state: Any) -> Any:
        return state

    def load(self, model: nn.Module, optimizer: torch.optim.Optimizer, state: Any) -> None:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])


class Processes(ABC):
    """What a training step needs to know of the others; `rank` 0 writes, logs and displays."""

    rank: int
    size: int
    spread: Spread

    @abstractmethod
    def sum(self, values: Tensor) -> Tensor:
        """The sum of each value over all processes; they all get the same bits."""

    @abstractmethod
    def any(self, asked: bool) -> bool:
        """Whether any of the processes asks."""

    @abstractmethod
    def from_first(self, value: Any) -> Any:
        """What the first process gives, for all of them."""

    @abstractmethod
    def failure(self, error: RuntimeError) -> str | None:
        """Why another process ended, where that led to `error`: a line, and its traceback."""


class Alone(Processes):
    """One process and its device."""

    rank, size = 0, 1

    def __init__(self) -> None:
        self.spread = Whole()

    def sum(self, values: Tensor) -> Tensor:
        return values

    def any(self, asked: bool) -> bool:
        return asked

    def from_first(self, value: Any) -> Any:
        return value

    def failure(self, error: RuntimeError) -> str | None:
        return None


def alone(device: torch.device) -> Processes:
    """A run that no other process has a part in."""
    return Alone()


class Several(Processes):
    """Processes that met and have begun, each with its rows of every batch."""

    def __init__(self, device: torch.device, meeting: Meeting, spread: Spread) -> None:
        self.rank, self.size = meeting.rank, meeting.size
        self.device, self.meeting, self.spread = device, meeting, spread

    def sum(self, values: Tensor) -> Tensor:
        values = values.to(self.device)
        dist.all_reduce(values)
        return values

    def any(self, asked: bool) -> bool:
        return bool(self.sum(torch.tensor(float(asked))))

    def from_first(self, value: Any) -> Any:
        parcel = [value if self.rank == 0 else None]
        dist.broadcast_object_list(parcel, src=0)
        return parcel[0]

    def failure(self, error: RuntimeError) -> str | None:
        told = self.meeting.failure(wait=FAREWELL)
        if told is None and (isinstance(error, dist.DistError) or "gloo" in str(error)):
            return "another process of this run ended without a word, as one that is killed does"
        return told
