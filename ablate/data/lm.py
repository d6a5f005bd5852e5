"""Language modelling on a packed stream of tokens."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ablate.data.store import TokenizedCorpus, require


@dataclass(frozen=True)
class Batch:
    """Token ids and what is to be predicted at each, both int64 [batch, length]; −100 is ignored."""

    inputs: np.ndarray
    targets: np.ndarray


class LanguageModelling:
    """Predict the next token of the corpus.

    A training batch depends on the data seed and the step alone, so that a resumed run sees what
    it would have seen, and arms of one seed see the same text in the same order.
    """

    causal = True

    def __init__(
        self, corpus: TokenizedCorpus, *, seq_len: int, batch_size: int, seed: int
    ) -> None:
        require(
            corpus,
            tokens_train=seq_len + 1,
            tokens_validation=seq_len + 1,
            why=f"one window of seq_len={seq_len} and its last target",
        )
        self.corpus, self.seq_len, self.batch_size, self.seed = corpus, seq_len, batch_size, seed

    @property
    def vocabulary(self) -> int:
        """Number of tokens that a model must be able to predict."""
        return self.corpus.vocabulary

    @property
    def uniform(self) -> float:
        """ln(vocabulary): the loss of a uniform guess, in nats."""
        return float(np.log(self.vocabulary))

    def unigram(self) -> float:
        """Cross-entropy of the validation tokens under the training frequencies, in nats.

        Frequencies are smoothed by one count a token, so that a token unseen in training costs a
        finite loss.
        """
        train = self.corpus.counts + 1.0
        validation = np.zeros(self.vocabulary)
        for start in range(0, len(self.corpus.validation), 1 << 24):
            chunk = self.corpus.validation[start : start + (1 << 24)]
            validation += np.bincount(chunk, minlength=self.vocabulary)
        return float(-(validation * np.log(train / train.sum())).sum() / validation.sum())

    def batch(self, step: int) -> Batch:
        """The training batch of optimiser step `step`, from 1: windows at random places."""
        random = np.random.default_rng((self.seed, step))
        starts = random.integers(0, len(self.corpus.train) - self.seq_len, size=self.batch_size)
        return self._cut(self.corpus.train, starts)

    def validation(self, batches: int) -> Iterator[Batch]:
        """The same evenly spaced validation windows for every run, up to `batches` batches."""
        tokens = self.corpus.validation
        room = (len(tokens) - 1) // self.seq_len
        count = min(batches * self.batch_size, room)
        starts = np.arange(count) * room // count * self.seq_len
        for first in range(0, count, self.batch_size):
            yield self._cut(tokens, starts[first : first + self.batch_size])

    def _cut(self, tokens: np.ndarray, starts: np.ndarray) -> Batch:
        rows = np.stack([tokens[s : s + self.seq_len + 1] for s in starts]).astype(np.int64)
        return Batch(rows[:, :-1], rows[:, 1:])
