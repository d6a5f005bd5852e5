"""Sees to it that every run of the pool ends with a true record, whatever its process did."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from ablate.record import disk, lock
from ablate.run.planned import FINISHED, PlannedRun, Stamp, ended_since, stamp
from ablate.run.stop import STOPPING
from ablate.run.summary import brief_lines
from ablate.sweep.pool.live import Lines, LiveTable
from ablate.sweep.pool.processes import KILLED, Ear, Job
from ablate.sweep.pool.progress_rows import ELSEWHERE, HeldElsewhere, RunRows, Unrecorded

LOOK_AGAIN = 0.5  # seconds between two looks at runs that other processes do


class Foreman(Ear):
    """Keeps the books of a sweep: rows for the display, records of the dead, runs of others.

    `unrecorded` has the reason for each run that failed without a record of it.
    """

    def __init__(
        self,
        wanted: Sequence[PlannedRun],
        rows: RunRows,
        shown: Lines | LiveTable,
    ) -> None:
        self.by_name = {planned.identity.name: planned for planned in wanted}
        self.rows, self.shown = rows, shown
        self.unrecorded: dict[str, str] = {}
        self._fresh, self._elsewhere = list(wanted), list[PlannedRun]()
        self._last: dict[str, Any] = {}
        self._began_with: dict[str, Stamp] = {}
        self._stopping = False

    def next_batch(self, stop: Callable[[], bool]) -> list[PlannedRun]:
        """Runs to do now: at first all; later those that other processes have left undone.

        Waits for these processes; empty when nothing is left to do or the user wants to stop.
        """
        batch, self._fresh = self._fresh, []
        while not batch and self._elsewhere and not stop():
            batch = [p for p in self._elsewhere if not lock.is_held(p.directory)]
            self._elsewhere = [p for p in self._elsewhere if p not in batch]
            if not batch:
                self.shown.tick()
                time.sleep(LOOK_AGAIN)
        return batch

    def may_begin(self, planned: PlannedRun) -> bool:
        """Whether a run is still to be done, and no other process is at work on it."""
        if ended_since(planned.directory, planned.stamp):
            self._close(planned, "by another process: ")
            return False
        if lock.is_held(planned.directory):
            self._leave(planned, "another process is at work on it")
            return False
        self._began_with[planned.identity.name] = stamp(planned.directory)
        return True

    def started(self, job: Job) -> None:
        self.rows.start(job.name)
        self._last.pop(job.name, None)

    def heard(self, job: Job, event: Any) -> None:
        if isinstance(event, HeldElsewhere | Unrecorded):
            self._last[job.name] = event
        row = self.rows.rows[job.name]
        row.take(event)
        self.shown.heard(row, event)

    def stopping(self) -> None:
        self._stopping = True
        self.shown.say(STOPPING)

    def tick(self) -> None:
        self.shown.tick()

    def ended(self, job: Job, reason: str | None) -> None:
        planned, last = self.by_name[job.name], self._last.get(job.name)
        if isinstance(last, HeldElsewhere):
            self._leave(planned, last.text)
            return
        self._stopping |= reason == KILLED
        failure = last.text if isinstance(last, Unrecorded) else None
        problem = self._bury(planned, failure or reason or "its process ended without a word")
        if problem:
            self.unrecorded[job.name] = problem
        self._close(planned, "", problem)

    def _leave(self, planned: PlannedRun, words: str) -> None:
        self._elsewhere.append(planned)
        self.shown.ended(self.rows.end(planned.identity.name, ELSEWHERE, None), f"left: {words}")

    def _close(self, planned: PlannedRun, before: str, problem: str | None = None) -> None:
        name = planned.identity.name
        record, unread = disk.read(planned.directory)
        if record is None and self._stopping:
            self.shown.ended(self.rows.end(name, "interrupted", None), "stopped before it began")
            return
        if record is None or problem:
            self.shown.ended(self.rows.end(name, "failed", None), f"failed: {problem or unread}")
            return
        row = self.rows.end(name, record.status or "unknown", record.label)
        self.shown.ended(row, before + brief_lines(record, planned.directory)[0])

    def _bury(self, planned: PlannedRun, reason: str) -> str | None:
        """Write the record of a run whose process did not; the reason if that is impossible."""
        from ablate.run.recording import close_record

        directory = planned.directory
        record, _ = disk.read(directory)
        written = stamp(directory) != self._began_with.get(planned.identity.name)
        if record and written and record.status != "running":
            return None
        if self._stopping and record is None:
            return None  # it was never begun
        if record and record.status in FINISHED:
            return reason  # an earlier result, which it was to replace, stays
        status = "interrupted" if self._stopping else "failed"
        try:
            directory.mkdir(parents=True, exist_ok=True)
            with lock.hold(directory):
                seconds = self.rows.rows[planned.identity.name].spent(self.rows.clock())
                close_record(planned.config, planned.identity, directory, status, reason, seconds)
        except lock.Busy:
            return None  # someone took it over at once
        except OSError as error:
            more = error.strerror or str(error)
            whole = reason if more in reason else f"{reason} ({more})"
            return None if self._stopping else whole
        return None
