"""Every run of a sweep has a true record, whatever its process did."""

import io
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ablate.config.identity import Identity
from ablate.record import disk, lock
from ablate.record.record import Record, Timing
from ablate.run.planned import PlannedRun, ended_since, stamp
from ablate.run.recording import finish
from ablate.sweep.outcome import outcome
from ablate.sweep.pool.foreman import Foreman
from ablate.sweep.pool.launch import check_writable, shared_out
from ablate.sweep.pool.live import Lines
from ablate.sweep.pool.processes import KILLED, Job
from ablate.sweep.pool.progress_rows import HeldElsewhere, RunRows, Unrecorded

CONFIG = {
    "study": "s",
    "outputs": "o",
    "seed": 0,
    "device": "cpu",
    "threads": 1,
    "depth": 2,
    "width": 8,
    "heads": 2,
    "seq_len": 8,
    "batch_size": 4,
    "steps": 100,
    "rerun": False,
    "retry": True,
}


class Said(Lines):
    """What is said, as a list."""

    def __init__(self, rows: RunRows) -> None:
        super().__init__(rows, io.StringIO())
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)

    def tick(self) -> None:
        self.lines.append("tick")


def planned(folder: Path, name: str, **changes: Any) -> PlannedRun:
    identity = Identity(name, name, {"pos": "none"})
    return PlannedRun(CONFIG | changes, identity, folder / name)


def foreman(*runs: PlannedRun) -> Foreman:
    rows = RunRows([run.identity.name for run in runs], 2)
    return Foreman(runs, rows, Said(rows))


def put(run: PlannedRun, status: str, **more: Any) -> PlannedRun:
    run.directory.mkdir(exist_ok=True)
    disk.write(run.directory, Record(status=status, config=run.config, steps=100, **more))
    return replace(run, stamp=stamp(run.directory))


def found(run: PlannedRun) -> dict[str, Any]:
    return json.loads((run.directory / "record.json").read_text())


def job(run: PlannedRun) -> Job:
    return Job(run.identity.name, None)


@pytest.fixture
def run(tmp_path: Path) -> PlannedRun:
    return planned(tmp_path, "a")


def test_a_run_that_was_killed_is_recorded_as_failed_with_what_it_reached(run: PlannedRun) -> None:
    own = foreman(run)
    assert own.may_begin(run)
    own.started(job(run))
    put(run, "running")
    (run.directory / "curves.jsonl").write_text(
        '{"step": 1, "loss": 5.5, "tokens": 32, "seconds": 1.0}\n'
        '{"step": 40, "loss": 3.5, "tokens": 1280, "seconds": 9.0}\n{"step": 50, "lo'
    )
    own.ended(job(run), "killed by signal 9 (out of memory?)")
    now = found(run)
    assert now["status"] == "failed"
    assert now["error"] == "killed by signal 9 (out of memory?)"
    assert (now["steps_done"], now["tokens"], now["loss"]["first"]) == (40, 1280, 5.5)
    assert now["timing"]["finished"]
    assert "killed by signal 9" in (run.directory / "run.log").read_text()
    assert own.unrecorded == {}
    assert own.rows.rows["a"].state == "failed"


def test_a_run_that_left_nothing_has_a_whole_record_of_its_failure(run: PlannedRun) -> None:
    own = foreman(run)
    assert own.may_begin(run)
    own.ended(job(run), "no process could be started for it: no memory")
    content, problem = disk.read(run.directory)
    assert problem is None
    assert content is not None
    assert content.status == "failed"
    assert "no memory" in content.error


@pytest.mark.parametrize("status", ["done", "diverged", "failed", "interrupted"])
def test_what_a_run_wrote_itself_stays(run: PlannedRun, status: str) -> None:
    run = put(run, "failed", error="of an earlier try")
    own = foreman(run)
    assert own.may_begin(run)
    own.started(job(run))
    put(run, status, error="its own words")
    own.ended(job(run), "no end within run.timeout=3 s")
    assert found(run)["status"] == status
    assert found(run)["error"] == "its own words"


def test_an_earlier_failure_is_not_taken_for_this_one(run: PlannedRun) -> None:
    run = put(run, "failed", error="of an earlier try")
    own = foreman(run)
    assert own.may_begin(run)
    own.ended(job(run), "killed by signal 11 (SIGSEGV)")
    assert found(run)["error"] == "killed by signal 11 (SIGSEGV)"


