"""The examples in the docstrings hold."""

import doctest
import importlib
import pkgutil

import pytest

import ablate.sweep

NAMES = sorted(module.name for module in pkgutil.iter_modules(ablate.sweep.__path__))


@pytest.mark.parametrize("name", NAMES)
def test_examples_hold(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"ablate.sweep.{name}")).failed == 0
