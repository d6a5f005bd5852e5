"""Exceptions in words."""

import doctest

from ablate import errors


def test_examples_hold() -> None:
    assert doctest.testmod(errors) == (0, 1)
