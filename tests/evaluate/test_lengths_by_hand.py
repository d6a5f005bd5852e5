"""Accuracy and nll at each length by hand: a pass for each window, in float64."""

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from ablate.data.tasks import IGNORED, Batch, CorpusTask
from ablate.evaluate.extrapolation import window_layout
from ablate.evaluate.learned import measure_learning
from ablate.evaluate.shuffle import measure_shuffle
from ablate.evaluate.trained import measure_lengths
from tests.made_up_bench import bench, config

DOCUMENTS = np.array([0, 40, 90, 95, 160, 200, 290, 310, 420, 500, 510, 640, 700, 760, 830, 870])
LENGTHS = [4, 8, 16, 32]
WIDTH = 1  # targets of a window, L / 8


def quiet(doing: str) -> None: ...


def measured(name: str, pos: str, windows: int = 30) -> tuple[Any, CorpusTask, Any]:
    sizes = {"seq_len": 8, "evaluate.windows": windows, "evaluate.lengths": [0.5, 1, 2, 4]}
    made = config({**sizes, "dropout": 0.5}, task=name, pos=pos)
    objects = bench(made)
    task = objects.task
    assert isinstance(task, CorpusTask)
    task.corpus = replace(task.corpus, validation_documents=DOCUMENTS)
    with torch.no_grad():  # a model that is sometimes right
        objects.model.head.weight.mul_(3)
    return objects, task, measure_lengths(objects, made, quiet)


def nats(model: Any, inputs: np.ndarray) -> np.ndarray:
    """−ln p of every token at each position of one row, [length, vocabulary]."""
    with torch.no_grad():
        logits = model(torch.from_numpy(inputs[None]))[0].double()
    return -logits.log_softmax(-1).numpy()


@pytest.mark.parametrize(("name", "pos"), [("lm", "rope"), ("lm", "learned"), ("mlm", "rope")])
def test_every_length_by_hand(name: str, pos: str) -> None:
    objects, task, told = measured(name, pos)
    model, text = objects.model.eval(), task.corpus.validation.astype(np.int64)
    lengths, layout = window_layout(len(text), seq_len=8, multiples=[0.5, 1, 2, 4], windows=30)
    assert told.lengths == lengths == LENGTHS
    costs = task.costs()
    of = np.searchsorted(DOCUMENTS, layout.ends, "right")
    numbers = sorted(set(of.tolist()))
    frequent = int(np.bincount(task.corpus.train).argmax())
    for place, context in enumerate(LENGTHS):
        if pos == "learned" and context > 8:
            assert told.nll[place] is told.accuracy[place] is told.documents.counts[place] is None
            continue
        nll, right, usual, unigram = Counter(), Counter(), Counter(), Counter()
        scored: Counter[int] = Counter()
        for window, end in enumerate(layout.ends.tolist()):
            row = text[end - context : end + 1]
            batch = task.view(row[None], WIDTH, np.random.default_rng(window))
            target = int(batch.targets[0, -1])
            assert target == text[end]
            table = nats(model, batch.inputs[0])
            scored[of[window]] += 1
            nll[of[window]] += table[-1, target]
            right[of[window]] += int(table[-1].argmin() == target)
            usual[of[window]] += int(target == frequent)
            unigram[of[window]] += costs[target]
        assert told.nll[place] == pytest.approx(sum(nll.values()) / 30, rel=1e-5)
        assert told.accuracy[place] == pytest.approx(sum(right.values()) / 30)
        documents = told.documents
        assert documents.counts[place] == [scored[n] for n in numbers]
        assert documents.nll[place] == pytest.approx([nll[n] for n in numbers], rel=1e-4)
        assert documents.correct[place] == [right[n] for n in numbers]
        assert documents.unigram == pytest.approx([unigram[n] for n in numbers], rel=1e-4)
        assert documents.frequent == [usual[n] for n in numbers]
        assert told.accuracy_unigram == pytest.approx(sum(usual.values()) / 30)
    assert (told.targets, told.documents.windows, told.train_length) == (30, 30, 8)
    base, chance = told.accuracy[1], told.accuracy_unigram
    for accuracy, kept in zip(told.accuracy, told.retention, strict=True):
        known = accuracy is not None and base > chance
        expected = (accuracy - chance) / (base - chance) if known else None
        assert kept == (None if expected is None else pytest.approx(expected))


