"""How far a run is, how fast it goes and what its curve looks like so far, in words."""

import time
from collections import deque
from collections.abc import Callable

from ablate.record.record import Record
from ablate.run.summary import duration, first_loss

PACE_WINDOW = 30.0  # seconds over which the speed is taken
LOOK_EVERY = 2.0  # seconds between two looks at the curve

Clock = Callable[[], float]
LabelRule = Callable[..., str | None]  # ablate.judge.labels.progress_label, or one like it

SO_FAR = {
    "healthy": "healthy so far",
    "stuck": "no better than the unigram loss so far (stuck?)",
    "unstable": "unstable so far: the loss jumped far above its trend",
    "diverged": "diverging",
}


class Pace:
    """The speed of a run over the last half minute."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._marks: deque[tuple[float, int]] = deque()

    def mark(self, step: int) -> None:
        """Note that `step` steps are done now."""
        now = self._clock()
        self._marks.append((now, step))
        while len(self._marks) > 2 and now - self._marks[1][0] > PACE_WINDOW:
            self._marks.popleft()

    def steps_per_second(self) -> float | None:
        """Steps a second, or None until two marks say something."""
        if len(self._marks) < 2:
            return None
        (start, first), (end, last) = self._marks[0], self._marks[-1]
        return (last - first) / (end - start) if end > start and last > first else None


class Headway:
    """The fixed facts of a run and the step it is at."""

    def __init__(self, record: Record, resumed_at: int, clock: Clock = time.monotonic) -> None:
        self.steps = record.steps or 0
        self.step = resumed_at
        self._tokens = (record.batch_size or 0) * (record.seq_len or 0)
        device = record.environment.device
        resumed = f", going on from step {resumed_at:,}" if resumed_at else ""
        self.size = (
            f"{record.parameters or 0:,} parameters, {self.steps:,} steps of "
            f"{self._tokens:,} tokens on {device}{resumed}"
        )
        self._pace = Pace(clock)
        self._pace.mark(resumed_at)

    def mark(self, step: int) -> None:
        """Note that `step` steps are done."""
        self.step = step
        self._pace.mark(step)

    def speed(self) -> list[str]:
        """Tokens a second and the time left, as far as they are known."""
        rate = self._pace.steps_per_second()
        if rate is None:
            return []
        facts = [f"{rate * self._tokens:,.0f} tokens/s"]
        if self.step < self.steps:
            facts.append(f"{duration((self.steps - self.step) / rate)} left")
        return facts


class CurveWatch:
    """What the losses so far say, looked at every few seconds and not at every step."""

    def __init__(self, record: Record, clock: Clock, label: LabelRule) -> None:
        self._clock = clock
        self._label = label
        self._loss, self._steps = record.loss, record.steps or 0
        self._first = record.loss.first
        self._losses: list[float] = []
        self._next_look = clock() + LOOK_EVERY
        self.label: str | None = None

    def step(self, step: int, loss: float) -> None:
        """Take the training loss of one step."""
        if step == 1:
            self._first = loss
        self._losses.append(loss)
        now = self._clock()
        if now >= self._next_look:
            self.label = self._look()
            cost = self._clock() - now  # grows with the curve; at most a fiftieth of the time
            self._next_look = now + max(LOOK_EVERY, 50 * cost)

    def words(self) -> list[str]:
        """The first loss against ln V, and what the curve looks like."""
        facts = []
        if self._first is not None and self._loss.uniform is not None:
            facts.append(f"first loss {first_loss(self._first, self._loss.uniform)}")
        return facts if self.label is None else [*facts, SO_FAR[self.label]]

    def _look(self) -> str | None:
        return self._label(
            self._losses,
            uniform=self._loss.uniform,
            unigram=self._loss.unigram_train,
            steps=self._steps,
            targets=self._loss.targets,
        )
