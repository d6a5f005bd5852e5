"""The examples in the docstrings of the whole package hold."""

import doctest
import importlib
import pkgutil

import pytest

import ablate

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(ablate.__path__, "ablate.")
    if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_hold(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