def test_the_curve_and_the_buckets_are_of_the_longest_windows() -> None:
    objects, task, told = measured("lm", "none")
    model, text = objects.model.eval(), task.corpus.validation.astype(np.int64)
    _, layout = window_layout(len(text), seq_len=8, multiples=[4], windows=30)
    tables = [nats(model, text[end - 32 : end]) for end in layout.ends.tolist()]
    targets = [text[end - 31 : end + 1] for end in layout.ends.tolist()]
    each = np.array([t[np.arange(32), y] for t, y in zip(tables, targets, strict=True)])
    right = np.array([t.argmin(1) == y for t, y in zip(tables, targets, strict=True)])
    assert told.curve.position == list(range(1, 33))
    assert told.curve.nll == pytest.approx(each.mean(axis=0).tolist(), rel=1e-5)
    assert told.curve.accuracy == pytest.approx(right.mean(axis=0).tolist())
    buckets = told.buckets
    assert (buckets.from_, buckets.to) == ([0, 4, 8, 16], [4, 8, 16, 32])
    # Each has as many targets as the narrowest: 4 of 4, of 4, of 8 and of 16.
    places = [[0, 1, 2, 3], [4, 5, 6, 7], [9, 11, 13, 15], [18, 22, 26, 30]]
    assert buckets.targets == 30 * 4
    assert buckets.nll == pytest.approx([each[:, p].mean() for p in places], rel=1e-5)
    assert buckets.accuracy == pytest.approx([right[:, p].mean() for p in places])


def test_both_protocols_by_hand() -> None:
    objects, task, told = measured("lm", "alibi", windows=64)
    model, text = objects.model.eval(), task.corpus.validation.astype(np.int64)
    starts = [1, 1 + 32 * ((len(text) - 1) // 32 // 2)]
    tables: dict[tuple[int, int], np.ndarray] = {}
    for place, length in enumerate(LENGTHS):
        sums = {"non-overlapping": [0.0, 0], "sliding-window": [0.0, 0]}
        for start in starts:
            for target in range(start, start + 32):
                begin = start + (target - start) // length * length - 1
                step = length // 2
                end = start + (target - start) // step * step + step - 1
                for name, first, last in (
                    ("non-overlapping", begin, begin + length),
                    ("sliding-window", end - min(length, end), end),
                ):
                    if (first, last) not in tables:
                        tables[first, last] = nats(model, text[first:last])
                    costs = tables[first, last][target - 1 - first]
                    sums[name][0] += costs[text[target]]
                    sums[name][1] += costs.argmin() == text[target]
        for name, (nll, right) in sums.items():
            protocol = told.protocols[name]
            assert protocol.targets[place] == 64
            assert protocol.nll[place] == pytest.approx(nll / 64, rel=1e-5)
            assert protocol.accuracy[place] == pytest.approx(right / 64)


@pytest.mark.parametrize("name", ["lm", "mlm", "reverse"])
def test_what_is_learned_and_what_order_is_worth_by_hand(name: str) -> None:
    made = config({"seq_len": 12, "evaluate.windows": 300, "dropout": 0.5}, task=name)
    objects = bench(made)
    task, model = objects.task, objects.model
    lengths = measure_lengths(objects, made, quiet)
    learned = measure_learning(objects, 3, lengths, quiet)
    shuffled = measure_shuffle(model, task, 3)
    model.eval()
    whole, last, unigram, count = 0.0, [0.0, 0], 0.0, 0
    for batch in task.validation(3):
        assert isinstance(batch, Batch)
        padding = None if batch.padding is None else torch.from_numpy(batch.padding)
        with torch.no_grad():
            logits = model(torch.from_numpy(batch.inputs), padding=padding).double()
        costs = -logits.log_softmax(-1).numpy()
        for table, row in zip(costs, batch.targets, strict=True):
            goals = row if name != "reverse" else np.where(row == 1, IGNORED, row)
            places = np.flatnonzero(goals != IGNORED)
            whole += sum(table[p, goals[p]] for p in places)
            unigram += task.costs()[goals[places]].sum()  # type: ignore[attr-defined]
            count += len(places)
            chosen = places[-1:] if task.causal else places
            last[0] += sum(table[p, goals[p]] for p in chosen)
            last[1] += len(chosen)
    assert shuffled.loss == pytest.approx(last[0] / last[1], rel=1e-5)
    assert shuffled.targets == last[1]
    if name != "reverse":
        assert learned.value == pytest.approx((whole - unigram) / count, abs=1e-5)
        assert learned.windows == 12
    else:
        place = lengths.lengths.index(12)
        assert learned.value == lengths.exact[place]
        assert learned.guessing == lengths.exact_unigram
        assert (learned.units, learned.windows) == (300, 300)
    assert math.isfinite(shuffled.loss_shuffled)
