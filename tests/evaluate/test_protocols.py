"""Non-overlapping and sliding windows: every target once, with the context that is stated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ablate.config.schema import PROTOCOLS as NAMES
from ablate.config.schema import RANGES
from ablate.data.mlm import MaskedLanguageModelling
from ablate.evaluate.protocols import PROTOCOLS, lay_stretches
from tests.evaluate.test_extrapolation import PERIODIC, Teller, measure


@pytest.mark.parametrize("name", sorted(PROTOCOLS))
@given(tokens=st.integers(66, 400), total=st.integers(8, 64), length=st.integers(1, 64))
def test_every_target_of_the_stretches_is_scored_once(
    name: str, tokens: int, total: int, length: int
) -> None:
    starts = lay_stretches(tokens, total, 3)
    times_scored = np.zeros(tokens, int)
    for context, windows in PROTOCOLS[name](starts, total, min(length, total)):
        assert context <= length
        for end in windows.ends:
            assert end - context >= 0
            assert context >= min(windows.width, end)
            times_scored[end - windows.width + 1 : end + 1] += 1
    expected = np.zeros(tokens, int)
    for start in starts:
        expected[start : start + total] = 1
    assert (times_scored == expected).all()


@given(length=st.integers(2, 64))
def test_a_sliding_window_has_more_than_half_its_length_before_every_target(length: int) -> None:
    starts = np.array([200, 400])
    for context, windows in PROTOCOLS["sliding-window"](starts, 64, length):
        assert context == length
        assert context - windows.width + 1 > length / 2


def test_what_each_protocol_makes_of_a_model_that_needs_ten_tokens() -> None:
    """Of c tokens cut side by side the first 9 of each window lack the token that tells."""
    measured = measure(Teller(lag=9), PERIODIC, protocols=NAMES).protocols
    cut, slid = measured["non-overlapping"], measured["sliding-window"]
    assert cut.lengths == slid.lengths == [8, 16, 32, 64]
    assert cut.accuracy == [0.0, 7 / 16, 23 / 32, 55 / 64]
    assert slid.accuracy[0] == 0.0
    # Windows of 16 score targets with 9 to 16 tokens of context: all but the first of 8.
    assert slid.accuracy[1:] == pytest.approx([7 / 8, 1.0, 1.0], abs=0.2)
    assert cut.targets == slid.targets == [64] * 4


def test_only_what_is_asked_for_is_measured_and_undefined_lengths_are_null() -> None:
    measured = measure(Teller(lag=9, limit=16), PERIODIC, protocols=["sliding-window"]).protocols
    assert list(measured) == ["sliding-window"]
    assert measured["sliding-window"].accuracy[2:] == [None, None]
    assert measure(Teller(lag=9), PERIODIC).protocols == {}


def test_an_encoder_is_measured_on_what_is_hidden() -> None:
    encoder = Teller(lag=10, vocabulary=12)
    measured = measure(encoder, PERIODIC, MaskedLanguageModelling, protocols=NAMES).protocols
    # The token ten places before may be hidden too.
    assert min(measured["sliding-window"].accuracy[2:]) > 0.5
    assert all(0 < count < 64 for count in measured["non-overlapping"].targets)


def test_the_config_names_the_protocols_that_there_are() -> None:
    assert set(NAMES) == set(PROTOCOLS)
    allowed, _ = RANGES["evaluate.protocols"]
    assert allowed([])
    assert allowed(list(NAMES))
    assert not allowed(["sliding"])


def test_windows_that_two_protocols_share_are_scored_once() -> None:
    """Windows side by side are every second one of those that advance by half."""
    seen = {}
    for names in (["non-overlapping"], ["sliding-window"], list(NAMES)):
        model = Counter(lag=9)
        seen[len(names), names[0]] = measure(model, PERIODIC, protocols=names), model.tokens
    (cut, _), (slid, alone) = seen[1, "non-overlapping"], seen[1, "sliding-window"]
    both, tokens = seen[2, NAMES[0]]
    assert both.protocols == cut.protocols | slid.protocols
    # Only each stretch's first window of a length has no fellow where text comes before it.
    assert tokens - alone <= 8


class Counter(Teller):
    """Counts the tokens that it reads."""

    tokens = 0

    def __call__(self, tokens: Tensor, scored: Tensor | None = None) -> Tensor:
        self.tokens += tokens.numel()
        return super().__call__(tokens, scored)
