"""The pool with jobs that take a fraction of a second and end in every way there is."""

import errno
import multiprocessing
import os
import random
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing import forkserver, process
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest

import ablate
from ablate.shell.surroundings import own_code
from ablate.sweep.pool import processes as pool
from ablate.sweep.pool.launch import warm_up
from ablate.sweep.pool.processes import Ear, Job, Pool, Seated, alive
from tests.sweep.pool import pool_jobs


class Notes(Ear):
    """All that is heard, by job."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.events: dict[str, list[Any]] = {}
        self.reasons: dict[str, str | None] = {}
        self.stops = 0

    def started(self, job: Job) -> None:
        self.began.append(job.name)

    def heard(self, job: Job, event: Any) -> None:
        self.events.setdefault(job.name, []).append(event)

    def ended(self, job: Job, reason: str | None) -> None:
        assert job.name not in self.reasons
        self.reasons[job.name] = reason

    def stopping(self) -> None:
        self.stops += 1


@pytest.fixture(autouse=True, scope="module")
def _own_server() -> Iterator[None]:
    yield
    forkserver._forkserver._stop()


def run(
    words: list[str],
    folder: Path,
    size: int = 2,
    stop: Callable[[Notes], bool] = lambda notes: False,
) -> Notes:
    notes = Notes()
    jobs = [Job(f"{at} {w}", (w, folder)) for at, w in enumerate(words)]
    Pool(pool_jobs.act, size, notes, lambda: stop(notes)).run(jobs)
    return notes


def test_whatever_ends_one_the_others_go_on(tmp_path: Path) -> None:
    words = ["raise", "work", "exit", "os._exit", "kill", "segfault", "work"]
    notes = run(words, tmp_path)
    assert list(notes.reasons.values()).count(None) == 2
    told = {name.split()[1]: reason for name, reason in notes.reasons.items()}
    assert told == {
        "work": None,
        "raise": "its process ended with exit code 1",
        "exit": "its process ended with exit code 3",
        "os._exit": "its process ended with exit code 4",
        "kill": "killed by signal 9 (out of memory?)",
        "segfault": "killed by signal 11 (SIGSEGV)",
    }


def test_as_many_at_a_time_as_asked_for_each_with_a_seat_of_its_own(tmp_path: Path) -> None:
    notes = run(["work"] * 5, tmp_path, size=2)
    assert notes.began == [f"{at} work" for at in range(5)]
    spans = [events[-1][1:] for events in notes.events.values()]
    for began, _ in spans:
        assert sum(start <= began < end for start, end in spans) <= 2
    assert {events[0][1] for events in notes.events.values()} == {0, 1}


def test_a_job_is_asked_for_when_there_is_a_seat(tmp_path: Path) -> None:
    notes, asked_at = Notes(), []

    def jobs() -> Iterator[Job]:
        for at in range(3):
            asked_at.append(len(notes.reasons))
            yield Job(str(at), ("work", tmp_path))

    Pool(pool_jobs.act, 1, notes, lambda: False).run(jobs())
    assert asked_at == [0, 1, 2]


def test_one_that_hangs_is_asked_where_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "LAST_WORDS", 60)
    notes = Notes()
    # An hour passes as soon as the job is where it stays.
    clock = lambda: 3600.0 * ("ready" in str(notes.events))  # noqa: E731
    jobs = [Job("hang", ("hang", tmp_path), timeout=3000), Job("work", ("work", tmp_path))]
    Pool(pool_jobs.act, 2, notes, lambda: False, clock).run(jobs)
    assert notes.reasons == {"hang": "no end within run.timeout=3000 s", "work": None}
    assert (tmp_path / "asked").exists()


def test_time_in_which_the_pool_was_stopped_does_not_count() -> None:
    times = iter([0.0, 0.1, 3600.0, 3600.5])
    clock = pool.Waking(times.__next__)
    assert [clock() for _ in range(3)] == pytest.approx([0.1, 1.1, 1.6])


def test_time_in_which_a_process_was_stopped_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "TICK", 0.02)

    class Stopping(Notes):
        def heard(self, job: Job, event: Any) -> None:
            super().heard(job, event)
            if event == "ready":
                (seated,) = own._seated.values()
                seated.send(signal.SIGSTOP)
                self.stopped, self.until = seated, now[0] + 500

        def tick(self) -> None:
            now[0] += 10.0
            if self.stopped and now[0] == self.until:
                assert self.stopped.reason is None
                self.stopped.send(signal.SIGCONT)

        stopped: Seated | None = None

    now = [0.0]
    notes = Stopping()
    own = Pool(pool_jobs.act, 1, notes, lambda: False, lambda: now[0] if notes.stopped else 0.0)
    own.run([Job("hang", ("hang", tmp_path), timeout=100)])
    assert notes.reasons == {"hang": "no end within run.timeout=100 s"}
    assert now[0] >= 590


def test_one_that_does_not_answer_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "LAST_WORDS", 0)
    job = Job("work", ("stubborn", tmp_path), timeout=0.01)
    notes = Notes()
    Pool(pool_jobs.act, 1, notes, lambda: False).run([job])
    assert notes.reasons == {"work": "no end within run.timeout=0.01 s"}


def test_a_stop_lets_the_running_ones_end_and_begins_no_other(tmp_path: Path) -> None:
    notes = run(
        ["polite", "polite", "work"],
        tmp_path,
        stop=lambda notes: [e[-1] for e in notes.events.values()].count("ready") == 2,
    )
    assert notes.reasons == {"0 polite": None, "1 polite": None}
    assert all("saved" in events for events in notes.events.values())
    assert notes.stops == 1


def test_one_that_does_not_stop_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "GRACE", 0.2)
    notes = run(["stubborn"], tmp_path, stop=lambda notes: "ready" in str(notes.events))
    assert notes.reasons == {"0 stubborn": "did not stop within 0.2 s"}


def test_an_exception_in_the_parent_leaves_no_process_behind(tmp_path: Path) -> None:
    processes: list[int] = []

    class Impatient(Notes):
        def heard(self, job: Job, event: Any) -> None:
            processes.extend(p.process.pid or 0 for p in own._seated.values())
            raise KeyboardInterrupt

    own = Pool(pool_jobs.act, 2, Impatient(), lambda: False)
    with pytest.raises(KeyboardInterrupt):
        own.run([Job("a", ("stubborn", tmp_path)), Job("b", ("hang", tmp_path))])
    assert processes
    assert not any(alive(pid) for pid in processes)


def test_a_process_that_cannot_be_started_is_that_jobs_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = ForkServerProcess.start

    def fail(process: ForkServerProcess) -> None:
        if "bad" in process.name:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        start(process)

    monkeypatch.setattr(ForkServerProcess, "start", fail)
    notes = run(["work", "bad", "work"], tmp_path)
    assert notes.reasons.pop("1 bad") == (
        f"no process could be started for it: [Errno {errno.EAGAIN}] "
        "Resource temporarily unavailable"
    )
    assert set(notes.reasons.values()) == {None}


def test_without_the_server_the_running_ones_go_on_and_others_are_started(tmp_path: Path) -> None:
    notes = Notes()

    def jobs() -> Iterator[Job]:
        yield Job("before", ("work", tmp_path))
        # As when it has no memory to fork: then the server dies.
        server = forkserver._forkserver._forkserver_pid or 0
        os.kill(server, signal.SIGKILL)
        os.waitid(os.P_PID, server, os.WEXITED | os.WNOWAIT)
        yield Job("after", ("work", tmp_path))

    Pool(pool_jobs.act, 2, notes, lambda: False).run(jobs())
    assert notes.reasons["after"] is None
    assert notes.reasons["before"] in ("its process ended, and how is not known", None)
    assert notes.events["before"][-1][0] == "span"


def test_processes_take_no_module_from_the_current_folder_that_is_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("random", "profile", "signal", "ablate"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')")
    forkserver._forkserver._stop()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with own_code():
        warm_up(["ablate.sweep.pool.processes"])
        notes = run(["modules"], tmp_path)
    ((_, modules, _),) = notes.events.values()
    assert modules == {
        "random": random.__file__,
        "ablate": ablate.__file__,
        "last": str(tmp_path),
    }
    assert "PYTHONSAFEPATH" not in os.environ
    multiprocessing.set_forkserver_preload([])
    forkserver._forkserver._stop()


def test_the_server_waits_in_a_short_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("long" * 30)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    monkeypatch.delitem(process.current_process()._config, "tempdir", raising=False)
    forkserver._forkserver._stop()
    warm_up([])
    notes = run(["work"], tmp_path)
    assert set(notes.reasons.values()) == {None}
    assert tempfile.gettempdir() == str(long)
    forkserver._forkserver._stop()


def test_the_server_begins_without_ctrl_c_and_with_one_thread(tmp_path: Path) -> None:
    forkserver._forkserver._stop()
    warm_up(["numpy"])
    run(["work"], tmp_path)
    status = Path(f"/proc/{forkserver._forkserver._forkserver_pid}/status").read_text()
    facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert facts["Threads"].strip() == "1"
    for number in (signal.SIGINT, signal.SIGHUP):
        assert int(facts["SigIgn"], 16) >> (number - 1) & 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    multiprocessing.set_forkserver_preload([])
    forkserver._forkserver._stop()
