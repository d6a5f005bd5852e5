"""What is drawn: windows that reach both ends of a text, no batch twice, frequencies by hand."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from ablate.data.entry import TokenizedCorpus
from ablate.data.generated.generated_task import ASK, END, OWN, PAD, GeneratedTask
from ablate.data.generated.recall import AssociativeRecall, Passkey
from ablate.data.generated.sentences import BACKWARD, FORWARD, NOUNS, WordOrder
from ablate.data.lm import LanguageModelling
from ablate.data.mlm import MaskedLanguageModelling
from ablate.data.tasks import IGNORED, CorpusTask, Task
from ablate.data.tokenizers import Bytes
from tests.made_up_bench import CATALOGUE, bench, config
from tests.made_up_bench import corpus as made_up

TASKS = CATALOGUE.names("task")


def numbered(train: int, validation: int) -> TokenizedCorpus:
    """A text in which each token occurs once: 0, 1, 2 .. and, in validation, on from there."""
    whole = np.arange(train + validation, dtype=np.int64)
    begin, counts = np.zeros(1, np.int64), (whole < train).astype(np.int64)
    splits = whole[:train], whole[train:]
    return TokenizedCorpus("x", "0", train + validation, *splits, begin, begin, counts, Bytes())


def language(corpus: TokenizedCorpus, kind: type[CorpusTask] = LanguageModelling, **more: Any):
    return kind(corpus, **{"seq_len": 8, "batch_size": 4, "seed": 0, **more})


def made(name: str, seed: int = 0, **more: Any) -> Task:
    sizes = {"seed": seed, "seq_len": 24, "batch_size": 16, **more}
    return bench(config(sizes, task=name)).task


@pytest.mark.parametrize("name", TASKS)
def test_no_batch_of_a_seed_is_another_of_it_or_one_of_another_seed(name: str) -> None:
    tasks = [made(name, seed) for seed in range(4)]
    drawn = [task.batch(step).inputs.tobytes() for task in tasks for step in range(1, 9)]
    held_out = [batch.inputs.tobytes() for batch in tasks[0].validation(6)]
    of_lengths = []
    if isinstance(tasks[0], GeneratedTask):
        batches = [tasks[0].examples_at(24, 16, seed) for seed in range(8)]
        of_lengths = [batch.inputs.tobytes() for batch in batches if batch]
    everything = drawn + held_out + of_lengths
    assert len(set(everything)) == len(everything)
    again = made(name, 2)
    assert again.batch(3).inputs.tobytes() == drawn[2 * 8 + 2]
    assert again.batch(3).targets.tobytes() == tasks[2].batch(3).targets.tobytes()
    for ours, theirs in zip(tasks[0].validation(6), tasks[3].validation(6), strict=True):
        assert ours.inputs.tobytes() == theirs.inputs.tobytes()
        assert ours.targets.tobytes() == theirs.targets.tobytes()


@pytest.mark.parametrize("name", TASKS)
def test_no_two_purposes_draw_from_one_generator(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = [made(name, seed) for seed in range(4)]
    of, seeds = np.random.default_rng, list[Any]()

    def generator(seed: Any) -> np.random.Generator:
        seeds.append(seed)
        return of(seed)

    monkeypatch.setattr(np.random, "default_rng", generator)
    for task in tasks:
        for step in range(1, 12):
            task.batch(step)
    list(tasks[0].validation(3))
    if isinstance(tasks[0], GeneratedTask):
        for length in range(1, 12):
            tasks[0].examples_at(length + 40, 1, 0)
            tasks[0].examples_at(length, 1, 0)
        assert tasks[0].source
        assert tasks[0].unigram()
        seeds.remove(4)  # the fingerprint and the sample of answers share theirs
    assert len(set(seeds)) == len(seeds) > 44


def test_training_windows_are_stretches_of_the_training_text_and_reach_both_ends() -> None:
    task = language(numbered(40, 30))
    starts: Counter[int] = Counter()
    for step in range(1, 120):
        batch = task.batch(step)
        assert batch.inputs.shape == batch.targets.shape == (4, 8)
        assert (batch.targets == batch.inputs + 1).all()
        assert (np.diff(batch.inputs) == 1).all()
        starts.update(batch.inputs[:, 0].tolist())
    assert set(starts) == set(range(32))
    assert max(starts.values()) < 4 * min(starts.values()) + 20


@pytest.mark.parametrize("tokens", [9, 17, 30, 80, 81, 200])
@pytest.mark.parametrize("batches", [1, 2, 100])
def test_validation_windows_never_overlap_and_reach_from_end_to_end(
    tokens: int, batches: int
) -> None:
    task = language(numbered(20, tokens))
    rows = np.concatenate([batch.targets for batch in task.validation(batches)]) - 20
    assert (np.diff(rows) == 1).all()
    firsts = rows[:, 0] - 1
    room = (tokens - 1) // 8
    assert len(firsts) == min(4 * batches, room)
    assert firsts[0] == 0
    assert (firsts % 8 == 0).all()
    assert (np.diff(firsts) >= 8).all()
    assert np.ptp([*np.diff(firsts), 8 * room - firsts[-1]]) <= 8
    assert firsts.tolist() == task.validation_starts(batches).tolist()


def test_frequencies_are_of_training_and_what_they_cost_is_of_either_text() -> None:
    corpus = made_up()
    task = language(corpus)
    counts = Counter(corpus.train.tolist())
    total = len(corpus.train)
    cost = {t: -math.log((counts[t] + 1) / (total + corpus.vocabulary)) for t in range(23)}
    assert task.costs().tolist() == pytest.approx(list(cost.values()), rel=1e-12)
    by_hand = math.fsum(cost[t] for t in corpus.validation.tolist()) / len(corpus.validation)
    assert task.unigram() == pytest.approx(by_hand, rel=1e-12)
    entropy = -math.fsum(n / total * math.log(n / total) for n in counts.values())
    assert task.unigram_train() == pytest.approx(entropy, rel=1e-12)
    assert abs(by_hand - entropy) > 0.1
    assert task.uniform == math.log(23)
    assert language(corpus, MaskedLanguageModelling).uniform == math.log(24)


def test_hidden_tokens_are_as_many_as_asked_for_and_mostly_masked() -> None:
    length, rows = 40, 500
    task = language(
        numbered(4000, 400), MaskedLanguageModelling, seq_len=length, batch_size=rows, share=0.3
    )
    batch = task.batch(1)
    hidden = batch.targets != IGNORED
    assert set(hidden.sum(axis=1)) == {12}
    mask = task.vocabulary - 1
    told = batch.inputs[hidden]
    masked, kept = told == mask, told == batch.targets[hidden]
    count = len(told)
    for share, expected in ((masked.mean(), 0.8), (kept.mean(), 0.1)):
        assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / count)
    assert told[~masked & ~kept].max() < mask
    # What is told of a row is the row: the tokens count up from its second.
    whole = np.where(hidden, batch.targets, batch.inputs)
    assert (np.diff(whole) == 1).all()
    assert hidden.any(axis=0).all()


def test_the_last_positions_alone_are_hidden_when_they_alone_are_scored() -> None:
    task = language(numbered(400, 400), MaskedLanguageModelling, share=0.5)
    rows = np.arange(9)[None] + np.array([[3], [70]])
    for last, count in ((1, 1), (4, 2), (8, 4)):
        batch = task.view(rows, last, np.random.default_rng(0))
        scored = batch.targets != IGNORED
        assert scored.sum(axis=1).tolist() == [count, count]
        assert not scored[:, : 8 - last].any()
        assert (np.where(scored, batch.targets, batch.inputs) == rows[:, 1:]).all()


def test_padded_rows_have_every_length_from_the_shortest_to_the_longest() -> None:
    task = language(numbered(400, 400), MaskedLanguageModelling, batch_size=300, padding=0.5)
    batch = task.batch(1)
    assert batch.padding is not None
    assert set((~batch.padding).sum(axis=1)) == {4, 5, 6, 7, 8}
    assert (batch.inputs[batch.padding] == task.vocabulary - 1).all()
    assert (batch.targets[batch.padding] == IGNORED).all()


@pytest.mark.parametrize("name", [n for n in TASKS if n not in ("lm", "mlm")])
def test_examples_have_every_size_that_fits_and_lie_at_the_beginning_of_rows(name: str) -> None:
    task = made(name, batch_size=300)
    assert isinstance(task, GeneratedTask)
    batch = task.batch(1)
    padding = np.zeros(batch.inputs.shape, bool) if batch.padding is None else batch.padding
    smallest, largest = task.layout.smallest, task.layout.largest(24)
    widths = {task.layout.length(size) for size in range(smallest, largest + 1)}
    assert set((~padding).sum(axis=1).tolist()) == widths
    assert (np.diff(padding.astype(int)) >= 0).all()
    assert (batch.inputs[padding] == PAD).all()
    assert (batch.targets[padding] == IGNORED).all()
    assert ((batch.targets != IGNORED).sum(axis=1) > 0).all()
    for length in (24, 48):
        longer = task.examples_at(length, 5, 0)
        assert longer is not None
        assert longer.inputs.shape == (5, task.layout.length(task.layout.largest(length)))
    targets = batch.targets[batch.targets != IGNORED]
    answers = targets[targets != END]
    shares = [n / len(answers) for n in Counter(answers.tolist()).values()]
    entropy = -math.fsum(p * math.log(p) for p in shares)
    assert task.unigram() == pytest.approx(entropy * len(answers) / len(targets), rel=0.1)
    costs = task.costs()
    assert costs[END] == 0
    likely = np.exp(-costs[OWN:][np.isfinite(costs[OWN:])])
    assert likely.sum() == pytest.approx(1, abs=0.01)


def test_a_key_to_recall_is_bound_once_and_a_passkey_lies_anywhere() -> None:
    random = np.random.default_rng(0)
    recall = AssociativeRecall(pairs=4, keys=5, values=6, seq_len=40, batch_size=1, seed=0)
    for _ in range(30):
        tokens = recall.example(9, random).tokens
        assert len(set(tokens[0:8:2])) == 4
    passkey = Passkey(digits=2, filler=3, seq_len=20, batch_size=1, seed=0)
    marks = set()
    for _ in range(200):
        example = passkey.example(4, random)
        mark = int(np.flatnonzero(example.tokens == OWN + 10)[0])
        assert example.tokens[-2:].tolist() == example.tokens[mark + 1 : mark + 3].tolist()
        marks.add(mark)
    assert marks == {0, 1, 2, 3, 4}


def test_the_order_of_two_nouns_is_asked_and_either_answer_is_as_frequent() -> None:
    task = WordOrder(seq_len=12, batch_size=1, seed=0)
    random, answers = np.random.default_rng(0), Counter[int]()
    for _ in range(200):
        tokens = task.example(7, random).tokens.tolist()
        nouns = [token for token in tokens if OWN <= token < OWN + len(NOUNS)]
        assert len(nouns) == 2
        assert tokens[-2:] == [ASK, FORWARD if nouns[0] < nouns[1] else BACKWARD]
        answers.update(tokens[-1:])
    assert min(answers.values()) > 70