def test_an_earlier_result_is_not_lost_to_a_rerun_that_could_not_begin(tmp_path: Path) -> None:
    run = planned(tmp_path, "a", rerun=True)
    run = put(run, "done")
    own = foreman(run)
    assert own.may_begin(run)
    own.ended(job(run), "killed by signal 9 (out of memory?)")
    assert found(run)["status"] == "done"
    assert own.unrecorded == {"a": "killed by signal 9 (out of memory?)"}


def test_what_cannot_be_recorded_is_told(run: PlannedRun) -> None:
    run.directory.write_text("a file where the folder should be")
    own = foreman(run)
    own.started(job(run))
    own.heard(job(run), Unrecorded("OSError: No space left on device"))
    own.ended(job(run), None)
    assert own.unrecorded["a"].startswith("OSError: No space left on device (")
    assert own.rows.rows["a"].state == "failed"


def test_after_a_stop_a_killed_run_is_interrupted_and_one_not_begun_leaves_nothing(
    tmp_path: Path,
) -> None:
    begun, fresh = planned(tmp_path, "a"), planned(tmp_path, "b")
    own = foreman(begun, fresh)
    assert own.may_begin(begun)
    assert own.may_begin(fresh)
    put(begun, "running")
    own.stopping()
    own.ended(job(begun), "did not stop within 10 s")
    own.ended(job(fresh), "killed by signal 15 (SIGTERM)")
    assert found(begun)["status"] == "interrupted"
    assert found(begun)["error"] is None
    assert not fresh.directory.exists()


def test_runs_that_end_with_the_command_have_not_failed(run: PlannedRun) -> None:
    own = foreman(run)
    assert own.may_begin(run)
    put(run, "running")
    own.ended(job(run), KILLED)
    assert found(run)["status"] == "interrupted"


def test_a_run_in_other_hands_is_looked_at_again(tmp_path: Path) -> None:
    held, free = planned(tmp_path, "a"), planned(tmp_path, "b")
    own = foreman(held, free)
    held.directory.mkdir()
    assert own.next_batch(lambda: False) == [held, free]
    with lock.hold(held.directory):
        assert not own.may_begin(held)
        assert own.may_begin(free)
        assert own.next_batch(lambda: True) == []  # it does not wait after a stop
        own.heard(job(free), HeldElsewhere("process 7 is at work on it"))
        own.ended(job(free), None)
        assert own.next_batch(lambda: False) == [free]
    assert own.next_batch(lambda: False) == [held]
    put(held, "done")  # by the other process
    assert not own.may_begin(held)
    assert own.rows.rows["a"].state == "done"
    assert own.next_batch(lambda: False) == []


@pytest.mark.parametrize(
    ("status", "over"),
    [("done", True), ("diverged", True), ("failed", True), ("interrupted", False)],
)
def test_what_another_process_ended_is_not_done_again(
    run: PlannedRun, status: str, over: bool
) -> None:
    put(run, "failed")
    before = stamp(run.directory)
    assert not ended_since(run.directory, before)
    put(run, status)
    assert ended_since(run.directory, before) is over


def test_jobs_and_threads_are_as_asked_and_else_share_the_cores() -> None:
    asked = {"jobs": 3, "threads": 2}
    assert shared_out(asked, 24, cores=2, gpus=0, most=2) == (3, 2)
    for cores in (1, 2, 6, 8):
        for runs in (1, 2, 5, 100):
            size, threads = shared_out({"jobs": None, "threads": None}, runs, cores, 0, cores)
            assert 1 <= size <= runs
            assert threads == max(1, cores // size)
            assert size * threads <= cores
    assert shared_out({"jobs": None, "threads": None}, 9, cores=8, gpus=0, most=1) == (8, 1)


def test_a_folder_that_cannot_be_made_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        check_writable(tmp_path / "file" / "study")
    check_writable(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_a_record_that_says_running_is_believed_while_a_process_is_at_work(run: PlannedRun) -> None:
    put(run, "running")
    assert outcome(run, {}).status == "interrupted"
    with lock.hold(run.directory):
        assert outcome(run, {}).status == "running"


def test_the_whole_time_of_a_run_is_that_of_all_processes_that_worked_on_it() -> None:
    an_hour_on = datetime.now(UTC) + timedelta(hours=1)  # the clock was set back meanwhile
    record = Record(timing=Timing(started=an_hour_on.isoformat(), total_seconds=30.0))
    finish(record, "interrupted", None, 90.0)
    assert record.timing.total_seconds == 120.0
    finish(record, "failed", "it had ended before", 91.0)
    assert record.timing.total_seconds == 120.0
    lost = Record(timing=Timing(started="at noon"))
    finish(lost, "failed", "killed", None)
    assert lost.timing.total_seconds is None
