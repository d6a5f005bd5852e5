"""Signals to a command that is at work."""

import os
import signal
from collections.abc import Iterator

import pytest

from ablate.run.stop import Stop


@pytest.fixture(autouse=True)
def _handlers_as_before() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
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


def test_a_terminal_that_closes_says_so_more_than_once() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with Stop("") as stop:
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGHUP)
        assert stop()


def test_under_nohup_it_does_not_matter() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Stop("") as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not stop()
