"""Accuracy at context lengths shorter and longer than trained, on the same held-out targets.

The fixed-target protocol: targets come in groups of w = L/8 tokens on a grid of step w. A group
is scored teacher-forced as the last w tokens of a window of c tokens, for every c, so that
lengths differ in context alone. The last target of a window has c tokens before it. An encoder
is scored on the hidden tokens among the last w, which are the same for every c too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ablate.data.tasks import IGNORED, Batch, CorpusTask
from ablate.errors import UserError
from ablate.model.transformer import Transformer
from ablate.train.batches import goal, predict


@dataclass(frozen=True)
class Windows:
    """Where the target groups lie in the held-out stream.

    `ends[i]` is the index of the last target of group i; each group has `width` targets.
    """

    ends: np.ndarray
    width: int

    def rows(self, tokens: np.ndarray, chosen: slice, context: int) -> np.ndarray:
        """The tokens of some windows and one before each, int64 [windows, context + 1]."""
        rows = [tokens[end - context : end + 1] for end in self.ends[chosen]]
        return np.stack(rows).astype(np.int64)


def lay_windows(tokens: int, *, seq_len: int, longest: int, count: int) -> Windows:
    """Up to `count` target groups, evenly spread over the grid of step L/8.

    Raises UserError where the stream is too short for one window of the longest context.

    >>> lay_windows(100, seq_len=16, longest=32, count=4).ends.tolist()
    [33, 49, 65, 81]
    """
    width = max(1, seq_len // 8)
    room = (tokens - longest - width) // width + 1
    if room < 1:
        raise UserError(
            f"the validation split has {tokens:,} tokens, but extrapolation windows of {longest:,} "
            f"tokens need at least {longest + width:,}; use a larger corpus, a smaller seq_len or "
            "shorter evaluate.lengths"
        )
    count = min(count, room)
    return Windows(longest + width - 1 + np.arange(count) * room // count * width, width)


def window_layout(
    tokens: int, *, seq_len: int, multiples: Sequence[float], windows: int
) -> tuple[list[int], Windows]:
    """The context lengths in tokens, in order and with L among them, and where windows lie.

    Raises UserError where the stream is too short.
    """
    shortest = max(1, seq_len // 8)
    lengths = sorted({max(shortest, round(m * seq_len)) for m in multiples} | {seq_len})
    return lengths, lay_windows(tokens, seq_len=seq_len, longest=lengths[-1], count=windows)


@torch.inference_mode()
def extrapolate(
    model: Transformer,
    task: CorpusTask,
    *,
    multiples: Sequence[float],
    windows: int,
    batch_tokens: int,
    check: Callable[[str], None] = lambda doing: None,
) -> dict[str, Any]:
    """Accuracy and nll of the fixed targets at each multiple of the train length.

    Guessing the most frequent training token gives `accuracy_unigram`. `batch_tokens` bounds the
    tokens of one forward pass (one window at least). `check` is told what comes next, and may
    raise to stop. Values are null at a length beyond the scheme's limit, and where a diverged
    model gives no finite number.
    """
    seq_len, tokens = model.shape.seq_len, task.corpus.validation
    lengths, layout = window_layout(
        len(tokens), seq_len=seq_len, multiples=multiples, windows=windows
    )
    limit = model.position.max_length
    defined = [c for c in lengths if limit is None or c <= limit]
    model.eval()
    scores: dict[int, Scores] = {}
    for length in defined:
        check(f"evaluating with {length} tokens of context")
        scores[length] = score_windows(model, task, layout, length, batch_tokens, check)
    model.train()
    nll, accuracy = (
        [scores[c].last(which, layout.width) if c in scores else None for c in lengths]
        for which in ("nll", "correct")
    )
    trained = accuracy[lengths.index(seq_len)]
    unigram = scores[defined[0]].share_of(int(task.corpus.counts.argmax()), layout.width)
    longest = scores[defined[-1]]
    return {
        "protocol": "fixed-target",
        "train_length": seq_len,
        "lengths": lengths,
        "accuracy": accuracy,
        "nll": nll,
        "retention": [retention(a, trained, unigram) for a in accuracy],
        "accuracy_unigram": unigram,
        "targets": longest.count(layout.width),
        "curve": position_curve(longest.nll, longest.correct, layout.width),
    }


@dataclass(frozen=True)
class Scores:
    """nll in nats, correctness and targets of every position, [windows, context] each.

    nll and correctness are NaN where nothing was to be predicted.
    """

    nll: np.ndarray
    correct: np.ndarray
    targets: np.ndarray

    def last(self, which: str, width: int) -> float | None:
        """The mean of "nll" or "correct" over the targets among the last `width` positions.

        None where the model's numbers are not finite.
        """
        scored = self.targets[:, -width:] != IGNORED
        if not np.isfinite(self.nll[:, -width:][scored]).all():
            return None
        values = {"nll": self.nll, "correct": self.correct}[which]
        return float(values[:, -width:][scored].mean())

    def share_of(self, token: int, width: int) -> float:
        """How often a target among the last `width` positions is `token`."""
        targets = self.targets[:, -width:]
        return float((targets[targets != IGNORED] == token).mean())

    def count(self, width: int) -> int:
        """Number of targets among the last `width` positions."""
        return int((self.targets[:, -width:] != IGNORED).sum())


def score_windows(
    model: Transformer,
    task: CorpusTask,
    layout: Windows,
    context: int,
    batch_tokens: int,
    check: Callable[[str], None],
) -> Scores:
    """Score every window with `context` tokens."""
    size = max(1, batch_tokens // context)
    parts: list[tuple[Tensor, Tensor]] = []
    batches: list[Batch] = []
    for first in range(0, len(layout.ends), size):
        check("")
        chosen = range(first, min(first + size, len(layout.ends)))
        rows = layout.rows(task.corpus.validation, slice(first, first + size), context)
        # A generator for each window hides the same tokens however windows are batched.
        views = [
            task.view(row[None], layout.width, np.random.default_rng(window))
            for window, row in zip(chosen, rows, strict=True)
        ]
        batch = Batch(
            np.concatenate([view.inputs for view in views]),
            np.concatenate([view.targets for view in views]),
        )
        batches.append(batch)
        parts.append(score_batch(model, batch))
    targets = np.concatenate([batch.targets for batch in batches])
    nll = torch.cat([nll for nll, _ in parts]).double().numpy()
    correct = torch.cat([correct for _, correct in parts]).double().numpy()
    hidden = targets == IGNORED
    return Scores(np.where(hidden, np.nan, nll), np.where(hidden, np.nan, correct), targets)


def score_batch(model: Transformer, batch: Batch) -> tuple[Tensor, Tensor]:
    """nll and correctness at each position, [rows, length] each, on the CPU."""
    device = model.embedding.weight.device
    targets = goal(batch, device)
    logits = predict(model, batch, device).float()
    nll = F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), reduction="none", ignore_index=IGNORED
    )
    return nll.view_as(targets).cpu(), (logits.argmax(-1) == targets).cpu()


def position_curve(
    nll: np.ndarray, correct: np.ndarray, bucket: int
) -> dict[str, list[float]] | None:
    """Means over windows and over `bucket` neighbouring positions of the longest window.

    `position` is the number of context tokens at the end of a bucket. Each bucket holds equally
    many targets; they are other tokens in each bucket, unlike those of `accuracy` and `nll`. None
    where the task does not score every position.
    """
    if np.isnan(correct).any():
        return None
    whole = nll.shape[1] // bucket * bucket
    shape = (nll.shape[0], whole // bucket, bucket)
    return {
        "position": list(range(bucket, whole + 1, bucket)),
        "nll": nll[:, :whole].reshape(shape).mean(axis=(0, 2)).tolist(),
        "accuracy": correct[:, :whole].reshape(shape).mean(axis=(0, 2)).tolist(),
    }


def retention(accuracy: float | None, trained: float | None, unigram: float) -> float | None:
    """(acc(c) − unigram) / (acc(L) − unigram); null where the model learned nothing at L.

    >>> retention(0.4, 0.6, 0.2)
    0.5
    """
    if accuracy is None or trained is None or trained <= unigram:
        return None
    return round((accuracy - unigram) / (trained - unigram), 12)
