"""Accuracy at context lengths shorter and longer than trained, on the same held-out targets.

The fixed-target protocol: targets come in groups of w = L/8 tokens on a grid of step w. A group
is scored teacher-forced as the last w tokens of a window of c tokens, for every c, so that
lengths differ in context alone. The last target of a window has c tokens before it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ablate.errors import UserError
from ablate.model.transformer import Transformer


@dataclass(frozen=True)
class Windows:
    """Where the target groups lie in the held-out stream.

    `ends[i]` is the index of the last target of group i; each group has `width` targets.
    """

    ends: np.ndarray
    width: int

    def cut(self, tokens: np.ndarray, chosen: slice, context: int) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and next-token targets of some windows, int64 [windows, context] each."""
        rows = [tokens[end - context : end + 1] for end in self.ends[chosen]]
        table = np.stack(rows).astype(np.int64)
        return table[:, :-1], table[:, 1:]

    def targets(self, tokens: np.ndarray) -> np.ndarray:
        """All targets, [groups, width]."""
        return np.stack([tokens[end - self.width + 1 : end + 1] for end in self.ends])


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
    tokens: np.ndarray,
    counts: np.ndarray,
    *,
    multiples: Sequence[float],
    windows: int,
    batch_tokens: int,
    check: Callable[[str], None] = lambda doing: None,
) -> dict[str, Any]:
    """Accuracy and nll of the fixed targets at each multiple of the train length.

    `counts` are the training tokens' frequencies; guessing the most frequent one gives
    `accuracy_unigram`. `batch_tokens` bounds the tokens of one forward pass (one window at least).
    `check` is told what comes next, and may raise to stop. Values are null at a length beyond the
    scheme's limit, and where a diverged model gives no finite number.
    """
    seq_len = model.shape.seq_len
    lengths, layout = window_layout(
        len(tokens), seq_len=seq_len, multiples=multiples, windows=windows
    )
    limit = model.position.max_length
    defined = [c for c in lengths if limit is None or c <= limit]
    unigram = float((layout.targets(tokens) == int(counts.argmax())).mean())
    model.eval()
    scores: dict[int, tuple[float, float]] = {}
    curve = None
    for length in defined:
        check(f"evaluating with {length} tokens of context")
        nll, correct = score_windows(model, tokens, layout, length, batch_tokens, check)
        scores[length] = (
            float(nll[:, -layout.width :].mean()),
            float(correct[:, -layout.width :].mean()),
        )
        if length == defined[-1]:
            curve = position_curve(nll, correct, layout.width)
    model.train()
    accuracies = [
        scores[c][1] if c in scores and math.isfinite(scores[c][0]) else None for c in lengths
    ]
    trained = accuracies[lengths.index(seq_len)]
    return {
        "protocol": "fixed-target",
        "train_length": seq_len,
        "lengths": lengths,
        "accuracy": accuracies,
        "nll": [scores[c][0] if c in scores else None for c in lengths],
        "retention": [retention(a, trained, unigram) for a in accuracies],
        "accuracy_unigram": unigram,
        "targets": len(layout.ends) * layout.width,
        "curve": curve,
    }


def score_windows(
    model: Transformer,
    tokens: np.ndarray,
    layout: Windows,
    context: int,
    batch_tokens: int,
    check: Callable[[str], None],
) -> tuple[np.ndarray, np.ndarray]:
    """nll in nats and correctness of every position of every window, [windows, context] each."""
    device = model.embedding.weight.device
    size = max(1, batch_tokens // context)
    parts: list[tuple[Tensor, Tensor]] = []
    for first in range(0, len(layout.ends), size):
        check("")
        inputs, targets = layout.cut(tokens, slice(first, first + size), context)
        goal = torch.from_numpy(targets).to(device)
        logits = model(torch.from_numpy(inputs).to(device)).float()
        nll = F.cross_entropy(logits.flatten(0, 1), goal.flatten(), reduction="none")
        parts.append((nll.view_as(goal).cpu(), (logits.argmax(-1) == goal).cpu()))
    return (
        torch.cat([nll for nll, _ in parts]).double().numpy(),
        torch.cat([correct for _, correct in parts]).numpy(),
    )


def position_curve(nll: np.ndarray, correct: np.ndarray, bucket: int) -> dict[str, Any]:
    """Means over windows and over `bucket` neighbouring positions of the longest window.

    `position` is the number of context tokens at the end of a bucket. Each bucket holds equally
    many targets; they are other tokens in each bucket, unlike those of `accuracy` and `nll`.
    """
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
