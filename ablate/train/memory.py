"""What a run remembers of its training; part of the checkpoint."""

from dataclasses import dataclass, field
from typing import Any

from ablate.train.block_instruments import Reading


@dataclass
class TrainingMemory:
    """What has happened so far; part of the checkpoint, so that a resumed run forgets nothing.

    `seconds` is time on the clock since the first step, `busy` the part spent in optimiser steps.
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
        """Take in what the instruments saw at one step: the first, the sum and the last."""
        for name, values in reading.items():
            kept = self.instruments.setdefault(name, {"first": values, "sum": None, "count": 0})
            kept["sum"] = values if kept["sum"] is None else _plus(kept["sum"], values)
            kept["last"] = values
            kept["count"] += 1

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
