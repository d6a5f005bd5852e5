"""Learned or stuck, on the windows that the validation loss is measured on, target by target."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from ablate.data.generated.generated_task import ASK, END, OWN
from ablate.data.generated.strings import Copy
from ablate.data.lm import LanguageModelling
from ablate.data.store import TokenizedCorpus
from ablate.data.tokenizers import Bytes
from ablate.evaluate.exact import exact_match
from ablate.evaluate.learned import frequencies_loss, of_task, of_text
from ablate.evaluate.wording import OTHER_TARGETS, OTHER_TEXT, contexts
from ablate.judge.learning import LearningWord
from ablate.model.shape import Shape
from ablate.record.evaluated import DocumentScores, Extrapolation

VOCABULARY, SEQ_LEN = 11, 16


class Frequencies:
    """Stands in for a model that knows frequencies and `edge` nats of every target more."""

    def __init__(self, costs: np.ndarray, edge: float = 0.0) -> None:
        self.shape = Shape(width=4, depth=1, heads=1, seq_len=SEQ_LEN, vocabulary=len(costs))
        self.embedding = torch.nn.Embedding(len(costs), 4)
        self.position, self.max_length = self, None
        self.costs, self.edge = torch.from_numpy(costs).float(), edge

    def eval(self) -> None: ...

    def train(self) -> None: ...

    def __call__(self, tokens: Tensor) -> Tensor:
        logits = -self.costs.expand(*tokens.shape, -1).clone()
        following = torch.roll(tokens, -1, dims=1)
        return logits + self.edge * torch.nn.functional.one_hot(following, len(self.costs))


def text(documents: int) -> LanguageModelling:
    random = np.random.default_rng(0)
    shares = np.linspace(1, 3, VOCABULARY)
    tokens = random.choice(VOCABULARY, 5000, p=shares / shares.sum()).astype(np.uint8)
    starts = np.arange(0, 5000, 5000 // documents)
    counts = np.bincount(tokens, minlength=VOCABULARY)
    corpus = TokenizedCorpus(
        "made-up", "0" * 64, VOCABULARY, tokens, tokens, starts, starts, counts, Bytes()
    )
    return LanguageModelling(corpus, seq_len=SEQ_LEN, batch_size=16, seed=0)


@pytest.mark.parametrize(("edge", "word"), [(0.0, "stuck"), (1.0, "learned"), (-1.0, "stuck")])
def test_a_model_is_held_against_frequencies_on_its_own_targets(
    edge: float, word: LearningWord
) -> None:
    task: Any = text(40)
    found = of_text(Frequencies(task.costs(), edge), task, batches=16)  # type: ignore[arg-type]
    assert found.word == word
    assert (found.over, found.windows) == ("documents", 256)
    assert found.interval is not None
    assert found.value is not None
    assert found.interval[0] <= found.value <= found.interval[1]
    if edge == 0:
        assert found.value == pytest.approx(0, abs=1e-5)


def test_few_windows_decide_nothing_and_one_document_is_cut_into_blocks() -> None:
    task: Any = text(40)
    model: Any = Frequencies(task.costs(), 1.0)
    assert of_text(model, task, batches=2).word == "undecided"
    task = text(1)
    found = of_text(model, task, batches=16)
    assert (found.over, found.units, found.word) == ("blocks", 16, "learned")


def test_a_loss_that_is_not_finite_has_no_word() -> None:
    task: Any = text(40)
    model: Any = Frequencies(task.costs() * float("nan"))
    assert of_text(model, task, batches=16).word is None


def test_frequencies_are_told_on_the_windows_and_not_on_the_whole_split() -> None:
    task = text(40)
    windows = frequencies_loss(task, 4)
    rows = np.concatenate([batch.targets for batch in task.validation(4)])
    assert windows == pytest.approx(task.costs()[rows].mean())
    assert windows != pytest.approx(task.unigram(), abs=1e-4)
    assert frequencies_loss(task, 400) == pytest.approx(task.unigram(), abs=2e-3)


class Copier(Frequencies):
    """Copies the first `known` symbols right, and has the first one in place of the others."""

    def __init__(self, vocabulary: int, known: int) -> None:
        super().__init__(np.zeros(vocabulary))
        self.known = known

    def __call__(
        self, tokens: Tensor, padding: Tensor | None = None, scored: Tensor | None = None
    ) -> Tensor:
        rows = []
        for row in tokens.tolist():
            ask = row.index(ASK)
            answers = [*([ASK] * ask), *row[:ask], END]
            answers = [a if a == END or a < OWN + self.known else OWN for a in answers]
            rows.append((answers + [END] * len(row))[: len(row)])
        answers = torch.tensor(rows) if scored is None else torch.tensor(rows)[scored][None]
        return 20.0 * torch.nn.functional.one_hot(answers, len(self.costs)).float()


@pytest.mark.parametrize(("known", "word"), [(5, "learned"), (1, "stuck")])
def test_a_generated_task_is_learned_where_whole_answers_are_right(
    known: int, word: LearningWord
) -> None:
    task: Any = Copy(symbols=5, seq_len=SEQ_LEN, batch_size=16, seed=0)
    model: Any = Copier(task.vocabulary, known)
    lengths = exact_match(model, task, multiples=[1], examples=128, batch_tokens=4096)
    found = of_task(model, task, 4, lengths)
    assert (found.word, found.measure, found.over) == (word, "exact match", "examples")
    assert found.guessing == lengths.exact_unigram
    assert found.guessing is not None
    assert found.guessing < 0.01


def at_lengths(first: int) -> Extrapolation:
    scores = DocumentScores("documents", 2, [first, 99, 2], [[2, 2]] * 2, [[1.0, 2.0]] * 2)
    return Extrapolation("fixed-target", 16, [16, 32], [0.5, 0.6], documents=scores)


def test_what_was_measured_after_training_stands_beside_the_same_targets_alone() -> None:
    """`evaluate.lengths=[1,2]` lays other windows: .515 against .525, and nothing had changed."""
    same, other = at_lengths(31), at_lengths(63)
    for measured in (same, other):
        measured.nll = measured.retention = [None, None]
        measured.interval.accuracy_difference = [None, None]
    assert "as trained" in contexts(same, at_lengths(31), True)[0]
    beside_others = contexts(other, at_lengths(31), True)
    assert "as trained" not in beside_others[0]
    assert beside_others[-1] == OTHER_TARGETS
    assert contexts(same, at_lengths(31), False)[-1] == OTHER_TEXT
