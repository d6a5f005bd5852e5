"""What happens inside a process of the pool: one run, with all that it prints in its run.log."""

import contextlib
import faulthandler
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import connection, parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from ablate.build import pick_device
from ablate.errors import in_a_line
from ablate.judge.labels import progress_label, smoothing_window
from ablate.record import lock, run_files
from ablate.record.record import Record
from ablate.run.decoration import Decoration
from ablate.run.execute import execute
from ablate.run.planned import PlannedRun
from ablate.run.progress import Clock, CurveWatch, Headway
from ablate.run.tensorboard import TensorBoard
from ablate.shell.encoding import SHOWN
from ablate.sweep.pool.processes import GRACE
from ablate.sweep.pool.progress_rows import (
    LONGEST,
    Began,
    Doing,
    HeldElsewhere,
    Stepped,
    Unrecorded,
    Validated,
    Warned,
)
from ablate.train.listeners import Curves, Listener
from ablate.train.loop import Stopped

EVERY = 0.25  # seconds between two reports of a step


@dataclass(frozen=True)
class Assignment:
    """A run for a process, and with how many threads."""

    planned: PlannedRun
    threads: int


def work(assignment: Assignment, seat: int, pipe: Connection) -> None:
    """Do a run; its record says what came of it, and events go into the pipe as long as it lasts.

    SIGTERM stops it after the step that it is at, and so does the end of the parent.
    """
    stop = WorkerStop()
    signal.signal(signal.SIGTERM, stop)
    for number in (signal.SIGINT, signal.SIGHUP):  # they reach the parent, which then says so
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=follow_parent, args=(stop,), daemon=True).start()

    with contextlib.suppress(OSError):  # where memory ends, a run goes and not its parent
        Path("/proc/self/oom_score_adj").write_text("500")

    def send(event: Any) -> None:
        with contextlib.suppress(OSError):  # the parent may be gone
            pipe.send(event)

    planned, directory = assignment.planned, assignment.planned.directory
    sender = Sender(send)
    board = Decoration("TensorBoard", TensorBoard(directory), [sender])
    listeners = [Curves(directory), board, sender]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        print_to(directory / "run.log")
        torch.set_num_threads(assignment.threads)
        take_device(planned.config["device"], seat)
        execute(planned, listeners, stop)
    except lock.Busy as busy:
        send(HeldElsewhere(str(busy)))
    except (Stopped, KeyboardInterrupt):
        pass  # its record says so
    except Exception as error:  # outside of what a record can tell: a full disk, no permission
        send(Unrecorded(in_a_line(error)[:LONGEST]))


class WorkerStop:
    """Whether the run is to stop: set by a signal or by the end of the parent."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self, *signal_and_frame: object) -> bool:
        if signal_and_frame:
            self.asked = True
        return self.asked


def follow_parent(stop: WorkerStop) -> None:
    """Wait for the end of the parent, then stop, and leave where stopping takes too long."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        stop.asked = True
        time.sleep(GRACE)
        os._exit(1)


def print_to(log: Path) -> None:
    """Let all that is printed from here on, also by C code and by a crash, go into a file."""
    with run_files.append(log) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.stdout.reconfigure(encoding="utf-8", errors=SHOWN, line_buffering=True)  # type: ignore[union-attr]
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)  # the pool asks where a run hangs


def take_device(name: str, seat: int) -> None:
    """Where the config leaves open which GPU, take one by the seat."""
    device = pick_device(name)
    if device.type == "cuda" and device.index is None:
        torch.cuda.set_device(seat % torch.cuda.device_count())


class Sender(Listener):
    """Passes events on, steps at most four a second; `send` must not raise.

    The loss of a step is the mean of the last ones: a batch alone ranks runs by its targets.
    """

    _diagnosis: CurveWatch  # from the start of the run on
    _latest: deque[float]

    def __init__(self, send: Callable[[Any], None], clock: Clock = time.monotonic) -> None:
        self._send, self._clock = send, clock
        self._sent = clock()
        self._steps = 0

    def start(self, record: Record, resumed_at: int) -> None:
        self._steps = record.steps or 0
        self._diagnosis = CurveWatch(record, self._clock, progress_label)
        self._latest = deque(maxlen=smoothing_window(self._steps))
        self._send(Began(Headway(record, resumed_at).size, self._steps, resumed_at))

    def step(self, step: int, loss: float) -> None:
        self._diagnosis.step(step, loss)
        self._latest.append(loss)
        now = self._clock()
        if now - self._sent >= EVERY or step == self._steps:
            self._sent = now
            self._send(Stepped(step, fmean(self._latest), self._diagnosis.label))

    def validate(self, step: int, loss: float) -> None:
        self._send(Validated(loss))

    def message(self, text: str) -> None:
        self._send(Doing(text[:LONGEST]))

    def warn(self, text: str) -> None:
        self._send(Warned(text[:LONGEST]))
