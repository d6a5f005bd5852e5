"""The training loop: one optimiser step after the other, until the end, divergence or a stop."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from ablate.data.tasks import Task
from ablate.errors import UserError
from ablate.train import checkpoints
from ablate.train.batches import AT_ONCE, joined, scored_logits
from ablate.train.block_instruments import Instrument, Reading
from ablate.train.distributed import Processes
from ablate.train.gradient import Passes
from ablate.train.instruments import GradientNorms, norm_of
from ablate.train.listeners import Listener
from ablate.train.memory import TrainingMemory
from ablate.train.precision import Precision
from ablate.train.schedules import Schedule


class Stopped(Exception):
    """The user asked the run to stop; raised between steps, after a checkpoint is written."""


@dataclass(frozen=True)
class Settings:
    """How long to train, and every how many steps to log, validate and write a checkpoint."""

    steps: int
    seed: int
    clip: float | None
    log_every: int
    checkpoint_every: int
    evaluate_every: int
    validation_batches: int
    accumulate: int
    precision: str
    compiled: bool


class Trainer:
    """Trains one model in one directory and sends events to the listeners.

    `stop` is called between steps; when it returns true, a checkpoint is written and Stopped
    raised. Each of several processes has a Trainer; the first writes checkpoints.
    """

    def __init__(
        self,
        model: nn.Module,
        blocks: Sequence[nn.Module],
        optimizer: torch.optim.Optimizer,
        schedule: Schedule,
        task: Task,
        settings: Settings,
        directory: Path,
        listeners: Sequence[Listener],
        stop: Callable[[], bool],
        instruments: Sequence[Instrument],
        processes: Processes,
    ) -> None:
        self.model, self.optimizer, self.schedule = model, optimizer, schedule
        self.task, self.settings, self.directory = task, settings, directory
        self.listeners, self.stop = listeners, stop
        self.device = next(model.parameters()).device
        self.gradient_norms = GradientNorms(blocks)
        self.instruments, self.processes = instruments, processes
        self.passes = Passes.of(
            model,
            self.processes,
            Precision(settings.precision, self.device),
            accumulate=settings.accumulate,
            seed=settings.seed,
            compiled=settings.compiled,
        )
        self.progress = TrainingMemory()
        self._started = time.perf_counter()

    def restore(self) -> int:
        """Load the last checkpoint and return the steps already done; 0 without one.

        Raises UserError for a checkpoint of another model.
        """
        first = self.processes.rank == 0
        state = self.processes.from_first(checkpoints.load(self.directory) if first else None)
        if state is None:
            return 0
        try:
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.progress = TrainingMemory(**state["progress"])
        except (RuntimeError, ValueError, TypeError, LookupError) as error:
            raise UserError(
                f"{checkpoints.NAME} is not of this model (another corpus or version made it?); "
                "rerun=true begins anew"
            ) from error
        return self.progress.step

    def save(self) -> None:
        """Write a checkpoint; it replaces the last one."""
        if self.processes.rank == 0:
            state = {
                "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "progress": asdict(self.progress),
            }
            checkpoints.save(self.directory, state)

    def train(self) -> bool:
        """Train to the last step; false where the loss or a gradient became non-finite."""
        progress, settings = self.progress, self.settings
        self._started = time.perf_counter() - progress.seconds
        while progress.finite and progress.step < settings.steps:
            if self.processes.any(self.stop()):
                self.save()
                raise Stopped
            if not self._step(progress.step + 1):
                self.save()
                return False
            done = progress.step == settings.steps
            if done or progress.step % settings.checkpoint_every == 0:
                self.save()
        return progress.finite

    def validate(self) -> float:
        """Mean validation loss in nats per token, on the same windows every time."""
        self.model.eval()
        batches = list(self.task.validation(self.settings.validation_batches))
        total, count = 0.0, 0
        own = batches[self.processes.rank :: self.processes.size]
        with torch.inference_mode():
            for batch in joined(own, AT_ONCE):
                logits, targets = scored_logits(self.model, batch, self.device)
                total += F.cross_entropy(logits, targets, reduction="sum").item()
                count += len(targets)
        self.model.train()
        sums = self.processes.sum(torch.tensor([total, count], dtype=torch.float64))
        return (sums[0] / sums[1]).item()

    def _step(self, step: int) -> bool:
        progress, settings, began = self.progress, self.settings, time.perf_counter()
        logging = step == 1 or step % settings.log_every == 0 or step == settings.steps
        self._watch(logging)
        batch = self.task.batch(step)
        value, at_inputs = self.passes.gradient(step, batch, self.gradient_norms, self.instruments)
        gradients = [p.grad for p in self.passes.parameters if p.grad is not None]
        norm = norm_of(gradients).item()
        line: dict[str, Any] = {
            "step": step,
            "loss": value,
            "lr": self.schedule.rate(step),
            "tokens": step * batch.inputs.size,
            "grad_norm": norm,
            "clipped": settings.clip is not None and norm > settings.clip,
        }
        if logging:
            parameters = self.gradient_norms.parameter_norms().tolist()
            progress.add_profile(parameters, at_inputs)
            line["gradients"] = {"parameters": parameters, "inputs": at_inputs}
        finite = math.isfinite(value) and math.isfinite(norm)
        if finite:
            self._update(gradients, line)
        if logging:
            self._read_instruments(line)
        self._watch(False)
        progress.step, progress.finite = step, finite
        progress.busy += time.perf_counter() - began
        progress.losses.append(value)
        progress.clipped += line["clipped"]
        if finite and (step % settings.evaluate_every == 0 or step == settings.steps):
            self._take_validation(step, line)
        progress.seconds = time.perf_counter() - self._started
        for listener in self.listeners:
            listener.step(step, value)
        if logging or "validation" in line or not finite:
            line["seconds"] = progress.seconds
            line["tokens_per_second"] = line["tokens"] / max(progress.busy, 1e-9)
            for listener in self.listeners:
                listener.log(line)
        return finite

    def _update(self, gradients: list[torch.Tensor], line: dict[str, Any]) -> None:
        if line["clipped"] and self.settings.clip is not None:
            torch._foreach_mul_(gradients, self.settings.clip / line["grad_norm"])
        for group in self.optimizer.param_groups:
            group["lr"] = line["lr"]
        with ExitStack() as around:
            for instrument in self.instruments:
                if instrument.active:
                    around.enter_context(instrument.around_update())
            self.optimizer.step()

    def _watch(self, active: bool) -> None:
        self.gradient_norms.active = active
        for instrument in self.instruments:
            instrument.active = active

    def _read_instruments(self, line: dict[str, Any]) -> None:
        reading: Reading = {}
        for instrument in self.instruments:
            reading |= instrument.read()
        self.progress.add_reading(reading)
        if reading:
            line["instruments"] = reading

    def detach(self) -> None:
        """Remove every hook from the model."""
        self._watch(False)

    def _take_validation(self, step: int, line: dict[str, Any]) -> None:
        value = self.validate()
        line["validation"] = self.progress.validation = value
        best = self.progress.best
        if math.isfinite(value) and (best is None or value < best):
            self.progress.best = value
        for listener in self.listeners:
            listener.validate(step, value)
