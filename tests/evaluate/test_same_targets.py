"""Measured in evaluation mode, on targets that are the same at every length and lie where told."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from ablate.build import Bench
from ablate.data.entry import TokenizedCorpus
from ablate.data.generated.generated_task import END, GeneratedTask
from ablate.data.lm import LanguageModelling
from ablate.data.mlm import MaskedLanguageModelling
from ablate.data.tasks import IGNORED, CorpusTask
from ablate.data.tokenizers import Bytes
from ablate.evaluate import position_probe
from ablate.evaluate.document_sums import documents_of
from ablate.evaluate.exact import exact_match
from ablate.evaluate.extrapolation import lay_windows, window_layout
from ablate.evaluate.learned import measure_learning, of_text
from ablate.evaluate.position_probe import probe_positions, read_states
from ablate.evaluate.protocols import lay_stretches, non_overlapping, sliding_window
from ablate.evaluate.regression import Samples, Splits, ridge, score_best
from ablate.evaluate.shuffle import last_target, measure_shuffle, shuffle
from ablate.evaluate.trained import measure_lengths
from ablate.evaluate.windows import Windows, score_windows
from ablate.model.shape import Shape
from tests.made_up_bench import bench, config, trainer

LENGTHS = (4, 8, 16, 64)


class Recorder:
    """Stands in for a model: keeps what it is shown, and says that all tokens are as likely."""

    def __init__(self, vocabulary: int) -> None:
        self.shape = Shape(width=4, depth=1, heads=1, seq_len=8, vocabulary=vocabulary)
        self.position, self.max_length = self, None
        self.embedding = torch.nn.Embedding(vocabulary, 4)
        self.shown: list[np.ndarray] = []

    def eval(self) -> None: ...

    def train(self) -> None: ...

    def __call__(self, tokens: torch.Tensor, scored: torch.Tensor | None = None) -> torch.Tensor:
        self.shown += list(tokens.numpy())
        places = tokens if scored is None else tokens[scored][None]
        return torch.zeros(*places.shape, self.shape.vocabulary)


def numbered(tokens: int, kind: type[CorpusTask]) -> CorpusTask:
    """A task on a text in which each token occurs once: 0, 1, 2 .."""
    whole, begin = np.arange(tokens), np.zeros(1, np.int64)
    counts = np.ones(tokens, np.int64)
    corpus = TokenizedCorpus("x", "0", tokens, whole, whole, begin, begin, counts, Bytes())
    return kind(corpus, seq_len=8, batch_size=4, seed=0)


def scores_of(task: CorpusTask, layout: Windows, context: int, batch_tokens: int = 64) -> Any:
    recorder = Recorder(task.vocabulary)
    arguments = (recorder, task, layout, context, batch_tokens, lambda doing: None)
    return score_windows(*arguments, keep=layout.width), recorder.shown  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [1, 4])
def test_targets_are_the_same_at_every_length_and_end_where_windows_end(width: int) -> None:
    task, layout = numbered(300, LanguageModelling), Windows(np.array([64, 100, 299]), width)
    for context in LENGTHS:
        scores, shown = scores_of(task, layout, context)
        for end, targets, row in zip(layout.ends, scores.targets, shown, strict=True):
            assert targets.tolist() == list(range(end - width + 1, end + 1))
            assert row.tolist() == list(range(end - context, end))


def test_an_encoder_is_asked_for_the_same_hidden_tokens_at_every_length() -> None:
    task, layout = (
        numbered(300, MaskedLanguageModelling),
        Windows(np.array([64, 68, 100, 204, 299]), 4),
    )
    asked = []
    for context in LENGTHS:
        for batch_tokens in (1, 2 * context, 1000):
            scores, shown = scores_of(task, layout, context, batch_tokens)
            asked.append(scores.targets.tolist())
            for end, targets, row in zip(layout.ends, scores.targets, shown, strict=True):
                whole = np.append(row[:-4], np.where(targets == IGNORED, row[-4:], targets))
                assert whole.tolist() == list(range(end - context + 1, end + 1))
    assert all(targets == asked[0] for targets in asked)
    assert (np.array(asked[0]) != IGNORED).sum(axis=1).tolist() == [1] * 5
    places = {tuple(row) for row in (np.array(asked[0]) != IGNORED).tolist()}
    assert len(places) > 1, "every window hides the same place"


@pytest.mark.parametrize("tokens", [33, 34, 35, 50, 100, 1000])
@pytest.mark.parametrize("count", [1, 2, 7, 10_000])
def test_groups_of_targets_never_overlap_and_reach_from_end_to_end(tokens: int, count: int) -> None:
    layout = lay_windows(tokens, seq_len=16, longest=31, count=count)
    room = (tokens - 31) // 2
    assert layout.width == 2
    assert len(layout.ends) == min(count, room)
    assert layout.ends[0] == 31 + 2 - 1  # its first target has a whole window before it
    assert (np.diff(layout.ends) >= 2).all()
    gaps = [*np.diff(layout.ends), layout.ends[0] + 2 * room - layout.ends[-1]]
    assert np.ptp(gaps) <= 2
    assert layout.ends[-1] < tokens
    lengths, _ = window_layout(tokens + 100, seq_len=16, multiples=[0.01, 2, 0.5], windows=1)
    assert lengths == [2, 8, 16, 32]


@pytest.mark.parametrize("length", [1, 4, 6, 8, 24])
@pytest.mark.parametrize("cut", [non_overlapping, sliding_window])
def test_a_protocol_scores_every_token_of_the_stretches_once(cut: Callable, length: int) -> None:
    starts = lay_stretches(100, 24, 3)
    assert starts.tolist() == [1, 25, 49]
    assert lay_stretches(97, 24, 9).tolist() == [1, 25, 49, 73]
    assert lay_stretches(96, 24, 9).tolist() == [1, 25, 49]
    scored: list[int] = []
    for context, windows in cut(starts, 24, length):
        assert context <= length
        for end in windows.ends.tolist():
            targets = list(range(end - windows.width + 1, end + 1))
            scored += targets
            assert end - context >= 0
            if cut is non_overlapping:
                assert context == windows.width
            else:
                first = context - windows.width + 1  # tokens of context of the first target
                assert first > length / 2 or end == context or length == 1
                assert context == min(length, end)
    assert sorted(scored) == list(range(1, 73))


def shaky(task: str) -> tuple[Bench, dict[str, Any]]:
    """A model that dropout and batch norm make another in training."""
    sizes = {"dropout": 0.5, "batch_size": 8, "seq_len": 16, "norm.qk": True}
    made = config({**sizes, "evaluate.position_probe": True}, norm_layer="batchnorm", task=task)
    return bench(made), made


def quiet(doing: str) -> None: ...


MEASUREMENTS: dict[str, Callable[[Bench, dict[str, Any], Any], Any]] = {
    "validation loss": lambda objects, made, path: trainer(objects, made, path).validate(),
    "lengths": lambda objects, made, path: measure_lengths(objects, made, quiet),
    "learned": lambda objects, made, path: measure_learning(
        objects, 3, measure_lengths(objects, made, quiet), quiet
    ),
    "shuffle": lambda objects, made, path: measure_shuffle(objects.model, objects.task, 3),
    "probe": lambda objects, made, path: read_states(objects.model, objects.task).layers,
}


@pytest.mark.parametrize("task", ["lm", "mlm", "copy"])
@pytest.mark.parametrize("name", MEASUREMENTS)
def test_measuring_is_in_evaluation_mode_and_leaves_the_model_as_it_was(
    name: str, task: str, tmp_path: Any
) -> None:
    objects, made = shaky(task)
    before = {key: value.clone() for key, value in objects.model.state_dict().items()}
    results = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        results.append(MEASUREMENTS[name](objects, made, tmp_path))
    if name == "probe":
        assert all(torch.equal(one, two) for one, two in zip(*results, strict=True))
    else:
        assert results[0] == results[1]
    assert all(torch.equal(before[k], v) for k, v in objects.model.state_dict().items())
    assert all(module.training for module in objects.model.modules())
    # The same in training mode is another number, or the test would show nothing.
    rows = torch.zeros(2, 16, dtype=torch.long)
    assert not torch.equal(objects.model(rows), objects.model(rows))


def test_the_probe_is_told_shuffled_places_as_its_control_and_places_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    objects, _ = shaky("lm")
    states = read_states(objects.model, objects.task)
    assert states is not None
    for sequence in states.sequences.unique():
        mask = states.sequences == sequence
        places, shuffled = states.places[mask], states.shuffled[mask]
        assert places.tolist() == sorted(places.tolist()) == sorted(shuffled.tolist())
    assert not torch.equal(states.places, states.shuffled)
    splits = states.splits(0, states.sequences)
    numbers = [part.y.unique().tolist() for part in (splits.fit, splits.choose, splits.test)]
    assert [len(part) for part in numbers] == [28, 14, 14]
    assert sorted(number for part in numbers for number in part) == list(range(56))
    monkeypatch.setattr(position_probe, "network", ridge)  # which takes less time
    probed = probe_positions(objects.model, objects.task)
    mean = states.places.mean()
    assert probed.mae_of_mean == pytest.approx((states.places - mean).abs().mean().item())


def test_a_setting_is_chosen_on_one_part_and_scored_on_another() -> None:
    zero, y = torch.zeros(2, 1), torch.tensor([0.0, 2.0])
    splits = Splits(Samples(zero, y), Samples(zero, y), Samples(zero, y + 1))
    good, bad = torch.tensor([0.0, 2.0]), torch.tensor([5.0, 5.0])
    fit = score_best(splits, [(bad, y + 1), (good, torch.tensor([1.0, 1.0]))])
    assert (fit.r2, fit.mae) == (-1.0, 1.0)


def test_a_shuffled_encoder_row_keeps_targets_with_their_tokens_and_a_decoder_its_last() -> None:
    objects, _ = shaky("mlm")
    batch = next(iter(objects.task.validation(1)))
    moved = shuffle(batch, np.random.default_rng(0), causal=False)
    pairs = [
        [sorted(zip(*rows, strict=True)) for rows in zip(b.inputs, b.targets, strict=True)]
        for b in (batch, moved)
    ]
    assert pairs[0] == pairs[1]
    assert not np.array_equal(batch.inputs, moved.inputs)
    task = numbered(300, LanguageModelling)
    ordered = last_target(next(iter(task.validation(1))))
    moved = shuffle(ordered, np.random.default_rng(0), causal=True)
    assert np.array_equal(moved.targets, ordered.targets)
    assert np.array_equal(moved.inputs[:, -1:], ordered.inputs[:, -1:])
    assert np.array_equal(np.sort(moved.inputs), ordered.inputs)
    result = measure_shuffle(objects.model, objects.task, 2)
    masks = [b.targets != IGNORED for b in objects.task.validation(2)]
    assert result.targets == sum(mask.sum() for mask in masks)
    assert result.sequences == sum(len(mask) for mask in masks)
    assert result.change == result.loss_shuffled - result.loss


def test_exact_match_is_of_the_examples_of_its_length_and_end_tokens_do_not_count() -> None:
    objects, _ = shaky("copy")
    task = objects.task
    assert isinstance(task, GeneratedTask)
    multiples = [0.5, 1, 2]
    measured = exact_match(objects.model, task, multiples=multiples, examples=9, batch_tokens=40)
    objects.model.eval()
    for place, length in enumerate(measured.lengths):
        batch = task.examples_at(length, 9, 0)
        assert batch is not None
        with torch.no_grad():
            logits = objects.model(torch.from_numpy(batch.inputs)).double()
        costs = -torch.log_softmax(logits, -1).numpy()
        counted = (batch.targets != IGNORED) & (batch.targets != END)
        rows, columns = np.nonzero(counted)
        nats = costs[rows, columns, batch.targets[counted]]
        hits = logits.argmax(-1).numpy()[counted] == batch.targets[counted]
        assert measured.nll[place] == pytest.approx(nats.mean(), rel=1e-5)
        assert measured.accuracy[place] == pytest.approx(hits.mean())
        assert measured.documents.counts[place] == counted.sum(axis=1).tolist()
    assert measured.examples == 9


def test_a_target_at_the_first_token_of_a_document_is_of_that_document() -> None:
    begins = np.array([0, 10, 20])
    assert documents_of(np.array([9, 10, 19, 20]), begins).tolist() == [0, 1, 1, 2]


def test_a_window_counts_for_the_document_that_its_last_target_is_of() -> None:
    task = numbered(8 * 30 + 1, LanguageModelling)
    begins = np.array([0, 4, 8, 21, 33, 64, 100, 130, 131, 170, 200, 203, 208, 229])
    corpus = replace(task.corpus, validation_documents=begins)
    task = LanguageModelling(corpus, seq_len=8, batch_size=4, seed=0)
    made = config({"seq_len": 8})
    objects = replace(bench(made), task=task, model=Recorder(task.vocabulary))
    learned = of_text(objects.model, task, 100)
    by_end, by_start = (
        Counter(np.searchsorted(begins, 8 * np.arange(30) + shift, "right").tolist())
        for shift in (8, 0)
    )
    effective = [30**2 / sum(n * n for n in of.values()) for of in (by_end, by_start)]
    assert effective[0] != pytest.approx(effective[1])
    assert learned.over == ("documents" if effective[0] >= 8 else "blocks")
    assert (learned.units, learned.windows) == (len(by_end), 30)
    assert learned.effective == pytest.approx(effective[0])
    assert learned.value == pytest.approx(math.log(241) - task.unigram(), abs=1e-5)
