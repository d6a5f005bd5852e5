"""What is learned: a task makes batches, from windows of a corpus or by drawing examples."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ablate.data.entry import TokenizedCorpus
from ablate.data.store import require

IGNORED = -100
"""The target of a position that is not to be predicted, as torch's cross-entropy has it."""


@dataclass(frozen=True)
class Batch:
    """Token ids and what is to be predicted at each, both int64 [batch, length].

    `padding` is true where no token stands, bool [batch, length]; None where all rows are full.
    """

    inputs: np.ndarray
    targets: np.ndarray
    padding: np.ndarray | None = None


@dataclass(frozen=True)
class BatchSource:
    """What a task's tokens come from; two runs with equal sources learned from the same tokens.

    The numbers of tokens are None where examples are drawn without end.
    """

    name: str
    sha256: str
    vocabulary: int
    tokens_train: int | None = None
    tokens_validation: int | None = None
    texts_validation: int | None = None
    texts_repeated: int | None = None
    share_repeated: float | None = None


class Task(ABC):
    """What a model is trained on: batches of tokens and what is to be predicted.

    A training batch depends on the data seed and the step alone, so that a resumed run sees what
    it would have seen, and arms of one seed see the same data in the same order. A task that
    needs a corpus is constructed with it as the first argument.
    """

    facts: ClassVar[frozenset[str]] = frozenset()
    """What a diagnosis knows the task by. retrieval: answers stand far back in the context."""
    causal: ClassVar[bool]
    needs_corpus: ClassVar[bool]

    def __init__(self, *, seq_len: int, batch_size: int, seed: int) -> None:
        self.seq_len, self.batch_size, self.seed = seq_len, batch_size, seed

    @property
    @abstractmethod
    def vocabulary(self) -> int:
        """Number of tokens that a model must be able to read and predict."""

    @property
    @abstractmethod
    def source(self) -> BatchSource:
        """What the tokens come from."""

    @property
    def uniform(self) -> float:
        """ln(vocabulary): the loss of a uniform guess, in nats."""
        return float(np.log(self.vocabulary))

    @abstractmethod
    def unigram(self) -> float:
        """Loss on validation targets of a model that knows only training frequencies, in nats."""

    @abstractmethod
    def unigram_train(self) -> float:
        """The same on training targets, which training curves are compared with, in nats."""

    @abstractmethod
    def batch(self, step: int) -> Batch:
        """The training batch of optimiser step `step`, from 1, of [batch_size, seq_len]."""

    @abstractmethod
    def validation(self, batches: int) -> Iterator[Batch]:
        """The same held-out batches for every run, up to `batches` of them."""


class CorpusTask(Task):
    """Windows of a corpus, some or all of whose tokens are to be predicted.

    Raises UserError where a split has fewer than seq_len + 1 tokens.
    """

    needs_corpus = True

    def __init__(
        self, corpus: TokenizedCorpus, *, seq_len: int, batch_size: int, seed: int
    ) -> None:
        super().__init__(seq_len=seq_len, batch_size=batch_size, seed=seed)
        require(
            corpus,
            tokens_train=seq_len + 1,
            tokens_validation=seq_len + 1,
            why=f"one window of seq_len={seq_len} and its last target",
        )
        self.corpus = corpus

    @abstractmethod
    def view(self, rows: np.ndarray, last: int, random: np.random.Generator) -> Batch:
        """Inputs and targets, [rows, length], from rows of length + 1 tokens.

        Only the `last` positions need targets; callers score no others.
        """

    def whole(self, rows: np.ndarray, random: np.random.Generator) -> Batch:
        """A batch for training or validation from rows of seq_len + 1 tokens."""
        return self.view(rows, self.seq_len, random)

    @property
    def vocabulary(self) -> int:
        """Number of tokens that a model must be able to read and predict."""
        return self.corpus.vocabulary

    @property
    def source(self) -> BatchSource:
        """The corpus."""
        corpus = self.corpus
        sizes = len(corpus.train), len(corpus.validation)
        repeated = corpus.repeated
        again = (repeated.texts, repeated.repeated, repeated.share) if repeated else ()
        return BatchSource(corpus.name, corpus.sha256, corpus.vocabulary, *sizes, *again)

    def costs(self) -> np.ndarray:
        """What each token costs a model that knows only training frequencies, in nats.

        Frequencies are smoothed by one count a token, so that a token unseen in training costs a
        finite loss.
        """
        train = self.corpus.counts + 1.0
        return -np.log(train / train.sum())

    def unigram(self) -> float:
        """Cross-entropy of the validation tokens under the training frequencies, in nats."""
        costs = self.costs()
        validation = np.zeros(len(costs))
        for start in range(0, len(self.corpus.validation), 1 << 24):
            chunk = self.corpus.validation[start : start + (1 << 24)]
            validation += np.bincount(chunk, minlength=len(costs))
        return float((validation * costs).sum() / validation.sum())

    def unigram_train(self) -> float:
        """Entropy of the training frequencies, in nats, which training curves are compared with.

        It is not `unigram`, since training and validation text differ.
        """
        shares = self.corpus.counts[self.corpus.counts > 0] / self.corpus.counts.sum()
        return float(-(shares * np.log(shares)).sum())

    def batch(self, step: int) -> Batch:
        """The training batch of optimiser step `step`, from 1: windows at random places."""
        random = np.random.default_rng((self.seed, step))
        tokens = self.corpus.train
        starts = random.integers(0, len(tokens) - self.seq_len, size=self.batch_size)
        return self.whole(cut(tokens, starts, self.seq_len + 1), random)

    def validation_starts(self, batches: int) -> np.ndarray:
        """Where the windows of `validation` begin in the held-out tokens, in order."""
        room = (len(self.corpus.validation) - 1) // self.seq_len
        count = min(batches * self.batch_size, room)
        return np.arange(count) * room // count * self.seq_len

    def validation(self, batches: int) -> Iterator[Batch]:
        """The same evenly spaced validation windows for every run, up to `batches` batches."""
        tokens, starts = self.corpus.validation, self.validation_starts(batches)
        random = np.random.default_rng(0)
        for first in range(0, len(starts), self.batch_size):
            rows = cut(tokens, starts[first : first + self.batch_size], self.seq_len + 1)
            yield self.whole(rows, random)


def cut(tokens: np.ndarray, starts: np.ndarray, length: int) -> np.ndarray:
    """Windows of `length` tokens from `starts`, int64 [starts, length]."""
    return np.stack([tokens[s : s + length] for s in starts]).astype(np.int64)
