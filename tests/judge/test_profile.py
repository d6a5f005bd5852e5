"""The rules of the stack, at their edges."""

import math

import pytest

from ablate.judge.profile import collapsed, gradient_flow, grows_exponentially, inner, vanished


def test_the_scale_of_the_embeddings_is_no_matter_of_the_depth() -> None:
    assert gradient_flow([1.0] * 4, [1e-9, 1.0, 1.0, 1.0]) is None
    assert gradient_flow([1.0] * 4, [1e9, 1.0, 1.0, 1.0]) is None
    assert gradient_flow([1.0] * 4, [1.0, 1e-3, 1.0, 1.0]) == "vanishing"
    assert gradient_flow([1e-3, 1.0], [1.0, 1.0]) == "vanishing"
    assert gradient_flow([1e3, 1.0], [1.0, 1.0]) == "exploding"
    assert inner([2.0]) == [2.0]


@pytest.mark.parametrize("nothing", [[], [None, None], [None, 1.0], [1.0, None]])
def test_norms_that_are_not_known_say_nothing(nothing: list[float | None]) -> None:
    assert gradient_flow(nothing, nothing) is None
    assert vanished(nothing) is None


def test_a_stack_that_no_gradient_reaches_vanishes_and_one_that_it_leaves_explodes() -> None:
    assert gradient_flow([0.0, 0.0], [1.0, 1.0]) == "vanishing"
    assert gradient_flow([1.0, 0.0], [1.0, 1.0]) == "exploding"


def test_a_growth_is_that_of_the_whole_stack() -> None:
    """A factor of 1.09 a block is nothing over 6 blocks and sevenfold over 24."""
    assert grows_exponentially(0.085, 0.1, 24)
    assert not grows_exponentially(0.085, 0.1, 6)
    assert not grows_exponentially(0.5, 0.5, 3)  # too few to tell a factor from a line
    assert not grows_exponentially(0.0, 1.0, 24)  # norms hold the stream, whatever is added
    assert not grows_exponentially(math.nan, 1.0, 24)


def test_tokens_are_one_where_nothing_tells_them_apart() -> None:
    assert collapsed(0.9995)
    assert not collapsed(0.97)  # norm=hybrid with 24 blocks, which trains
    assert not collapsed(math.nan)
