"""Learning-rate schedules: factors on the peak rate, pure functions of the step.

The rate at step s (from 1) of n is lr · warmup.factor(s, n) · decay.factor(u), where u in [0, 1]
is the share of the steps after warmup that is done. The first step is never wasted at zero.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

from ablate.errors import UserError


class Warmup(ABC):
    """How the rate rises at the start."""

    facts: ClassVar[frozenset[str]] = frozenset()
    """What a diagnosis knows the warmup by. absent: there is none."""

    @abstractmethod
    def length(self, steps: int) -> int:
        """Steps until the full rate, W, in a run of `steps`; raises UserError if it is longer."""

    def factor(self, step: int, steps: int) -> float:
        """min(1, s / W) at step s, from 1."""
        length = self.length(steps)
        return min(1.0, step / length) if length else 1.0


class NoWarmup(Warmup):
    """The full rate from the first step."""

    facts = frozenset({"absent"})

    def length(self, steps: int) -> int:
        return 0


class LinearWarmup(Warmup):
    """lr · min(1, s / W), W in steps or as a fraction of the run.

    >>> [LinearWarmup(steps=4).factor(s, 10) for s in (1, 2, 4, 5)]
    [0.25, 0.5, 1.0, 1.0]
    """

    def __init__(self, *, steps: int | None = None, fraction: float | None = 0.1) -> None:
        if steps is not None and steps < 0:
            raise UserError(f"warmup.steps={steps}: must be 0 or more")
        if steps is None and fraction is None:
            raise UserError("warmup=linear needs warmup.steps or warmup.fraction")
        if steps is None and fraction is not None and not 0 <= fraction <= 1:
            raise UserError(f"warmup.fraction={fraction}: must lie between 0 and 1")
        self.steps, self.fraction = steps, fraction or 0.0

    def length(self, steps: int) -> int:
        if self.steps is None:
            return round(self.fraction * steps)
        if self.steps > steps:
            raise UserError(
                f"warmup.steps={self.steps} is longer than the run (steps={steps}); "
                f"allowed are 0 to {steps}"
            )
        return self.steps


class Decay(ABC):
    """How the rate falls after warmup."""

    @abstractmethod
    def factor(self, progress: float) -> float:
        """The factor at `progress` in [0, 1]: 0 when warmup ends, 1 at the last step."""


class ConstantDecay(Decay):
    """No decay."""

    def factor(self, progress: float) -> float:
        return 1.0


class _FlooredDecay(Decay):
    def __init__(self, *, floor: float) -> None:
        if not 0 <= floor <= 1:
            raise UserError(f"decay.floor={floor}: must lie between 0 and 1")
        self.floor = floor


class CosineDecay(_FlooredDecay):
    """floor + (1 − floor)(1 + cos πu)/2."""

    def __init__(self, *, floor: float = 0.1) -> None:
        super().__init__(floor=floor)

    def factor(self, progress: float) -> float:
        return self.floor + (1 - self.floor) * (1 + math.cos(math.pi * progress)) / 2


class LinearDecay(_FlooredDecay):
    """1 − (1 − floor) u."""

    def __init__(self, *, floor: float = 0.0) -> None:
        super().__init__(floor=floor)

    def factor(self, progress: float) -> float:
        return 1 - (1 - self.floor) * progress


class Schedule:
    """The learning rate of every step of a run."""

    def __init__(self, lr: float, steps: int, warmup: Warmup, decay: Decay) -> None:
        self.lr, self.steps, self.warmup, self.decay = lr, steps, warmup, decay
        self.warmup_steps = warmup.length(steps)

    def rate(self, step: int) -> float:
        """The rate at optimiser step `step`, from 1 to `steps`."""
        rest = self.steps - self.warmup_steps
        progress = max(0, step - self.warmup_steps) / rest if rest else 0.0
        return self.lr * self.warmup.factor(step, self.steps) * self.decay.factor(progress)
