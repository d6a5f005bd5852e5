"""Windows of held-out text, and what a model scores on the last targets of each."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ablate.data.tasks import IGNORED, Batch, CorpusTask
from ablate.model.transformer import Transformer
from ablate.train.batches import scored_logits

Check = Callable[[str], None]
"""Called with a line of text before each step of work, "" within one; may raise to stop."""


@dataclass(frozen=True)
class Windows:
    """Where target groups lie in the held-out stream.

    `ends[i]` is the index of the last target of group i; each group has `width` targets.
    """

    ends: np.ndarray
    width: int

    def rows(self, tokens: np.ndarray, windows: slice, context: int) -> np.ndarray:
        """The tokens of `windows` and the one before each, int64 [windows, context + 1]."""
        rows = [tokens[end - context : end + 1] for end in self.ends[windows]]
        return np.stack(rows).astype(np.int64)


@dataclass(frozen=True)
class Scores:
    """nll in nats, correctness and targets at the last positions of windows, [windows, kept] each.

    nll and correctness are NaN where nothing was to be predicted.
    """

    nll: np.ndarray
    correct: np.ndarray
    targets: np.ndarray

    def last(self, width: int) -> "Scores":
        """The scores of the last `width` positions."""
        return Scores(self.nll[:, -width:], self.correct[:, -width:], self.targets[:, -width:])

    def of(self, window: int) -> "Scores":
        """The scores of one window, in arrays of one row."""
        row = slice(window, window + 1)
        return Scores(self.nll[row], self.correct[row], self.targets[row])

    @property
    def scored(self) -> np.ndarray:
        """True where something was to be predicted, bool [windows, kept]."""
        return self.targets != IGNORED

    @property
    def count(self) -> int:
        """Number of targets."""
        return int(self.scored.sum())

    @property
    def finite(self) -> bool:
        """Whether the model gave a finite number for every target."""
        return bool(np.isfinite(self.nll[self.scored]).all())

    def mean(self, which: str) -> float | None:
        """The mean of "nll" or "accuracy" over targets; None where numbers are not finite."""
        values = {"nll": self.nll, "accuracy": self.correct}[which]
        return float(values[self.scored].mean(dtype=np.float64)) if self.finite else None

    def share_of(self, token: int) -> float:
        """The share of targets that are `token`, 0 to 1."""
        return float((self.targets[self.scored] == token).mean())


def score_windows(
    model: Transformer,
    task: CorpusTask,
    layout: Windows,
    context: int,
    batch_tokens: int,
    check: Check,
    *,
    keep: int,
) -> Scores:
    """Score the last `keep` positions of every window of `context` tokens.

    One batch of logits is held at a time, of at most `batch_tokens` tokens or of one window.
    """
    size = max(1, batch_tokens // context)
    parts: list[tuple[Tensor, Tensor]] = []
    targets: list[np.ndarray] = []
    for first in range(0, len(layout.ends), size):
        check("")
        rows = layout.rows(task.corpus.validation, slice(first, first + size), context)
        # A generator for each window, so that batching does not change which tokens are hidden.
        views = [
            task.view(row[None], layout.width, np.random.default_rng(first + index))
            for index, row in enumerate(rows)
        ]
        inputs = np.concatenate([view.inputs for view in views])
        goals = np.concatenate([view.targets for view in views])
        kept = np.arange(context) >= context - keep
        batch = Batch(inputs, np.where(kept, goals, IGNORED))
        targets.append(goals[:, -keep:])
        nll, correct = score_batch(model, batch)
        parts.append((nll[:, -keep:].clone(), correct[:, -keep:].clone()))
    scored = np.concatenate(targets)
    unscored = scored == IGNORED
    losses = torch.cat([nll for nll, _ in parts]).numpy()
    hits = torch.cat([correct for _, correct in parts]).float().numpy()
    return Scores(np.where(unscored, np.nan, losses), np.where(unscored, np.nan, hits), scored)


def score_batch(model: Transformer, batch: Batch) -> tuple[Tensor, Tensor]:
    """nll and correctness at each position, [rows, length] each, on the CPU.

    They are 0 and false where nothing is to be predicted.
    """
    logits, targets = scored_logits(model, batch, model.embedding.weight.device)
    scored = torch.from_numpy(batch.targets != IGNORED)
    nll, correct = torch.zeros(scored.shape), torch.zeros(scored.shape, dtype=torch.bool)
    nll[scored] = F.cross_entropy(logits, targets, reduction="none").cpu()
    correct[scored] = (logits.argmax(-1) == targets).cpu()
    return nll, correct
