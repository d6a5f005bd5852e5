"""Signals to a command that is at work."""

import os
import signal
from collections.abc import Iterator

import pytest

from ablate.run.stop import Stop


@pytest.fixture(autouse=True)
def _handlers_as_before() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def test_the_first_asks_the_second_raises_and_later_ones_do_not_disturb() -> None:
    with Stop("") as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGTERM)


def test_after_a_single_one_signals_are_as_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Stop("") as stop:
        os.kill(os.getpid(), signal.SIGINT)
    assert stop()
    assert signal.getsignal(signal.SIGINT) is before
