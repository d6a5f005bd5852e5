"""The same numbers get the same word, from `ablate check` and from the diagnosis of a record."""

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from ablate.check.first_step import activations, gradients, tokens
from ablate.check.first_step import first_loss as check_first_loss
from ablate.check.initial import Depth, FirstLoss
from ablate.judge.diagnosis import diagnose
from ablate.record.parsing import parse
from ablate.record.record import Record
from ablate.train.instruments import slope

UNIFORM = 5.5
BLOCKS = 12


def first(excess: float, spread: float, repeats: float, stream: float, tied: bool) -> FirstLoss:
    return FirstLoss(
        loss=UNIFORM + excess,
        uniform=UNIFORM,
        expected=spread**2 / 2,
        repeats=repeats,
        spread=spread,
        own=8 * spread if tied else 0.0,
        stream=stream,
        tied=tied,
        normed=True,
        width=64,
        tokens=1024,
    )


def depth(**profiles: Any) -> Depth:
    flat: dict[str, Any] = {
        "first": first(0.1, 0.5, 0.03, 1.0, False),
        "parameters": [1.0] * BLOCKS,
        "inputs": [1.0] * BLOCKS,
        "unreached": [],
        "stream": [1.0] * (BLOCKS + 1),
        "changes": [0.1] * BLOCKS,
        "alike": (0.1, 0.2),
        "kept": 0.9,
    }
    return Depth(**flat | profiles)


def record(seen: Depth) -> Record:
    """What the record of a run says that begins so, and learns nothing."""
    stream = seen.stream[1:]
    loss = seen.first

    def profile(values: list[float]) -> dict[str, Any]:
        return {"first": values, "last": values, "slope_first": slope(values)}

    content = {
        "config": {"tied": loss.tied, "lr": 1e-3, "norm": {"final": loss.normed}},
        "loss": {
            "first": loss.loss,
            "uniform": loss.uniform,
            "excess": loss.excess,
            "repeats": loss.repeats,
            "final": 3.0,
            "unigram_train": 3.0,
        },
        "gradients": {"parameters_first": seen.parameters, "inputs_first": seen.inputs},
        "instruments": {
            "logit_scale": {"first": loss.spread},
            "stream_rms": profile(stream),
            "feed_forward_rms": profile(seen.changes),
            "token_cosine": profile([seen.alike[0]] * (BLOCKS - 1) + [seen.alike[1]]),
        },
    }
    return parse(Record, content)[0]


def names(seen: Depth) -> set[str]:
    return {finding.name for finding in diagnose(record(seen))}


def mark(check: Any, seen: Depth) -> str:
    return check(SimpleNamespace(depth=seen)).mark


WORDS = {"ok": set(), "warning": {"high first loss"}, "broken": {"low first loss"}}


def test_a_first_loss_gets_one_word() -> None:
    met = set()
    for excess, spread, repeats, stream, tied in product(
        (-3.0, -0.6, -0.3, -0.05, 0.3, 0.52, 0.6, 0.8, 2.0, 25.0),
        (0.3, 0.6, 0.75, 1.15, 4.0),
        (0.001, 0.03, 0.1, 0.75),
        (0.5, 1.0, 2.0),
        (False, True),
    ):
        seen = depth(first=first(excess, spread, repeats, stream, tied))
        word = mark(check_first_loss, seen)
        assert names(seen) == WORDS[word], (excess, spread, repeats, stream, tied)
        met.add(word)
    assert met == set(WORDS)


def test_what_large_logits_cost_is_no_excuse() -> None:
    """The record said high and the check ok."""
    seen = depth(first=first(0.6, 1.15, 0.03, 1.0, False))
    assert names(seen) == {"high first loss"}
    assert mark(check_first_loss, seen) == "warning"


@pytest.mark.parametrize("embedding", [1e-4, 1.0, 1e4])
def test_gradients_get_one_word(embedding: float) -> None:
    """Whatever the scale of the embeddings does to the first block's input."""
    for parameters, inputs in product((0.2, 0.9, 1.0, 1.6), repeat=2):
        seen = depth(
            parameters=[parameters ** (BLOCKS - block) for block in range(BLOCKS)],
            inputs=[embedding, *(inputs ** (BLOCKS - block) for block in range(1, BLOCKS))],
        )
        said = gradients(SimpleNamespace(depth=seen)).text
        assert ("vanish" in said) == (names(seen) == {"vanishing gradient"}), (parameters, inputs)


def test_growth_gets_one_word() -> None:
    met = set()
    for stream, changes in product((1.0, 1.05, 1.1, 1.2, 1.6), (0.9, 1.0, 1.05, 1.1, 1.6)):
        seen = depth(
            stream=[1.0, *(stream**block for block in range(BLOCKS))],
            changes=[changes**block for block in range(BLOCKS)],
        )
        word = mark(activations, seen)
        assert (word == "warning") == (names(seen) == {"exponential growth"}), (stream, changes)
        met.add(word)
    assert met == {"ok", "warning"}


@pytest.mark.parametrize("cosine", [0.2, 0.95, 0.97, 0.998, 0.9995])
def test_tokens_get_one_word(cosine: float) -> None:
    seen = depth(alike=(0.1, cosine))
    assert (mark(tokens, seen) == "warning") == (names(seen) == {"rank collapse"})
