"""The gradient of one optimiser step, from one or several passes over the parts of its batch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ablate.data.tasks import IGNORED, Batch
from ablate.model.init import named_seed
from ablate.model.normalizers import RunningStatistics
from ablate.model.transformer import summed_loss
from ablate.train.batches import Predictor, goal, part, predict
from ablate.train.block_instruments import Instrument
from ablate.train.distributed import Processes
from ablate.train.instruments import GradientNorms
from ablate.train.precision import Precision


@dataclass(frozen=True)
class Passes:
    """Forward and backward passes whose gradients add up to that of the mean loss of a batch.

    L = Σ_parts Σ_targets −ln p / T, with T the scored targets of the whole batch: a part weighs by
    its targets, however unequally they lie in the rows. Each process takes `accumulate`
    neighbouring parts, one after the other. `compiled` is called instead of `forward` in steps at
    which no instrument is active, since hooks would break the compiled graph.
    """

    parameters: Sequence[nn.Parameter]
    forward: nn.Module
    compiled: Predictor
    processes: Processes
    precision: Precision
    accumulate: int
    seed: int

    @classmethod
    def of(
        cls,
        model: nn.Module,
        processes: Processes,
        precision: Precision,
        *,
        accumulate: int,
        seed: int,
        compiled: bool,
    ) -> "Passes":
        """The passes of a model, wrapped for several processes and, if `compiled`, compiled."""
        forward = processes.forward(model)
        quick: Predictor = torch.compile(forward, dynamic=False) if compiled else forward
        return cls([*model.parameters()], forward, quick, processes, precision, accumulate, seed)

    def gradient(
        self, step: int, batch: Batch, norms: GradientNorms, instruments: Sequence[Instrument]
    ) -> tuple[float, list[float]]:
        """The mean loss, and where `norms` is active, the norm of dLoss/dx at each block's input.

        Parameters then hold the gradient. Of a batch in parts, active instruments see the first
        part's forward pass alone.
        """
        scored = int((batch.targets != IGNORED).sum())
        parts = self.processes.size * self.accumulate
        losses: list[Tensor] = []
        squares: list[Tensor] = []
        for parameter in self.parameters:
            parameter.grad = None
        for index in range(self.accumulate):
            place = self.processes.rank * self.accumulate + index
            # Dropout draws from the global generator; a seed of its own for each step and part
            # makes a resumed run draw what it would have drawn.
            name = f"dropout/{step}/{place}" if place else f"dropout/{step}"
            torch.manual_seed(named_seed(self.seed, name))
            last = index == self.accumulate - 1
            with (
                paused(instruments if index else ()),
                self.processes.passing(self.forward, last=last),
                self.precision.products(),
            ):
                loss = self._loss(part(batch, place, parts), hooked=norms.active) / scored
                loss.backward()
            losses.append(loss.detach())
            if norms.active:
                squares.append(norms.squares())
        at_inputs = torch.stack(squares).sum(0) if squares else torch.zeros(0)
        value = self.processes.sum(torch.stack(losses).sum()).item()
        return value, self.processes.sum(at_inputs).sqrt().tolist() if squares else []

    def _loss(self, rows: Batch, *, hooked: bool) -> Tensor:
        device = self.parameters[0].device
        with self.precision.forward():
            logits = predict(self.forward if hooked else self.compiled, rows, device)
        return summed_loss(logits, goal(rows, device))


def split_warnings(model: nn.Module, parts: int) -> list[str]:
    """Warnings to show before the first step of a run whose batches are done in parts."""
    if parts == 1 or not any(isinstance(m, RunningStatistics) for m in model.modules()):
        return []
    return [f"batch norm takes its statistics from each of the {parts} parts of a batch alone"]


@contextmanager
def paused(instruments: Sequence[Instrument]) -> Iterator[None]:
    """Switch instruments off for a while, then back to what each was."""
    before = [instrument.active for instrument in instruments]
    for instrument in instruments:
        instrument.active = False
    try:
        yield
    finally:
        for instrument, active in zip(instruments, before, strict=True):
            instrument.active = active
