"""The examples in the docstrings of the report, the labels and the record are true."""

import doctest
import importlib
import pkgutil

import pytest

import ablate.report

MODULES = [
    "ablate.labels",
    "ablate.profile",
    "ablate.record",
    *(module.name for module in pkgutil.walk_packages(ablate.report.__path__, "ablate.report.")),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
