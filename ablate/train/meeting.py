"""Where the processes of one run meet: torch's store, beside and before what they exchange."""

import json
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

LOOK_EVERY = 0.05  # seconds between two looks at the store
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
    def of_environment(cls) -> "Meeting":
        """The meeting that the environment names, as torchrun sets it."""
        return cls(*next(iter(dist.rendezvous("env://"))))

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
