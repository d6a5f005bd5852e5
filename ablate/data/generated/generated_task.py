"""What all generated tasks share: examples laid out in batches, frequencies and a fingerprint."""

import hashlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ablate.data.tasks import IGNORED, Batch, BatchSource, Task
from ablate.errors import UserError

PAD, END, ASK = 0, 1, 2
"""Tokens of every generated task: PAD fills a row up, END ends an answer, ASK asks for it."""
OWN = 3
"""The first of the tokens that belong to one task."""

TRAINING, VALIDATION, EXAMPLES, SAMPLE = 1, 2, 3, 4
"""The first word of a generator's seed, so that no two purposes draw the same numbers."""
SAMPLED = 2048
"""Examples of the sample from which answer frequencies are counted."""
FINGERPRINTED = 32
"""Examples that go into the fingerprint, of the smallest sizes."""


@dataclass(frozen=True)
class Example:
    """Tokens, int64 [n + 1], and which of them are answers, to be predicted, bool [n + 1]."""

    tokens: np.ndarray
    answers: np.ndarray


@dataclass(frozen=True)
class ExampleLayout:
    """An example of size s has `fixed + each · s` input tokens; s is at least `smallest`.

    `longer` names the option, if there is one, that makes the smallest example longer.

    >>> ExampleLayout(fixed=1, each=2, smallest=1).largest(64)
    31
    """

    fixed: int
    each: int
    smallest: int
    longer: str = ""

    def length(self, size: int) -> int:
        """Input tokens of an example of size `size`."""
        return self.fixed + self.each * size

    def largest(self, room: int) -> int:
        """The largest size whose input has at most `room` tokens; below `smallest`: none fits."""
        return (room - self.fixed) // self.each


class GeneratedTask(Task):
    """Examples drawn from a seed, in a vocabulary of their own, for a causal decoder.

    Only answer tokens are targets. In training, sizes are uniform over all that fit into L tokens;
    rows are padded at their end, where a causal model's answers cannot look. An answer whose length
    varies ends with an end token, which is trained and does not count for any accuracy.

    A new task is a class with `name` and `example` and a YAML that names it; `options` are those
    of its constructor, `words` the number of its own tokens.
    """

    causal = True
    needs_corpus = False
    name: ClassVar[str]

    def __init__(
        self,
        *,
        layout: ExampleLayout,
        words: int,
        options: Mapping[str, int | bool],
        seq_len: int,
        batch_size: int,
        seed: int,
    ) -> None:
        super().__init__(seq_len=seq_len, batch_size=batch_size, seed=seed)
        if layout.largest(seq_len) < layout.smallest:
            less = f" or a smaller task.{layout.longer}" if layout.longer else ""
            raise UserError(
                f"needs at least {layout.length(layout.smallest)} tokens, more than "
                f"seq_len={seq_len}; take a larger seq_len{less}"
            )
        self.layout, self.options, self._words = layout, dict(options), words

    @abstractmethod
    def example(self, size: int, random: np.random.Generator) -> Example:
        """An example of that size, from `layout.smallest` up."""

    @property
    def vocabulary(self) -> int:
        """Pad, end and ask tokens, and those of the task's own."""
        return OWN + self._words

    def batch(self, step: int) -> Batch:
        """The training batch of optimiser step `step`, from 1."""
        return self._mixed(np.random.default_rng((TRAINING, self.seed, step)), self.batch_size)

    def validation(self, batches: int) -> Iterator[Batch]:
        """The same examples for every run, of the training sizes, from draws of their own.

        Of small sizes there are few different examples, so that some occur in training too.
        """
        for number in range(1, batches + 1):
            yield self._mixed(np.random.default_rng((VALIDATION, number)), self.batch_size)

    def examples_at(self, length: int, count: int, seed: int) -> Batch | None:
        """`count` examples of the largest size within `length` tokens; None where none fits."""
        size = self.layout.largest(length)
        if size < self.layout.smallest:
            return None
        random = np.random.default_rng((EXAMPLES, seed, length))
        rows = [self.example(size, random) for _ in range(count)]
        return lay_out(rows, self.layout.length(size))

    def costs(self) -> np.ndarray:
        """What each token costs a guess by the frequencies of answer tokens, in nats.

        End tokens are taken to be known; frequencies are smoothed by one count a token.
        """
        counts = self._answer_counts + 1.0
        counts[END] = 0
        with np.errstate(divide="ignore"):
            costs = -np.log(counts / counts.sum())
        costs[END] = 0
        return costs

    def unigram(self) -> float:
        """Loss of guessing by the frequencies of answer tokens, in nats per target: (1 − e) H.

        e is the share of end tokens among the targets, which are taken to be known and cost
        nothing; H is the entropy of the others.
        """
        counts = self._answer_counts.copy()
        total, counts[END] = counts.sum(), 0
        shares = counts[counts > 0] / counts.sum()
        return float(-(shares * np.log(shares)).sum() * counts.sum() / total)

    def unigram_train(self) -> float:
        """The same: training and validation examples are drawn alike."""
        return self.unigram()

    @cached_property
    def source(self) -> BatchSource:
        """Name with options, and a hash of examples, which changes with the generating code."""
        random, digest = np.random.default_rng(SAMPLE), hashlib.sha256()
        for size in range(self.layout.smallest, self.layout.smallest + FINGERPRINTED):
            example = self.example(size, random)
            digest.update(example.tokens.astype("<i8").tobytes() + example.answers.tobytes())
        options = ",".join(f"{key}={value}" for key, value in self.options.items())
        name = f"{self.name}({options})" if options else self.name
        return BatchSource(name, digest.hexdigest(), self.vocabulary)

    @cached_property
    def _answer_counts(self) -> np.ndarray:
        targets = self._mixed(np.random.default_rng(SAMPLE), SAMPLED).targets
        return np.bincount(targets[targets != IGNORED], minlength=self.vocabulary)

    def _mixed(self, random: np.random.Generator, rows: int) -> Batch:
        """Examples of all sizes that fit into a row."""
        largest = self.layout.largest(self.seq_len)
        sizes = random.integers(self.layout.smallest, largest + 1, rows)
        return lay_out([self.example(int(size), random) for size in sizes], self.seq_len)


def lay_out(rows: Sequence[Example], length: int) -> Batch:
    """Examples as inputs and next-token targets, [rows, length], filled up at the end."""
    inputs = np.full((len(rows), length), PAD, dtype=np.int64)
    targets = np.full((len(rows), length), IGNORED, dtype=np.int64)
    padding = np.ones((len(rows), length), dtype=bool)
    for row, example in enumerate(rows):
        width = len(example.tokens) - 1
        inputs[row, :width] = example.tokens[:-1]
        targets[row, :width] = np.where(example.answers[1:], example.tokens[1:], IGNORED)
        padding[row, :width] = False
    return Batch(inputs, targets, padding if padding.any() else None)


def asked(question: np.ndarray, answer: np.ndarray, *, end: bool) -> Example:
    """Question, ask token, answer and, where `end` is set, an end token."""
    ending = [END] if end else []
    tokens = np.concatenate([question, [ASK], answer, ending]).astype(np.int64)
    return Example(tokens, np.arange(len(tokens)) > len(question))


def at_least(least: int, **options: int) -> None:
    """Raise UserError for an option below `least`."""
    for name, value in options.items():
        if value < least:
            raise UserError(f"{name}={value}: must be {least} or more")
