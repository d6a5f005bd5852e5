"""A file of events for TensorBoard."""

import itertools
import os
import socket
import time
from contextlib import suppress
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

FLUSH_EVERY = 5.0  # seconds until an event can be seen, as often as the page reloads
NUMBER = itertools.count()


class EventFile:
    """Writes events as they come. Every method raises OSError where the file takes no more.

    TensorBoard's own writer does it in a thread, whose failure ends that thread with a traceback.
    """

    def __init__(self, directory: Path, suffix: str = "", purge_step: int | None = None) -> None:
        """Open a file of its own; `purge_step` hides what other files have from that step on."""
        parts = f"{int(time.time()):010d}", socket.gethostname(), str(os.getpid())
        name = ".".join(("events.out.tfevents", *parts, f"{next(NUMBER):06d}"))
        self._file = (directory / f"{name}{suffix}").open("xb")
        self._records = RecordWriter(self._file)
        self._flushed = 0.0
        self._write(Event(file_version="brain.Event:2"))
        if purge_step is not None:
            start = SessionLog(status=SessionLog.START)
            self._write(Event(step=purge_step, session_log=start))

    def add(self, summary: Summary, step: int) -> None:
        """Write a summary as one event."""
        self._write(Event(step=step, summary=summary))

    def flush(self) -> None:
        """Let all that was written be seen."""
        self._records.flush()
        self._flushed = time.monotonic()

    def close(self) -> None:
        """Flush and close the file."""
        self._records.close()

    def _write(self, event: Event) -> None:
        event.wall_time = time.time()
        try:
            self._records.write(event.SerializeToString())
            if time.monotonic() - self._flushed >= FLUSH_EVERY:
                self.flush()
        except OSError:
            with suppress(OSError):  # what is left would be tried again
                self._file.close()
            raise
