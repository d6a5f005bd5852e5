"""Batches that follow from seed and step, and targets that stand where they should."""

import numpy as np
import pytest

from ablate.data.entry import TokenizedCorpus
from ablate.data.lm import LanguageModelling
from ablate.data.mlm import MaskedLanguageModelling
from ablate.data.tasks import IGNORED, Task
from ablate.data.tokenizers import Bytes
from ablate.errors import UserError

KINDS = [LanguageModelling, MaskedLanguageModelling]


def corpus(length: int = 1000, vocabulary: int = 50) -> TokenizedCorpus:
    train = np.random.default_rng(1).integers(1, vocabulary, length).astype(np.uint8)
    validation = np.arange(length, dtype=np.uint16)[: length // 2] % vocabulary
    counts = np.bincount(train, minlength=vocabulary)
    starts = np.zeros(1, dtype=np.int64)
    return TokenizedCorpus(
        "made-up", "0" * 64, vocabulary, train, validation, starts, starts, counts, Bytes()
    )


def make(kind: type[Task], seed: int = 0, length: int = 1000) -> Task:
    return kind(corpus(length), seq_len=20, batch_size=6, seed=seed)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_follows_from_seed_and_step_alone(kind: type[Task]) -> None:
    first, again, other = make(kind), make(kind), make(kind, seed=1)
    again.batch(1)
    for step in (7, 3):
        a, b, c = first.batch(step), again.batch(step), other.batch(step)
        assert (a.inputs == b.inputs).all()
        assert (a.targets == b.targets).all()
        assert (a.inputs != c.inputs).any()
    assert (first.batch(1).inputs != first.batch(2).inputs).any()


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_and_range(kind: type[Task]) -> None:
    task = make(kind)
    batch = task.batch(1)
    assert batch.inputs.shape == batch.targets.shape == (6, 20)
    assert batch.inputs.dtype == batch.targets.dtype == np.int64
    assert batch.inputs.max() < task.vocabulary
    assert task.uniform == pytest.approx(np.log(task.vocabulary))


def test_the_target_of_language_modelling_is_the_next_token() -> None:
    batch = make(LanguageModelling).batch(1)
    assert (batch.targets[:, :-1] == batch.inputs[:, 1:]).all()


def test_every_stretch_of_the_corpus_can_be_drawn_to_its_last_token() -> None:
    task = make(LanguageModelling, length=50)
    drawn = np.concatenate([task.batch(s).targets[:, -1] for s in range(1, 300)])
    train = task.corpus.train
    assert set(drawn.tolist()) == set(train[20:].tolist())


def test_masking_hides_its_share_and_nothing_else() -> None:
    task = make(MaskedLanguageModelling)
    batches = [task.batch(s) for s in range(1, 200)]
    targets = np.concatenate([b.targets for b in batches])
    inputs = np.concatenate([b.inputs for b in batches])
    scored = targets != IGNORED
    assert (scored.sum(axis=1) == 3).all()
    masked = inputs == task.vocabulary - 1
    assert not (masked & ~scored).any()
    assert masked[scored].mean() == pytest.approx(0.8, abs=0.03)
    unchanged = (inputs == targets)[scored].mean()
    assert unchanged == pytest.approx(0.1 + 0.1 / 50, abs=0.02)


def test_padded_rows_end_at_unequal_lengths_and_are_scored_where_they_are_real() -> None:
    task = MaskedLanguageModelling(corpus(), seq_len=20, batch_size=6, seed=0, padding=0.5)
    batches = [*(task.batch(step) for step in range(1, 100)), *task.validation(3)]
    padding = np.concatenate([b.padding for b in batches if b.padding is not None])
    inputs = np.concatenate([b.inputs for b in batches])
    scored = np.concatenate([b.targets for b in batches]) != IGNORED
    lengths = (~padding).sum(axis=1)
    assert set(lengths) == set(range(10, 21))
    assert (np.diff(padding.astype(int), axis=1) >= 0).all()
    assert (inputs[padding] == task.vocabulary - 1).all()
    assert inputs[~padding].max() == task.vocabulary - 2
    assert not (scored & padding).any()
    assert (scored.sum(axis=1) == np.floor(0.15 * lengths + 0.5)).all()
    assert make(MaskedLanguageModelling).batch(1).padding is None
    assert task.vocabulary == make(MaskedLanguageModelling).vocabulary + 1


@pytest.mark.parametrize("kind", KINDS)
def test_validation_is_the_same_for_every_seed_and_never_overlaps(kind: type[Task]) -> None:
    one, two = list(make(kind).validation(3)), list(make(kind, seed=5).validation(3))
    assert [b.inputs.tolist() for b in one] == [b.inputs.tolist() for b in two]
    assert sum(len(b.inputs) for b in one) == 18
    starts = np.concatenate([b.inputs[:, 0] for b in make(LanguageModelling).validation(99)])
    assert len(starts) == (500 - 1) // 20


def test_the_unigram_loss_is_a_cross_entropy_of_validation_under_training_counts() -> None:
    task = make(LanguageModelling)
    shares = (task.corpus.counts + 1) / (task.corpus.counts + 1).sum()
    by_hand = -np.log(shares[task.corpus.validation]).mean()
    assert task.unigram() == pytest.approx(by_hand)


def test_a_training_curve_is_held_against_the_entropy_of_the_training_text() -> None:
    task = make(LanguageModelling)
    shares = task.corpus.counts / task.corpus.counts.sum()
    by_hand = -np.log(shares[task.corpus.train]).mean()
    assert task.unigram_train() == pytest.approx(by_hand)
    assert task.unigram_train() != pytest.approx(task.unigram(), abs=1e-3)


def test_too_small_a_corpus_and_an_impossible_share_are_refused() -> None:
    with pytest.raises(UserError, match=r"20 training tokens.*at least 21"):
        make(LanguageModelling, length=20)
    with pytest.raises(UserError, match="share=2"):
        MaskedLanguageModelling(corpus(), seq_len=20, batch_size=1, seed=0, share=2.0)
    with pytest.raises(UserError, match="padding=1"):
        MaskedLanguageModelling(corpus(), seq_len=20, batch_size=1, seed=0, padding=1.0)
