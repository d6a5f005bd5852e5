"""The fixed-target protocol: the same targets at every context, none twice, none off by one."""

import weakref
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ablate.config.schema import PROTOCOLS
from ablate.data.lm import LanguageModelling
from ablate.data.mlm import MaskedLanguageModelling
from ablate.data.store import TokenizedCorpus
from ablate.data.tasks import CorpusTask
from ablate.data.tokenizers import Bytes
from ablate.errors import UserError
from ablate.evaluate.extrapolation import extrapolate, lay_windows, retention
from ablate.judge.at_length import kept
from ablate.model.shape import Shape
from ablate.record.evaluated import Extrapolation, PositionBuckets, PositionCurve

VOCABULARY = 11


class Teller:
    """Stands in for a model: predicts the token `lag` before each position, for sure."""

    def __init__(
        self,
        lag: int,
        seq_len: int = 16,
        limit: int | None = None,
        vocabulary: int = VOCABULARY,
    ) -> None:
        self.shape = Shape(width=4, depth=1, heads=1, seq_len=seq_len, vocabulary=vocabulary)
        self.lag, self.max_length = lag, limit
        self.position = self
        self.embedding = torch.nn.Embedding(vocabulary, 4)
        self.lengths_seen: list[int] = []

    def eval(self) -> None: ...

    def train(self) -> None: ...

    def __call__(self, tokens: Tensor, scored: Tensor | None = None) -> Tensor:
        self.lengths_seen.append(tokens.shape[1])
        told = torch.roll(tokens, self.lag, dims=1)
        told[:, : self.lag] = 0
        told = told if scored is None else told[scored][None]
        return 100.0 * torch.nn.functional.one_hot(told, self.shape.vocabulary).float()


def stream(tokens: np.ndarray, starts: np.ndarray) -> TokenizedCorpus:
    counts = np.bincount(tokens, minlength=VOCABULARY)
    return TokenizedCorpus(
        "made-up", "0" * 64, VOCABULARY, tokens, tokens, starts, starts, counts, Bytes()
    )


ONE = np.zeros(1, dtype=np.int64)
"""Where documents begin in a text that is one."""


def measure(
    model: Any,
    tokens: np.ndarray,
    kind: type[CorpusTask] = LanguageModelling,
    documents: np.ndarray = ONE,
    **more: Any,
) -> Extrapolation:
    task = kind(stream(tokens, documents), seq_len=16, batch_size=4, seed=0)
    settings = {"multiples": [0.5, 1, 2, 4], "windows": 20, "batch_tokens": 64, **more}
    return extrapolate(model, task, **settings)


PERIODIC = np.tile(np.arange(1, 11, dtype=np.uint8), 60)
"""Token t + 10 equals token t, so the next token stands 9 places before."""


def test_a_model_that_needs_ten_tokens_of_context_is_right_where_it_has_them() -> None:
    found = measure(Teller(lag=9), PERIODIC)
    assert found.lengths == [8, 16, 32, 64]
    # Targets are the last 2 tokens: with 8 inputs the token 9 before is never there.
    assert found.accuracy == [0.0, 1.0, 1.0, 1.0]
    assert found.retention[1:] == [1.0, 1.0, 1.0]


def test_one_off_by_one_would_be_seen() -> None:
    assert measure(Teller(lag=8), PERIODIC).accuracy == [0.0, 0.0, 0.0, 0.0]
    assert measure(Teller(lag=10), PERIODIC).accuracy == [0.0, 0.0, 0.0, 0.0]


def test_a_length_past_the_limit_is_null_and_stays_in_the_list() -> None:
    model = Teller(lag=9, limit=16)
    found = measure(model, PERIODIC)
    assert found.lengths == [8, 16, 32, 64]
    assert found.accuracy == [0.0, 1.0, None, None]
    assert found.nll[2:] == [None, None]
    assert found.retention[2:] == [None, None]
    assert max(model.lengths_seen) == 16


def test_the_unigram_guess_is_the_most_frequent_training_token() -> None:
    tokens = np.zeros(600, dtype=np.uint8)
    tokens[::4] = 3
    found = measure(Teller(lag=1), tokens)
    assert found.accuracy_unigram == pytest.approx(0.75, abs=0.15)


def test_the_curve_by_position_covers_the_longest_window() -> None:
    curve = measure(Teller(lag=9), PERIODIC).curve
    assert curve.position == list(range(2, 65, 2))
    # The first target with a token 9 before it stands at input position 10 (from 1).
    assert curve.accuracy[:4] == [0.0, 0.0, 0.0, 0.0]
    assert curve.accuracy[5:] == [1.0] * 27


def test_the_bucket_table_has_equally_many_targets_in_each_bucket() -> None:
    """Buckets end at the lengths; the first 9 targets lack the token that tells them."""
    found = measure(Teller(lag=9), PERIODIC).buckets
    assert found.from_ == [0, 8, 16, 32]
    assert found.to == [8, 16, 32, 64]
    assert found.targets == 20 * 8
    assert found.accuracy == [0.0, 7 / 8, 1.0, 1.0]
    cut_short = measure(Teller(lag=9, limit=16), PERIODIC).buckets
    assert cut_short.accuracy == [0.0, 7 / 8, None, None]


