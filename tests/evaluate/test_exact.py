"""The exact-match protocol: who knows the answers gets 1, who guesses gets what guessing gets."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from ablate.data.generated.arithmetic import Addition, Parity
from ablate.data.generated.generated_task import ASK, END, OWN, GeneratedTask
from ablate.data.generated.recall import Passkey
from ablate.data.generated.strings import Copy, Sort
from ablate.evaluate.exact import counted, exact_match
from ablate.judge.at_length import kept
from ablate.judge.keeping import Measure
from ablate.model.shape import Shape
from ablate.record.evaluated import Extrapolation

SIZES = {"seq_len": 16, "batch_size": 4, "seed": 0}
LENGTHS = [0.5, 1, 2, 4]


class Speaker:
    """Stands in for a model: what it says after each token of a row is up to `say`."""

    def __init__(
        self, task: GeneratedTask, say: Callable[[list[int]], list[int]], limit: int | None = None
    ) -> None:
        self.shape = Shape(width=4, depth=1, heads=1, seq_len=16, vocabulary=task.vocabulary)
        self.say, self.max_length = say, limit
        self.position = self
        self.embedding = torch.nn.Embedding(task.vocabulary, 4)
        self.seen: list[tuple[int, int]] = []

    def eval(self) -> None: ...

    def train(self) -> None: ...

    def __call__(self, tokens: Tensor, scored: Tensor | None = None) -> Tensor:
        self.seen.append((tokens.shape[0], tokens.shape[1]))
        answers = torch.tensor([self.say(row) for row in tokens.tolist()])
        answers = answers if scored is None else answers[scored][None]
        return 100.0 * torch.nn.functional.one_hot(answers, self.shape.vocabulary).float()


def measure(model: Any, task: GeneratedTask, **more: Any) -> Extrapolation:
    settings = {"multiples": LENGTHS, "examples": 20, "batch_tokens": 64, **more}
    return exact_match(model, task, **settings)


def copying(row: list[int], end: int = END) -> list[int]:
    """What to say of a row of `copy` after each of its tokens."""
    ask = row.index(ASK)
    answers = [*([ASK] * ask), *row[:ask], end]
    return answers[: len(row)]


def slipping(row: list[int]) -> list[int]:
    """The same, with a mistake after every symbol OWN of the answer: a rule on what was read."""
    ask = row.index(ASK)
    return [
        OWN + (answer - OWN + 1) % 5
        if place > ask and row[place] == OWN and answer != END
        else answer
        for place, answer in enumerate(copying(row))
    ]


COPY = Copy(symbols=5, **SIZES)


def test_an_oracle_matches_everything_at_every_length() -> None:
    measured = measure(Speaker(COPY, copying), COPY)
    assert measured.protocol == "exact-match"
    assert measured.train_length == 16
    assert measured.lengths == [8, 16, 32, 64]
    assert measured.accuracy == measured.exact == [1.0] * 4
    assert measured.retention == [1.0] * 4
    assert measured.targets == 20 * 7
    assert measured.nll == pytest.approx([0.0] * 4, abs=1e-6)


def test_the_end_token_does_not_count() -> None:
    measured = measure(Speaker(COPY, lambda row: copying(row, end=OWN)), COPY)
    assert measured.accuracy == measured.exact == [1.0] * 4
    batch = COPY.examples_at(16, 3, 0)
    assert batch is not None
    assert (batch.targets == END).sum() == 3
    assert counted(batch).sum() == 3 * 7


def test_a_constant_guess_gets_the_share_of_its_token_and_matches_nothing_long() -> None:
    task = Sort(symbols=2, **SIZES)
    measured = measure(Speaker(task, lambda row: [OWN] * len(row)), task, examples=400)
    assert measured.accuracy == pytest.approx([0.5] * 4, abs=0.04)
    # n symbols that are all the first one of two: 2^-n, n = 3, 7, 15, 31
    assert measured.exact == pytest.approx([2.0**-3, 2.0**-7, 0.0, 0.0], abs=0.04)
    assert measured.accuracy_unigram == pytest.approx(0.5, abs=0.02)


def test_one_answer_token_is_the_whole_answer() -> None:
    task = Parity(**SIZES)
    measured = measure(Speaker(task, lambda row: [OWN] * len(row)), task, examples=200)
    assert measured.accuracy == measured.exact
    batch = task.examples_at(16, 200, 0)
    assert batch is not None
    assert measured.accuracy[1] == (batch.targets[:, -1] == OWN).mean()


def test_one_wrong_token_spoils_the_match_and_little_of_the_accuracy() -> None:
    def but_the_first(row: list[int]) -> list[int]:
        return [END if place == row.index(ASK) else s for place, s in enumerate(copying(row))]

    measured = measure(Speaker(COPY, but_the_first), COPY)
    assert measured.exact == [0.0] * 4
    assert measured.accuracy == pytest.approx([1 - 1 / n for n in (3, 7, 15, 31)])


def test_matches_are_those_of_free_greedy_decoding() -> None:
    model = Speaker(COPY, slipping)
    measured = measure(model, COPY, examples=200)
    for length, exact in zip(measured.lengths, measured.exact, strict=True):
        batch = COPY.examples_at(length, 200, 0)
        assert batch is not None
        matched = []
        for row in batch.inputs.tolist():
            question = row[: row.index(ASK) + 1]
            text = list(question)
            for _ in question[:-1]:
                text.append(slipping(text)[-1])
            matched.append(text[len(question) :] == question[:-1])
        assert exact == np.mean(matched)
    assert 0 < measured.exact[0] < 1


def test_past_the_limit_and_below_the_shortest_example_there_is_null() -> None:
    model = Speaker(COPY, copying, limit=16)
    measured = measure(model, COPY)
    assert measured.lengths == [8, 16, 32, 64]
    for key in ("accuracy", "exact", "retention"):
        assert vars(measured)[key] == [1.0, 1.0, None, None]
    assert measured.nll[2:] == [None, None]
    assert max(length for _, length in model.seen) <= 16
    task = Passkey(digits=5, filler=2, **SIZES)  # needs 11 tokens
    short = measure(Speaker(task, lambda row: [OWN] * len(row)), task)
    assert [value is None for value in short.exact] == [True, False, False, False]
    assert short.accuracy[1] == pytest.approx(0.1, abs=0.1)


def test_a_diverged_model_gives_null_and_no_error() -> None:
    class Broken(Speaker):
        def __call__(self, tokens: Tensor, scored: Tensor | None = None) -> Tensor:
            return super().__call__(tokens, scored) * float("nan")

    measured = measure(Broken(COPY, copying), COPY)
    assert measured.accuracy == measured.exact == measured.nll == [None] * 4
    assert measured.retention == [None] * 4
    assert measured.interval.accuracy == [None] * 4


def test_intervals_are_those_of_shares_of_independent_examples() -> None:
    """Against the normal interval: 1.96 standard errors to either side."""
    measured = measure(Speaker(COPY, slipping), COPY, examples=300)
    interval, share = measured.interval, measured.exact[0]
    error = np.sqrt(share * (1 - share) / 300)
    assert interval.exact[0] == pytest.approx(
        [share - 1.96 * error, share + 1.96 * error], abs=error / 3
    )
    other = measured.exact[1]
    error = np.hypot(error, np.sqrt(other * (1 - other) / 300))
    middle = share - other
    assert interval.exact_difference[0] == pytest.approx(
        [middle - 1.96 * error, middle + 1.96 * error], abs=error / 3
    )
    assert interval.exact_difference[1] == [0.0, 0.0]
    low, high = interval.accuracy[2]
    assert low < measured.accuracy[2] < high


def told(measured: Extrapolation, measure: Measure) -> list[str]:
    """The words beyond the train length."""
    past = [c for c in measured.lengths if c > (measured.train_length or 0)]
    return [kept([measured], measure, context).word for context in past]


def test_who_is_as_good_at_every_length_keeps_and_who_gets_worse_loses() -> None:
    measured = measure(Speaker(COPY, copying), COPY, examples=400)
    assert told(measured, "exact") == ["keeps", "keeps"]
    measured = measure(Speaker(COPY, slipping, limit=32), COPY, examples=400)
    assert told(measured, "exact") == ["loses", "undefined"]
    assert measured.interval.exact[3] is None
    assert told(measure(Speaker(COPY, copying), COPY, examples=40), "exact") == ["undecided"] * 2


def test_who_matches_nothing_is_not_said_to_keep_it() -> None:
    """Answers are right but for the first token: tokens beat guessing at L, examples do not."""

    def but_the_first(row: list[int]) -> list[int]:
        return [END if place == row.index(ASK) else s for place, s in enumerate(copying(row))]

    measured = measure(Speaker(COPY, but_the_first), COPY, examples=400)
    assert told(measured, "exact") == ["floor", "floor"]
    assert told(measured, "accuracy") == ["gains", "gains"]  # one token of more is wrong
    constant = measure(Speaker(COPY, lambda row: [OWN] * len(row)), COPY, examples=400)
    assert "keeps" not in told(constant, "accuracy")


def test_memory_is_bounded_and_the_caller_can_stop_it() -> None:
    model, task = Speaker(COPY, copying), Addition(least_first=True, **SIZES)
    measure(model, COPY, batch_tokens=50)
    assert all(rows == 1 or rows * length <= 50 for rows, length in model.seen)
    assert sum(rows for rows, length in model.seen if length == 63) == 20

    def stop(doing: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(Speaker(task, lambda row: row), task, check=stop)
