"""How much a model's loss depends on the order of its input.

Encoder: the real tokens of every sequence change places, their targets along with them. Decoder:
only the last target of a sequence is scored; the tokens before it change places, except the one
right before it. Either way the same targets are scored with the same tokens visible, in order and
out of order. The end token of a generated task is no target here.
"""

import numpy as np
import torch

from ablate.data.generated.generated_task import END, GeneratedTask
from ablate.data.tasks import IGNORED, Batch, Task
from ablate.evaluate.resampling import DRAWS, Groups, interval, resample
from ablate.evaluate.windows import Check, score_batch
from ablate.model.transformer import Transformer
from ablate.record.evaluated import Shuffle

DEFINITIONS = {
    False: "all tokens of a sequence in another order, their targets along with them",
    True: "the tokens before the last one in another order; the target that follows it is scored",
}


@torch.inference_mode()
def measure_shuffle(
    model: Transformer, task: Task, batches: int, check: Check = lambda doing: None
) -> Shuffle:
    """Loss in nats a target in order and shuffled, and their difference with a 95 % interval.

    The interval is over sequences, null for one alone. Values are null where numbers are not
    finite.
    """
    check("evaluating with shuffled inputs")
    random = np.random.default_rng(0)
    sums: list[np.ndarray] = []
    counts: list[np.ndarray] = []
    model.eval()
    for batch in task.validation(batches):
        check("")
        answers = without_end(batch) if isinstance(task, GeneratedTask) else batch
        ordered = last_target(answers) if task.causal else answers
        shuffled = shuffle(ordered, random, causal=task.causal)
        nats = [score_batch(model, rows)[0].sum(1).double().numpy() for rows in (ordered, shuffled)]
        sums.append(np.stack(nats, axis=1))
        counts.append((ordered.targets != IGNORED).sum(axis=1))
    model.train()
    totals, targets = np.concatenate(sums), np.concatenate(counts)
    before, after = (totals.sum(axis=0) / targets.sum()).tolist()
    draws_of_means = resample(totals, targets, Groups(np.arange(len(totals)), "sequences"))
    return Shuffle(
        definition=DEFINITIONS[task.causal],
        causal=task.causal,
        targets=int(targets.sum()),
        sequences=len(totals),
        draws=DRAWS,
        loss=before,
        loss_shuffled=after,
        change=after - before,
        interval=interval(draws_of_means[:, 1] - draws_of_means[:, 0]) if len(totals) > 1 else None,
    )


def without_end(batch: Batch) -> Batch:
    """The batch without end tokens among its targets."""
    targets = np.where(batch.targets == END, IGNORED, batch.targets)
    return Batch(batch.inputs, targets, batch.padding)


def last_target(batch: Batch) -> Batch:
    """The batch with only the last target of each row."""
    targets = np.full_like(batch.targets, IGNORED)
    for row, place in enumerate(last_places(batch)):
        targets[row, place] = batch.targets[row, place]
    return Batch(batch.inputs, targets, batch.padding)


def last_places(batch: Batch) -> list[int]:
    """Where the last target of each row stands."""
    return [int(np.flatnonzero(row != IGNORED)[-1]) for row in batch.targets]


def shuffle(batch: Batch, random: np.random.Generator, *, causal: bool) -> Batch:
    """Shuffle each row but its padding; if `causal`, only what precedes the last target's input."""
    inputs, targets = batch.inputs.copy(), batch.targets.copy()
    rows, length = inputs.shape
    if causal:
        free = last_places(batch)
    elif batch.padding is None:
        free = [length] * rows
    else:
        free = (~batch.padding).sum(axis=1).tolist()
    for row, count in enumerate(free):
        order = random.permutation(count)
        inputs[row, :count] = inputs[row, order]
        targets[row, :count] = targets[row, order]
    return Batch(inputs, targets, batch.padding)
