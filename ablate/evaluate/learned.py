"""What a run learned beyond frequencies, on the validation windows that its loss is measured on."""

from collections.abc import Iterator

import numpy as np
import torch

from ablate.build import Bench
from ablate.data.generated.generated_task import GeneratedTask
from ablate.data.tasks import IGNORED, Batch, CorpusTask, Task
from ablate.errors import UserError
from ablate.evaluate.document_sums import documents_of
from ablate.evaluate.shuffle import without_end
from ablate.evaluate.windows import Check, score_batch
from ablate.judge.by_document import DocumentEstimate, estimate, sum_by_document, units
from ablate.judge.learning import FEWEST_WINDOWS, Matches, judge_task, judge_text
from ablate.model.transformer import Transformer
from ablate.record.evaluated import Extrapolation, Learning
from ablate.train.batches import AT_ONCE, joined


def frequencies_loss(task: Task, batches: int) -> float | None:
    """Loss of guessing by frequencies on the validation windows, nats; None of other tasks."""
    if not isinstance(task, CorpusTask | GeneratedTask):
        return None
    costs = task.costs()
    targets = np.concatenate([b.targets[b.targets != IGNORED] for b in task.validation(batches)])
    return float(costs[targets].mean())


def measure_learning(bench: Bench, batches: int, lengths: Extrapolation, check: Check) -> Learning:
    """The model against frequencies on `batches` of validation; `lengths` has the exact match."""
    check("evaluating against a model that knows only frequencies")
    match bench.task:
        case GeneratedTask() as task:
            return of_task(bench.model, task, batches, lengths)
        case CorpusTask() as task:
            return of_text(bench.model, task, batches)
    raise UserError(f"task: {type(bench.task).__name__} is no text and no generated task")


def of_text(model: Transformer, task: CorpusTask, batches: int) -> Learning:
    """The difference in nats a target, with its interval by document."""
    sums, unigram, counts = scored(model, task.validation(batches), task.costs())
    ends = task.validation_starts(batches) + task.seq_len
    of, over = units(documents_of(ends, task.corpus.validation_documents).tolist(), counts)
    difference = estimate(sum_by_document(sums, counts, of) - sum_by_document(unigram, counts, of))
    learning = Learning(word=judge_text(difference), measure="nll difference", over=over)
    if difference is not None:
        bounds = difference.interval(FEWEST_WINDOWS)
        learning.value, learning.units = difference.value, difference.documents
        learning.interval = None if bounds is None else list(bounds)
        learning.effective, learning.largest = difference.effective, difference.largest
        learning.windows = difference.windows
    return learning


def of_task(
    model: Transformer, task: GeneratedTask, batches: int, lengths: Extrapolation
) -> Learning:
    """The share of examples that are right as a whole at the train length, against guessing."""
    place = lengths.lengths.index(task.seq_len)
    share, examples = lengths.exact[place], lengths.examples or 0
    learning = Learning(measure="exact match", guessing=lengths.exact_unigram, over="examples")
    if share is None or lengths.exact_unigram is None:
        return learning
    matches = Matches(round(share * examples), examples, lengths.exact_unigram)
    learning.word = judge_task(matches, against_frequencies(model, task, batches))
    learning.value, learning.interval = share, list(matches.interval)
    learning.units = learning.windows = examples
    learning.effective, learning.largest = float(examples), 1 / examples
    return learning


def against_frequencies(
    model: Transformer, task: GeneratedTask, batches: int
) -> DocumentEstimate | None:
    """The loss of answers less that of their frequencies, over examples."""
    answers = (without_end(batch) for batch in task.validation(batches))
    sums, unigram, counts = scored(model, answers, task.costs())
    each = list(range(len(counts)))
    return estimate(sum_by_document(sums, counts, each) - sum_by_document(unigram, counts, each))


@torch.inference_mode()
def scored(
    model: Transformer, batches: Iterator[Batch], costs: np.ndarray
) -> tuple[list[float], list[float], list[float]]:
    """By window the nats of the model and of frequencies, and the number of targets."""
    sums: list[float] = []
    unigram: list[float] = []
    counts: list[float] = []
    model.eval()
    for batch in joined(batches, AT_ONCE):
        real = batch.targets != IGNORED
        nll = score_batch(model, batch)[0].numpy()
        sums += np.where(real, nll, 0).sum(axis=1, dtype=np.float64).tolist()
        unigram += np.where(real, costs[np.where(real, batch.targets, 0)], 0).sum(axis=1).tolist()
        counts += real.sum(axis=1).tolist()
    model.train()
    return sums, unigram, counts
