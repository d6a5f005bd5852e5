"""What a run must remember of its training to go on after a restart."""

from dataclasses import dataclass, field
from typing import Any

from ablate.train.block_instruments import Reading


@dataclass
class TrainingMemory:
    """What has happened so far; part of the checkpoint, so that a resumed run forgets nothing.

    `losses` in nats have one entry a step, `best` is the lowest validation loss, `clipped` counts
    steps. `seconds` are on the clock since the first step, `busy` those in optimiser steps. First,
    sum and last of gradient norms by block are over `profiles` logged steps.
    """

    step: int = 0
    finite: bool = True
    seconds: float = 0.0
    busy: float = 0.0
    losses: list[float] = field(default_factory=list)
    validation: float | None = None
    best: float | None = None
    clipped: int = 0
    parameters_first: list[float] = field(default_factory=list)
    inputs_first: list[float] = field(default_factory=list)
    parameters_sum: list[float] = field(default_factory=list)
    inputs_sum: list[float] = field(default_factory=list)
    parameters_last: list[float] = field(default_factory=list)
    inputs_last: list[float] = field(default_factory=list)
    profiles: int = 0
    instruments: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add_reading(self, reading: Reading) -> None:
        """Take in the instruments' reading of one step into the first, the sum and the last."""
        for name, values in reading.items():
            totals = self.instruments.setdefault(name, {"first": values, "sum": None, "count": 0})
            totals["sum"] = values if totals["sum"] is None else _plus(totals["sum"], values)
            totals["last"] = values
            totals["count"] += 1

    def add_profile(self, parameters: list[float], inputs: list[float]) -> None:
        """Take in one step's gradient norms by block."""
        if not self.profiles:
            self.parameters_first, self.inputs_first = parameters, inputs
            self.parameters_sum, self.inputs_sum = [0.0] * len(parameters), [0.0] * len(inputs)
        self.parameters_sum = [a + b for a, b in zip(self.parameters_sum, parameters, strict=True)]
        self.inputs_sum = [a + b for a, b in zip(self.inputs_sum, inputs, strict=True)]
        self.parameters_last, self.inputs_last = parameters, inputs
        self.profiles += 1


def _plus(a: Any, b: Any) -> Any:
    return [_plus(x, y) for x, y in zip(a, b, strict=True)] if isinstance(a, list) else a + b
