"""The processes that do one run together, alone or several under torchrun, and where they meet."""

import json
import os
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.constants import default_pg_timeout
from torch.nn.parallel import DistributedDataParallel

LOOK_EVERY = 0.05  # seconds between two looks at the store
CALL = 20.0  # seconds for torchrun to answer
FAREWELL = 2.0  # seconds that a process may need to say why it ends

DECISION, FAILURE = "ablate/decision", "ablate/failure"


class Failed(Exception):
    """Another process of the run ended; the message says why."""


class Meeting:
    """The store under which torchrun's processes find each other.

    The first process decides what is done, and the others do their part of it.
    """

    def __init__(self, store: dist.Store, rank: int, size: int) -> None:
        self.store, self.rank, self.size = store, rank, size

    @classmethod
    def of_environment(cls, patience: timedelta) -> "Meeting":
        """The meeting that the environment names, as torchrun sets it, once all are there.

        Raises RuntimeError or OSError where some are not there in time, and ValueError for an
        environment that makes no sense.
        """
        rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        if not 0 <= rank < size:
            raise ValueError(f"there is no RANK={rank} of WORLD_SIZE={size}")
        if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":  # torchrun itself is there
            place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
            socket.create_connection(place, CALL).close()
        store, rank, size = next(iter(dist.rendezvous("env://", timeout=patience)))
        store.set_timeout(default_pg_timeout)
        return cls(store, rank, size)

    def decide(self, decision: dict[str, Any] | None) -> None:
        """Tell the others what to train; None sends them home."""
        self.store.set(DECISION, json.dumps(decision))

    def decision(self, stop: Callable[[], None]) -> dict[str, Any] | None:
        """What the first process decided, once it has; `stop` as in `begin`."""
        self._wait(DECISION, stop)
        return json.loads(self.store.get(DECISION))

    def begin(self, device: torch.device, stop: Callable[[], None]) -> None:
        """Begin with the others what the first process decided; it comes when all are ready.

        Raises Failed where another process could not come, and whatever `stop`, which is asked
        now and then, raises.
        """
        self.store.set(f"ablate/ready/{self.rank}", "")
        for rank in range(self.size):
            self._wait(f"ablate/ready/{rank}", stop)
        backend = "nccl" if device.type == "cuda" else "gloo"
        dist.init_process_group(backend, store=self.store, rank=self.rank, world_size=self.size)

    def fail(self, reason: str) -> bool:
        """Say why this process ends; whether it was the first to say so and is heard."""
        words = f"process {self.rank} of {self.size}: {reason}"
        return self.store.compare_set(FAILURE, "", words) == words.encode()

    def failure(self, wait: float = 0.0) -> str | None:
        """What a process that ended has said, waiting some seconds for it."""
        until = time.monotonic() + wait
        while not self.store.check([FAILURE]):
            if time.monotonic() > until:
                return None
            time.sleep(LOOK_EVERY)
        return self.store.get(FAILURE).decode()

    def leave(self) -> None:
        """Part from the others."""
        if dist.is_initialized():
            dist.destroy_process_group()

    def _wait(self, key: str, stop: Callable[[], None]) -> None:
        """Wait for a key. The store's own waiting would keep signals from being heard."""
        while not self.store.check([key]):
            stop()
            if failure := self.failure():
                raise Failed(failure)
            time.sleep(LOOK_EVERY)


class Processes(ABC):
    """What a training step needs to know of the others; `rank` 0 writes, logs and displays.

    Each process has the whole model and its rows of every batch. Gradients are summed over
    processes, not averaged: the loss of each part is already divided by the targets of the whole
    batch.
    """

    rank: int
    size: int

    @abstractmethod
    def forward(self, model: nn.Module) -> nn.Module:
        """What to call in place of the model in a training step."""

    @abstractmethod
    def passing(self, forward: nn.Module, *, last: bool) -> AbstractContextManager[None]:
        """Encloses a pass; only in the last one of a step do processes exchange gradients."""

    @abstractmethod
    def sum(self, values: Tensor) -> Tensor:
        """The sum of each value over all processes; they all get the same bits."""

    @abstractmethod
    def any(self, asked: bool) -> bool:
        """Whether any of the processes asks."""

    @abstractmethod
    def from_first(self, value: Any) -> Any:
        """The first process's value, for all of them."""

    @abstractmethod
    def failure(self, error: RuntimeError) -> str | None:
        """Why another process ended, where that led to `error`: a line, and its traceback."""


class Alone(Processes):
    """One process and its device."""

    rank, size = 0, 1

    def forward(self, model: nn.Module) -> nn.Module:
        return model

    def passing(self, forward: nn.Module, *, last: bool) -> AbstractContextManager[None]:
        return nullcontext()

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
    """Processes that met and have begun (torch's DistributedDataParallel)."""

    def __init__(self, device: torch.device, meeting: Meeting) -> None:
        self.rank, self.size = meeting.rank, meeting.size
        self.device, self.meeting = device, meeting

    def forward(self, model: nn.Module) -> nn.Module:
        # A scheme may have a part that a pass does not use, and whose gradient nobody waits for.
        forward = DistributedDataParallel(model, find_unused_parameters=True)
        forward.register_comm_hook(None, summed)
        return forward

    def passing(self, forward: nn.Module, *, last: bool) -> AbstractContextManager[None]:
        assert isinstance(forward, DistributedDataParallel)
        return nullcontext() if last else forward.no_sync()

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
        reason = self.meeting.failure(wait=FAREWELL)
        if reason is None and (isinstance(error, dist.DistError) or "gloo" in str(error)):
            return "another process of this run ended without a word, as one that is killed does"
        return reason


def summed(state: None, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
    """The sum of a bucket of gradients over all processes, as DDP's communication hook."""
    work = dist.all_reduce(bucket.buffer(), async_op=True)
    return work.get_future().then(lambda future: future.value()[0])
