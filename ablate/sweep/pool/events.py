"""What a process of the pool tells its parent about its run."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ablate.judge.labels import progress_label
from ablate.run.progress import Clock, CurveWatch, Headway
from ablate.train.listeners import Listener

EVERY = 0.25  # seconds between two reports of a step
LONGEST = 500  # letters of a text: an event must fit into a pipe at once


@dataclass(frozen=True)
class Began:
    """The first step is next."""

    size: str
    steps: int
    resumed_at: int


@dataclass(frozen=True)
class Stepped:
    """Steps done, the loss of the last one in nats, and what the curve looks like so far."""

    step: int
    loss: float
    label: str | None


@dataclass(frozen=True)
class Doing:
    """What is done beside training."""

    text: str


@dataclass(frozen=True)
class Warned:
    """Something looks wrong before the first step."""

    text: str


@dataclass(frozen=True)
class HeldElsewhere:
    """Another process is at work on the run, and it was left alone."""

    text: str


@dataclass(frozen=True)
class Unrecorded:
    """The run failed, and its record could not say so."""

    text: str


class Sender(Listener):
    """Passes events on, steps at most four a second; `send` must not raise."""

    _diagnosis: CurveWatch  # from the start of the run on

    def __init__(self, send: Callable[[Any], None], clock: Clock = time.monotonic) -> None:
        self._send, self._clock = send, clock
        self._sent = clock()
        self._steps = 0

    def start(self, record: dict, resumed_at: int) -> None:
        self._steps = record["steps"]
        self._diagnosis = CurveWatch(record, self._clock, progress_label)
        self._send(Began(Headway(record, resumed_at).size, self._steps, resumed_at))

    def step(self, step: int, loss: float) -> None:
        self._diagnosis.step(step, loss)
        now = self._clock()
        if now - self._sent >= EVERY or step == self._steps:
            self._sent = now
            self._send(Stepped(step, loss, self._diagnosis.label))

    def message(self, text: str) -> None:
        self._send(Doing(text[:LONGEST]))

    def warn(self, text: str) -> None:
        self._send(Warned(text[:LONGEST]))
