"""TensorBoard and its pictures are decoration: without them a run goes on."""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from matplotlib import rc_context

from ablate.record.record import Record
from ablate.run import pictures
from ablate.run.decoration import Decoration
from ablate.run.tensorboard import TensorBoard
from ablate.train.listeners import Listener
from tests.run import made_up_run


class Herald(Listener):
    """Keeps what it is warned of."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)


class Broken(Listener):
    """Fails at one event, and counts those that it hears."""

    def __init__(self, event: str) -> None:
        self.event, self.heard = event, 0

    def _hear(self, event: str) -> None:
        self.heard += 1
        if event == self.event:
            raise ValueError("no ink\nand no paper")

    def start(self, record: Record, resumed_at: int) -> None:
        self._hear("start")

    def step(self, step: int, loss: float) -> None:
        self._hear("step")

    def log(self, line: dict) -> None:
        self._hear("log")

    def validate(self, step: int, loss: float) -> None:
        self._hear("validate")

    def finish(self, record: Record) -> None:
        self._hear("finish")


def whole_run(listener: Listener) -> None:
    listener.start(made_up_run.record(), 0)
    made_up_run.train([listener], 1, 40)
    listener.finish(made_up_run.finished())


@pytest.mark.parametrize("event", ["start", "step", "log", "validate", "finish"])
def test_whatever_fails_is_told_once_and_then_left_alone(event: str) -> None:
    herald, broken, whole = Herald(), Broken(event), Broken("none")
    for listener in (broken, whole):
        whole_run(Decoration("pictures", listener, [herald]))
    assert herald.warnings == ["pictures: ValueError: no ink; the run goes on without it"]
    assert broken.heard == whole.heard if event == "finish" else broken.heard < whole.heard


@pytest.fixture
def _little_room() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("_little_room")
def test_a_disk_that_fills_in_the_event_file(tmp_path: Path) -> None:
    herald = Herald()
    whole_run(Decoration("TensorBoard", TensorBoard(tmp_path), [herald]))
    (told,) = herald.warnings
    assert told == ("TensorBoard: OSError: [Errno 27] File too large; the run goes on without it")


def test_settings_of_the_user_do_not_count() -> None:
    gradients = {"parameters": [1.0, 2.0], "inputs": [3.0, 4.0]}
    with rc_context({"font.size": 30, "axes.facecolor": "red", "figure.autolayout": True}):
        changed = pictures.profile(gradients, 1)
    assert pictures.profile(gradients, 1) == changed
