"""The examples in docstrings hold."""

import doctest
import importlib

import pytest

MODULES = [
    f"ablate.evaluate.{name}"
    for name in (
        "again_text",
        "by_position",
        "extrapolation",
        "protocols",
        "regression",
        "resampling",
        "tolerance",
    )
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_hold(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0
    assert found.failed == 0
