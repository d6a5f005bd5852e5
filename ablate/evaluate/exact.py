"""Exact match and token accuracy of a generated task, at lengths shorter and longer than trained.

The exact-match protocol: at every length c, examples of the largest size that fits into c tokens,
the same for every run. An example is matched where each of its answer tokens is the likeliest;
end tokens do not count. Scores are teacher-forced. Matches are those of greedy decoding
nonetheless: up to its first mistake greedy decoding reads what teacher forcing reads, and a first
mistake in the one is a first mistake in the other. Token accuracy is teacher-forced alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ablate.data.generated.base import END, GeneratedTask
from ablate.data.tasks import IGNORED, Batch
from ablate.evaluate.extrapolation import retention
from ablate.evaluate.windows import score_batch
from ablate.model.transformer import Transformer

PROBE_SEED = 0


@dataclass(frozen=True)
class Score:
    """Shares of answer tokens and of whole answers that are right, and nats per answer token.

    None where the model's numbers are not finite.
    """

    accuracy: float | None = None
    exact: float | None = None
    nll: float | None = None


@torch.inference_mode()
def exact_match(
    model: Transformer,
    task: GeneratedTask,
    *,
    multiples: Sequence[float],
    examples: int,
    batch_tokens: int,
    check: Callable[[str], None] = lambda doing: None,
) -> dict[str, Any]:
    """Accuracy, exact match and nll of the task's examples at each multiple of the train length.

    Always guessing the most frequent answer token gives `accuracy_unigram`. `batch_tokens` bounds
    the tokens of one forward pass (one example at least). `check` is told what comes next, and may
    raise to stop. Values are null at a length beyond the scheme's limit or too short for the task,
    and where a diverged model gives no finite number.
    """
    lengths = sorted({max(1, round(m * task.seq_len)) for m in multiples} | {task.seq_len})
    limit = model.position.max_length
    model.eval()
    scores: list[Score] = []
    for length in lengths:
        batch = task.probe(length, examples, PROBE_SEED)
        if batch is None or (limit is not None and batch.inputs.shape[1] > limit):
            scores.append(Score())
            continue
        check(f"evaluating {examples} examples of {length} tokens")
        scores.append(score_examples(model, batch, batch_tokens, check))
    model.train()
    trained = task.probe(task.seq_len, examples, PROBE_SEED)
    assert trained is not None  # the task was refused if no example fits into seq_len
    answers = trained.targets[counted(trained)]
    unigram = float(np.bincount(answers).max() / len(answers))
    at_train_length = scores[lengths.index(task.seq_len)].accuracy
    return {
        "protocol": "exact-match",
        "train_length": task.seq_len,
        "lengths": lengths,
        "accuracy": [score.accuracy for score in scores],
        "exact": [score.exact for score in scores],
        "nll": [score.nll for score in scores],
        "retention": [retention(score.accuracy, at_train_length, unigram) for score in scores],
        "accuracy_unigram": unigram,
        "targets": len(answers),
        "examples": examples,
    }


def counted(batch: Batch) -> np.ndarray:
    """Which targets count for accuracy: answer tokens without the end token."""
    return (batch.targets != IGNORED) & (batch.targets != END)


def score_examples(
    model: Transformer, batch: Batch, batch_tokens: int, check: Callable[[str], None]
) -> Score:
    """Score all rows of a batch, a few at a time."""
    rows = max(1, batch_tokens // batch.inputs.shape[1])
    right, whole, nll = [], [], []
    for first in range(0, len(batch.inputs), rows):
        check("")
        part = slice(first, first + rows)
        few = Batch(batch.inputs[part], batch.targets[part])
        losses, hits = (scored.numpy() for scored in score_batch(model, few))
        answers = counted(few)
        right.append(hits[answers])
        whole.append((hits | ~answers).all(axis=1))
        nll.append(losses[answers])
    losses = np.concatenate(nll).astype(np.float64)
    if not np.isfinite(losses).all():
        return Score()
    return Score(
        accuracy=float(np.concatenate(right).mean()),
        exact=float(np.concatenate(whole).mean()),
        nll=float(losses.mean()),
    )
