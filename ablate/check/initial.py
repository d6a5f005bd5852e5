"""What a model is at initialisation: its first loss, and profiles over its depth."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ablate.build import Bench
from ablate.data.tasks import Batch, Task
from ablate.judge.first_loss import chance_spread, collision
from ablate.model.init import named_seed
from ablate.model.transformer import Transformer, token_loss
from ablate.train.batches import goal, predict
from ablate.train.instruments import GradientNorms, cosine, likeness, rms, tensors_in


class Stream:
    """Watches the residual stream, which may be several tensors, at every block of a pass."""

    def __init__(self, model: Transformer) -> None:
        self.rms: list[float] = []
        self.changes: list[float] = []
        self.alike: list[float] = []
        self.kept = math.nan
        self._start: list[Tensor] = []
        self._last: list[Tensor] = []
        blocks = list(model.blocks)
        self._handles = [
            *(b.register_forward_pre_hook(lambda _, inputs: self._see(inputs[0])) for b in blocks),
            blocks[-1].register_forward_hook(lambda _, inputs, state: self._see(state)),
        ]

    def _see(self, state: Any) -> None:
        now = [t.detach().float() for t in tensors_in(state)]
        self.rms.append(rms(now))
        self.alike.append(sum(map(likeness, now)) / len(now))
        if self._last:
            self.changes.append(rms([b - a for a, b in zip(self._last, now, strict=True)]))
        if len(self.rms) == 2:
            self._start = now
        if self._start:
            self.kept = cosine(self._start, now)
        self._last = now

    def detach(self) -> None:
        """Remove every hook."""
        for handle in self._handles:
            handle.remove()


BATCH_TOKENS = 1024
"""Tokens of the first batch that are looked at; most batches are not larger."""


@dataclass(frozen=True)
class FirstLoss:
    """The loss of the first batch before any update and what explains it, in nats.

    `expected` is the excess over ln V that these logits cost on targets drawn uniformly, `repeats`
    the Σ p² of the targets' shares p (`judge.first_loss`). `spread` is the standard
    deviation of a token's logits over the vocabulary, `own` how far the input token's own logit
    stands above their mean, `stream` the rms of what the head reads.
    """

    loss: float
    uniform: float
    expected: float
    repeats: float
    spread: float
    own: float
    stream: float
    tied: bool
    normed: bool
    width: int
    tokens: int

    @property
    def excess(self) -> float:
        """Loss − ln V."""
        return self.loss - self.uniform

    @property
    def vocabulary(self) -> int:
        """Number of tokens, V."""
        return round(math.exp(self.uniform))

    @property
    def error(self) -> float:
        """Standard error of the measured excess about `expected`: a text repeats its tokens."""
        return chance_spread(self.spread, self.repeats, self.vocabulary)

    @property
    def head_std(self) -> float:
        """Standard deviation of the head's entries: spread = stream · std · sqrt(width)."""
        return self.spread / (self.stream * math.sqrt(self.width)) if self.stream else math.nan


@dataclass(frozen=True)
class Depth:
    """Profiles over the blocks: gradient norms as in the record, and the stream.

    `stream` is the rms at each block's input and after the last block, `changes` the rms of what
    each block does to it; `alike` the mean cosine between two tokens of a sequence, before the
    first block and after the last; `kept` the mean cosine of a token's stream after the first block
    with that after the last. `unreached` names parameters without a gradient.
    """

    first: FirstLoss
    parameters: list[float]
    inputs: list[float]
    unreached: list[str]
    stream: list[float]
    changes: list[float]
    alike: tuple[float, float]
    kept: float


def first_batch(task: Task, tokens: int) -> Batch:
    """The batch of the first step: as many rows as `tokens` allows, one at least."""
    batch = task.batch(1)
    rows = max(1, tokens // batch.inputs.shape[1])
    padding = None if batch.padding is None else batch.padding[:rows]
    return Batch(batch.inputs[:rows], batch.targets[:rows], padding)


@torch.no_grad()
def measure_first_loss(bench: Bench, tokens: int) -> FirstLoss:
    """The first loss over some tokens of the first batch, in training mode."""
    batch = first_batch(bench.task, tokens)
    logits, hidden = train_forward(bench, batch)
    return explain(bench, batch, logits, hidden)


def measure_depth(bench: Bench, tokens: int) -> Depth:
    """One forward and backward pass of the first batch; leaves no gradient behind."""
    batch = first_batch(bench.task, tokens)
    norms, stream = GradientNorms(bench.model.blocks), Stream(bench.model)
    try:
        logits, hidden = train_forward(bench, batch)
        token_loss(logits, goal(batch, logits.device)).backward()
        named = list(bench.model.named_parameters())
        return Depth(
            first=explain(bench, batch, logits.detach(), hidden),
            parameters=norms.parameters(),
            inputs=norms.inputs(),
            unreached=[name for name, p in named if p.requires_grad and p.grad is None],
            stream=stream.rms,
            changes=stream.changes,
            alike=(stream.alike[0], stream.alike[-1]),
            kept=stream.kept,
        )
    finally:
        norms.detach()
        stream.detach()
        bench.model.zero_grad(set_to_none=True)


def train_forward(bench: Bench, batch: Batch) -> tuple[Tensor, Tensor]:
    """Logits as the first step would have them, and what the head read."""
    read: list[Tensor] = []
    model = bench.model
    handle = model.head.register_forward_pre_hook(lambda _, inputs: read.append(inputs[0].detach()))
    try:
        torch.manual_seed(named_seed(bench.task.seed, "dropout/1"))
        return predict(model.train(), batch, model.embedding.weight.device), read[0]
    finally:
        handle.remove()


def explain(bench: Bench, batch: Batch, logits: Tensor, hidden: Tensor) -> FirstLoss:
    """The first loss and its causes, from logits [batch, length, vocabulary]."""
    model = bench.model
    inputs, targets = torch.from_numpy(batch.inputs), torch.from_numpy(batch.targets)
    padded = np.zeros_like(batch.targets, dtype=bool) if batch.padding is None else batch.padding
    real = torch.from_numpy(~padded)
    z = logits.float()[real.to(logits.device)]
    counted = targets[targets >= 0]
    spread = z.std(-1).square().mean().sqrt().item()
    means = z.mean(-1)
    own = z.gather(-1, inputs[real].to(z.device)[..., None])[..., 0] - means
    return FirstLoss(
        loss=token_loss(logits, goal(batch, logits.device)).item(),
        uniform=bench.task.uniform,
        expected=(z.logsumexp(-1) - means).mean().item() - math.log(z.shape[-1]),
        repeats=collision(np.bincount(counted.numpy()).tolist()) if len(counted) else 0.0,
        spread=spread,
        own=own.mean().item(),
        stream=rms([hidden[real.to(hidden.device)]]),
        tied=model.head.weight is model.embedding.weight,
        normed=not isinstance(model.final_norm, nn.Identity),
        width=model.shape.width,
        tokens=inputs.numel(),
    )
