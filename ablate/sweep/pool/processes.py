"""A pool of processes, one a job and some at a time: what ends one of them ends no other."""

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

TICK = 0.1  # seconds without news after which the pool looks at its clocks
LONG_TICK = 1.0  # seconds that count of a longer time between two looks
GRACE = 10.0  # seconds for a process that was asked to stop; then it is killed
KILLED = "killed, as the command was ended"
SERVER_GONE = 255  # the exit code that multiprocessing makes up when its fork server has died
LAST_WORDS = 0.3  # seconds for a process out of time to write down where it is

Target = Callable[[Any, int, Connection], None]


@dataclass(frozen=True)
class Job:
    """Work for one process: what it is given, and how many seconds it may take."""

    name: str
    order: Any
    timeout: float | None = None


class Waking:
    """A clock that stands still while this process is stopped, and so does not look at it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._looked, self._seconds = clock, clock(), 0.0

    def __call__(self) -> float:
        """Seconds, of which a long time between two looks adds no more than LONG_TICK."""
        now = self._clock()
        self._seconds += min(now - self._looked, LONG_TICK)
        self._looked = now
        return self._seconds


class Ear:
    """Hears what becomes of the jobs; each a no-op here."""

    def started(self, job: Job) -> None:
        """A process has it."""

    def heard(self, job: Job, event: Any) -> None:
        """Its process sent something."""

    def ended(self, job: Job, reason: str | None) -> None:
        """Its process is gone; `reason` is None where it came to its own end."""

    def stopping(self) -> None:
        """No job is begun any more, and the running ones are asked to stop."""

    def tick(self) -> None:
        """Several times a second."""


@dataclass
class Seated:
    """A job with the process that does it."""

    job: Job
    process: ForkServerProcess
    pipe: Connection
    used: float = 0.0
    open: bool = True
    reason: str | None = None
    kill_at: float | None = None

    def send(self, number: signal.Signals) -> None:
        """Send a signal; nothing where the process is gone."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid or 0, number)

    def is_stopped(self) -> bool:
        """Whether the process was stopped, as by SIGSTOP, and has not been told to go on."""
        with contextlib.suppress(OSError):  # it is gone, or the system does not tell
            facts = Path(f"/proc/{self.process.pid}/stat").read_text(errors="replace")
            return facts.rpartition(")")[2].split()[0] in ("T", "t")
        return False

    def gone(self) -> bool:
        """Whether the process has ended, and not just the server that would know its exit code."""
        code = self.process.exitcode
        if code != SERVER_GONE:
            return code is not None
        return not self.open or not alive(self.process.pid or 0)


@dataclass
class Pool:
    """Calls target(order, seat, pipe) for each job in a process of its own, `size` at a time.

    `seat` is a number below `size` that no other running job has; what goes into the pipe the
    ear hears. When `stop` becomes true the processes get SIGTERM, and SIGKILL after GRACE seconds;
    an exception here, such as KeyboardInterrupt, kills them at once. Time in which this process or
    that of a job was stopped (Ctrl-Z, a suspended laptop) is not time that a job uses.
    """

    target: Target
    size: int
    ear: Ear
    stop: Callable[[], bool]
    clock: Callable[[], float] = field(default_factory=Waking)
    _looked: float = 0.0
    _seated: dict[int, Seated] = field(default_factory=dict)

    def run(self, jobs: Iterable[Job]) -> None:
        """Do all jobs in order, each asked for when there is a seat for it.

        Returns when none is left or, after a stop, none is running.
        """
        waiting: Iterator[Job] = iter(jobs)
        more, stopping = True, False
        self._looked = self.clock()
        try:
            while more or self._seated:
                if self.stop() and not stopping:
                    more, stopping = False, True
                    self._ask_to_stop()
                for seat in set(range(self.size)) - set(self._seated):
                    job = next(waiting, None) if more else None
                    more = job is not None
                    if job is None:
                        break
                    self._start(job, seat)
                self._hear()
                self._end_the_late()
                self._reap()
                self.ear.tick()
        finally:
            self._kill_all()

    def _start(self, job: Job, seat: int) -> None:
        ours, theirs = multiprocessing.get_context("forkserver").Pipe(duplex=False)
        process = multiprocessing.get_context("forkserver").Process(
            target=self.target, args=(job.order, seat, theirs), name=job.name
        )
        try:
            process.start()
        except (OSError, EOFError) as error:  # the server could not fork, and is gone itself
            ours.close()
            self.ear.ended(job, f"no process could be started for it: {error}")
            return
        finally:
            theirs.close()
        self._seated[seat] = Seated(job, process, ours)
        self.ear.started(job)

    def _hear(self) -> None:
        pipes = {seated.pipe: seated for seated in self._seated.values() if seated.open}
        ends = [seated.process.sentinel for seated in self._seated.values()]
        if self._seated:
            for ready in connection.wait([*pipes, *ends], TICK):
                if isinstance(ready, Connection):
                    self._drain(pipes[ready])

    def _drain(self, seated: Seated) -> None:
        try:
            while seated.open and seated.pipe.poll():
                self.ear.heard(seated.job, seated.pipe.recv())
        except (OSError, EOFError):
            seated.open = False

    def _end_the_late(self) -> None:
        now = self.clock()
        passed, self._looked = now - self._looked, now
        for seated in self._seated.values():
            limit = seated.job.timeout
            if limit is not None and not seated.is_stopped():
                seated.used += passed
            if limit is not None and seated.reason is None and seated.used >= limit:
                seated.reason = f"no end within run.timeout={limit:g} s"
                seated.kill_at = now + LAST_WORDS
                seated.send(signal.SIGUSR1)
            elif seated.kill_at is not None and now >= seated.kill_at:
                seated.reason = seated.reason or f"did not stop within {GRACE:g} s"
                seated.send(signal.SIGKILL)

    def _ask_to_stop(self) -> None:
        self.ear.stopping()
        for seated in self._seated.values():
            seated.kill_at = self.clock() + GRACE
            seated.send(signal.SIGTERM)

    def _reap(self) -> None:
        for seat, seated in list(self._seated.items()):
            if not seated.gone():
                continue
            self._drain(seated)
            seated.pipe.close()
            del self._seated[seat]
            self.ear.ended(seated.job, seated.reason or reason_of(seated.process.exitcode))

    def _kill_all(self) -> None:
        for seated in self._seated.values():
            seated.send(signal.SIGKILL)
        for seated in self._seated.values():
            seated.process.join(GRACE)
            seated.pipe.close()
            self.ear.ended(seated.job, seated.reason or KILLED)
        self._seated.clear()


def reason_of(code: int | None) -> str | None:
    """Why a process with that exit code ended; None where it came to its own end.

    >>> reason_of(-9), reason_of(-11), reason_of(0)
    ('killed by signal 9 (out of memory?)', 'killed by signal 11 (SIGSEGV)', None)
    """
    if code == 0:
        return None
    if code is None or code == SERVER_GONE:
        return "its process ended, and how is not known"
    if code > 0:
        return f"its process ended with exit code {code}"
    names = {signal.SIGKILL.value: "out of memory?"} | {
        number.value: number.name for number in signal.Signals if number != signal.SIGKILL
    }
    return f"killed by signal {-code} ({names.get(-code, 'of no name')})"


def alive(pid: int) -> bool:
    """Whether there is a process of that number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