def test_a_model_that_needs_more_context_than_it_was_trained_with_gains() -> None:
    documents = np.arange(0, 8000, 200)
    tokens = np.tile(np.arange(1, 17, dtype=np.uint8) % 11, 500)
    found = measure(Teller(lag=15), tokens, windows=400, documents=documents)
    assert 0.4 < (found.accuracy[1] or 0) < 0.7
    assert found.interval.over == "documents"
    assert found.interval.accuracy_difference[1] == [0.0, 0.0]
    assert [kept([found], "accuracy", c).word for c in (32, 64)] == ["gains", "gains"]
    for value, bounds in zip(found.nll, found.interval.nll, strict=True):
        assert bounds is not None
        assert bounds[0] <= value <= bounds[1]


def test_few_documents_decide_nothing_however_many_windows_they_have() -> None:
    tokens = np.tile(np.arange(1, 22, dtype=np.uint8) % 11, 400)
    found = measure(Teller(lag=20), tokens, windows=400, documents=np.array([0, 4000]))
    assert found.interval.accuracy == [None] * 4
    assert kept([found], "accuracy", 64).word == "undecided"


def test_sums_by_document_are_those_of_the_numbers() -> None:
    documents = np.arange(0, 8000, 500)
    tokens = np.tile(np.arange(1, 22, dtype=np.uint8) % 11, 400)
    found = measure(Teller(lag=9, limit=32), tokens, windows=100, documents=documents)
    sums = found.documents
    assert sums.correct[3] is sums.nll[3] is None
    for place in range(3):
        counts, right, nll = sums.counts[place], sums.correct[place], sums.nll[place]
        assert sum(right) / sum(counts) == pytest.approx(found.accuracy[place])
        assert sum(nll) / sum(counts) == pytest.approx(found.nll[place], abs=1e-3)
    assert sum(sums.frequent) / sum(sums.counts[1]) == pytest.approx(found.accuracy_unigram)
    assert len(sums.unigram) == len(sums.counts[0]) <= 16


def test_a_diverged_model_gives_null_and_no_error() -> None:
    class Broken(Teller):
        def __call__(self, tokens: Tensor, scored: Tensor | None = None) -> Tensor:
            return super().__call__(tokens, scored) * float("nan")

    found = measure(Broken(lag=9), PERIODIC)
    assert found.accuracy == [None] * 4
    assert found.retention == [None] * 4
    assert found.interval.accuracy == [None] * 4
    assert found.documents.nll == [None] * 4
    assert found.curve == PositionCurve()
    assert found.buckets == PositionBuckets()


def test_one_batch_of_logits_is_alive_at_a_time_and_none_is_larger_than_a_window() -> None:
    alive: list[weakref.ref[Tensor]] = []
    sizes: list[int] = []

    class Watched(Teller):
        def __call__(self, tokens: Tensor, scored: Tensor | None = None) -> Tensor:
            assert torch.is_inference_mode_enabled()
            assert not any(logits() is not None for logits in alive)
            logits = super().__call__(tokens, scored)
            alive.append(weakref.ref(logits))
            sizes.append(tokens.numel())
            return logits

    model = Watched(lag=9)
    measure(model, PERIODIC, batch_tokens=20, protocols=list(PROTOCOLS))
    assert max(model.lengths_seen) == 64
    assert all(
        size <= 20 or size == length for size, length in zip(sizes, model.lengths_seen, strict=True)
    )


def test_the_caller_can_stop_it() -> None:
    def stop(doing: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(Teller(lag=9), PERIODIC, check=stop)


@given(tokens=st.integers(150, 5000), seq_len=st.integers(8, 64), count=st.integers(1, 300))
def test_windows_stay_inside_lie_on_the_grid_and_share_no_target(
    tokens: int, seq_len: int, count: int
) -> None:
    longest = 2 * seq_len
    windows = lay_windows(tokens, seq_len=seq_len, longest=longest, count=count)
    assert 1 <= len(windows.ends) <= count
    assert windows.ends.min() - longest >= 0
    assert windows.ends.max() < tokens
    assert (np.diff(windows.ends) >= windows.width).all()
    assert ((windows.ends - windows.ends[0]) % windows.width == 0).all()


def test_a_short_stream_is_refused_with_its_numbers() -> None:
    lay_windows(34, seq_len=16, longest=32, count=5)
    with pytest.raises(UserError, match=r"33 tokens.*32 tokens need at least 34"):
        lay_windows(33, seq_len=16, longest=32, count=5)


def test_retention_needs_something_learned() -> None:
    assert retention(0.5, 0.5, 0.25) == 1.0
    assert retention(0.25, 0.5, 0.25) == 0.0
    assert retention(0.5, 0.25, 0.25) is None
    assert retention(None, 0.5, 0.25) is None


def test_an_encoder_is_scored_on_hidden_tokens_the_same_for_every_context() -> None:
    """A model that reads the token ten places ahead or behind knows a hidden one."""

    hidden: list[np.ndarray] = []

    class Encoder(Teller):
        def __call__(self, tokens: Tensor, scored: Tensor | None = None) -> Tensor:
            hidden.append(tokens[:, -2:].eq(VOCABULARY).numpy())
            return super().__call__(tokens, scored)

    model = Encoder(lag=10, vocabulary=VOCABULARY + 1)
    found = measure(model, PERIODIC, MaskedLanguageModelling)
    assert found.accuracy[1:] == [1.0, 1.0, 1.0]
    assert found.targets == 20
    assert found.curve == PositionCurve()
    whole = np.concatenate(hidden)
    assert len(whole) == 4 * 20
    assert all((whole[first : first + 20] == whole[:20]).all() for first in (20, 40, 60))
