"""Exact match and token accuracy of a generated task, at lengths shorter and longer than trained.

The exact-match protocol: at every length c, examples of the largest size that fits into c tokens,
the same for every run. An example is matched where each of its answer tokens is the likeliest;
end tokens do not count. Scores are teacher-forced. Matches are those of greedy decoding
nonetheless: up to its first mistake greedy decoding reads the same tokens as teacher forcing does,
so that both make the same first mistake. Token accuracy is of teacher forcing alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ablate.data.generated.generated_task import END, GeneratedTask
from ablate.data.tasks import IGNORED, Batch
from ablate.evaluate.document_sums import DIGITS, length_intervals
from ablate.evaluate.extrapolation import retention
from ablate.evaluate.windows import score_batch
from ablate.model.transformer import Transformer
from ablate.record.evaluated import DocumentScores, Extrapolation

EXAMPLES_SEED = 0
GROUPS = 32
"""Into so many the examples are added up; each is as good as any other."""

MEASURES = ("accuracy", "exact", "nll")


@dataclass(frozen=True)
class ExampleScores:
    """Of each example: how many answer tokens, how many right, and their nats, [examples] each."""

    answers: np.ndarray
    right: np.ndarray
    nll: np.ndarray

    def sums(self, measure: str) -> tuple[np.ndarray, np.ndarray]:
        """A measure's sum in each example, and the number of things summed, [examples] each."""
        if measure == "exact":
            return (self.right == self.answers).astype(float), np.ones(len(self.answers))
        return {"accuracy": self.right, "nll": self.nll}[measure], self.answers

    @property
    def finite(self) -> bool:
        """Whether the model gave a finite nll for every example."""
        return bool(np.isfinite(self.nll).all())

    def mean(self, measure: str) -> float | None:
        """The share of tokens or examples, or nats a token; None where numbers are not finite."""
        if not self.finite:
            return None
        total, count = self.sums(measure)
        return float(total.sum() / count.sum())


@torch.inference_mode()
def exact_match(
    model: Transformer,
    task: GeneratedTask,
    *,
    multiples: Sequence[float],
    examples: int,
    batch_tokens: int,
    check: Callable[[str], None] = lambda doing: None,
) -> Extrapolation:
    """Accuracy, exact match and nll of the task's examples at each multiple of the train length.

    `accuracy_unigram` is the accuracy of always guessing the most frequent answer token.
    `batch_tokens` bounds the tokens of one forward pass (one example at least). `check` is called
    before each step and may raise to stop. Values are null at a length beyond the scheme's limit or
    too short for the task, and where a diverged model gives no finite number.
    """
    lengths = sorted({max(1, round(m * task.seq_len)) for m in multiples} | {task.seq_len})
    limit = model.position.max_length
    model.eval()
    scores: dict[int, ExampleScores] = {}
    for length in lengths:
        batch = task.examples_at(length, examples, EXAMPLES_SEED)
        if batch is not None and (limit is None or batch.inputs.shape[1] <= limit):
            check(f"evaluating {examples} examples of {length} tokens")
            scores[length] = score_examples(model, batch, batch_tokens, check)
    model.train()
    means = {m: [scores[c].mean(m) if c in scores else None for c in lengths] for m in MEASURES}
    trained = task.examples_at(task.seq_len, examples, EXAMPLES_SEED)
    assert trained is not None  # the task was refused if no example fits into seq_len
    answers = trained.targets[counted(trained)]
    unigram = float(np.bincount(answers).max() / len(answers))
    accuracy = means["accuracy"]
    measured = Extrapolation(
        protocol="exact-match",
        train_length=task.seq_len,
        lengths=lengths,
        accuracy=accuracy,
        exact=means["exact"],
        nll=means["nll"],
        retention=[
            retention(value, accuracy[lengths.index(task.seq_len)], unigram) for value in accuracy
        ],
        accuracy_unigram=unigram,
        targets=len(answers),
        examples=examples,
        exact_unigram=float((unigram ** counted(trained).sum(axis=1)).mean()),
        documents=example_documents(scores, lengths, trained, unigram),
    )
    measured.interval = length_intervals(measured)
    return measured


def example_documents(
    scores: Mapping[int, ExampleScores], lengths: Sequence[int], trained: Batch, unigram: float
) -> DocumentScores:
    """Sums over examples at each length, a few examples together; `trained` are those at L.

    `unigram` is the share of answer tokens that are the most frequent one: guessing it is right as
    a whole as if tokens were drawn independently.
    """
    examples = len(trained.targets)
    of = np.arange(examples) * min(GROUPS, examples) // examples

    def add(values: np.ndarray) -> list[float]:
        return [round(total, DIGITS) for total in np.bincount(of, values).tolist()]

    def whole(values: np.ndarray) -> list[int]:
        return [int(value) for value in values]

    answers = counted(trained)
    shares = np.bincount(trained.targets[answers]) / answers.sum()
    costs = -np.log(np.where(shares > 0, shares, 1.0))
    targets = np.where(answers, trained.targets, 0)
    by_length = [scores.get(length) for length in lengths]
    finite = [each if each is not None and each.finite else None for each in by_length]
    return DocumentScores(
        over="examples",
        windows=examples,
        counts=[None if f is None else whole(np.bincount(of, f.answers)) for f in by_length],
        correct=[None if f is None else add(f.right) for f in finite],
        nll=[None if f is None else add(f.nll) for f in finite],
        frequent=add(((targets == shares.argmax()) & answers).sum(axis=1)),
        unigram=add((costs[targets] * answers).sum(axis=1)),
        exact=[None if f is None else add(f.right == f.answers) for f in finite],
        examples=[None if f is None else whole(np.bincount(of)) for f in by_length],
        guessed=add(unigram ** answers.sum(axis=1)),
    )


def counted(batch: Batch) -> np.ndarray:
    """True at the targets that count for accuracy: answer tokens, but not the end token."""
    return (batch.targets != IGNORED) & (batch.targets != END)


def score_examples(
    model: Transformer, batch: Batch, batch_tokens: int, check: Callable[[str], None]
) -> ExampleScores:
    """Score all rows of a batch, up to `batch_tokens` tokens at a time."""
    rows = max(1, batch_tokens // batch.inputs.shape[1])
    parts: list[np.ndarray] = []
    for first in range(0, len(batch.inputs), rows):
        check("")
        part = slice(first, first + rows)
        sub_batch = Batch(batch.inputs[part], batch.targets[part])
        nll, hits = (scored.numpy() for scored in score_batch(model, sub_batch))
        answers = counted(sub_batch)
        losses = np.where(answers, nll, 0).sum(axis=1, dtype=np.float64)
        parts.append(np.stack([answers.sum(axis=1), (hits & answers).sum(axis=1), losses]))
    return ExampleScores(*np.concatenate(parts, axis=1))
