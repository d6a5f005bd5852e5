"""What the runs of a sweep tell while they go on, and how long the rest may take."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ablate.run.progress import Clock

BARS = "▁▂▃▄▅▆▇█"
WAITING, RUNNING, ELSEWHERE = "waiting", "running", "elsewhere"
LONGEST = 500  # letters of a text: an event must fit into a pipe at once


@dataclass(frozen=True)
class Began:
    """The first step is next."""

    size: str
    steps: int
    resumed_at: int


@dataclass(frozen=True)
class Stepped:
    """Steps done, the smoothed training loss in nats, and what the curve looks like so far."""

    step: int
    loss: float
    label: str | None


@dataclass(frozen=True)
class Validated:
    """The mean loss of a validation pass, in nats."""

    loss: float


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


@dataclass
class RunRow:
    """One run: its state or, once it has ended, its status.

    `losses` are smoothed training losses and `validation` the last validation loss, in nats.
    """

    name: str
    state: str = WAITING
    steps: int = 0
    step: int = 0
    resumed_at: int = 0
    losses: list[float] = field(default_factory=list)
    validation: float | None = None
    label: str | None = None
    doing: str = ""
    began: float | None = None
    seconds: float = 0.0

    def take(self, event: Any) -> None:
        """Note what the run's process tells of it."""
        if isinstance(event, Began):
            self.steps, self.step = event.steps, event.resumed_at
            self.resumed_at, self.doing = event.resumed_at, ""
        elif isinstance(event, Stepped):
            self.step, self.label, self.doing = event.step, event.label, ""
            self.losses.append(event.loss)
        elif isinstance(event, Validated):
            self.validation = event.loss
        elif isinstance(event, Doing):
            self.doing = event.text

    def spent(self, now: float) -> float | None:
        """Seconds since a process got it; None before that."""
        return None if self.began is None else now - self.began

    def whole(self, now: float) -> float | None:
        """Seconds that the run took or, from its steps so far, will take; None if not known."""
        if self.state == RUNNING and self.began is not None and self.step > self.resumed_at:
            done = (self.step - self.resumed_at) / (self.steps - self.resumed_at)
            return (now - self.began) / done
        return self.seconds or None


class RunRows:
    """All runs of a sweep by name, done `size` at a time; `about` is what they are done for."""

    def __init__(
        self, names: Sequence[str], size: int, clock: Clock = time.monotonic, about: str = ""
    ) -> None:
        self.rows = {name: RunRow(name) for name in names}
        self.size, self.clock, self.about = size, clock, about

    def start(self, name: str) -> RunRow:
        """A process has the run."""
        row = self.rows[name]
        row.state, row.began = RUNNING, self.clock()
        return row

    def end(self, name: str, status: str, label: str | None) -> RunRow:
        """The run has ended so, or is someone else's."""
        row = self.rows[name]
        row.state, row.label, row.doing = status, label, ""
        row.seconds = row.spent(self.clock()) or 0.0
        return row

    def count(self, state: str) -> int:
        """How many runs are in a state."""
        return sum(row.state == state for row in self.rows.values())

    def left(self) -> float | None:
        """Seconds until all have ended, if those to come take as long as the others; else None."""
        now = self.clock()
        spans = [span for row in self.rows.values() if (span := row.whole(now))]
        if not spans:
            return None
        each = sum(spans) / len(spans)
        going = [
            max(0.0, (row.whole(now) or each) - (now - row.began))
            for row in self.rows.values()
            if row.state == RUNNING and row.began is not None
        ]
        return max([*going, (sum(going) + each * self.count(WAITING)) / self.size])


def sparkline(losses: Sequence[float], width: int = 16) -> str:
    """Losses as bars between the lowest and the highest finite one, averaged to at most `width`.

    >>> sparkline([5.0, 4.0, 3.0, 1.0])
    '█▆▅▁'
    """
    stride = max(1, -(-len(losses) // width))
    means = [math.fsum(part) / len(part) for part in chunks(losses, stride)]
    finite = [m for m in means if math.isfinite(m)]
    if not finite:
        return ""
    low, span = min(finite), (max(finite) - min(finite)) or 1.0
    return "".join(
        BARS[round((len(BARS) - 1) * (m - low) / span)] if math.isfinite(m) else "!" for m in means
    )


def chunks(values: Sequence[float], size: int) -> list[Sequence[float]]:
    """Cut into pieces of `size`, the last one shorter."""
    return [values[at : at + size] for at in range(0, len(values), size)]


def distinct(names: Sequence[str]) -> list[str]:
    """Names without the parts that all have and without the hash, unless they would be equal.

    >>> distinct(["pos=rope,depth=4,seed=0-1f", "pos=none,depth=4,seed=0-2e"])
    ['pos=rope', 'pos=none']
    """
    parts = [name.rpartition("-")[0].split(",") for name in names]
    common = set(parts[0]).intersection(*parts) if len(names) > 1 else set()
    short = [",".join(p for p in own if p not in common) for own in parts]
    return short if len(set(short)) == len(names) and all(short) else list(names)
