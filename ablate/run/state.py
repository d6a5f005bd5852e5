"""What the disk says of a run, and a line for the person at the terminal."""

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ablate.record import record

STOPPING = "Stopping after this step, with a checkpoint; once more stops at once."
FINISHED = ("done", "diverged")
Stamp = tuple[int, int] | None


def status_on_disk(directory: Path) -> str | None:
    """The status in a run's record, None without a readable one."""
    found, _ = record.read(directory)
    return str(found["status"]) if found else None


def is_wanted(status: str | None, config: Mapping[str, Any]) -> bool:
    """Whether there is still something to do for a run of that status."""
    if config["rerun"]:
        return True
    return status not in FINISHED and (status != "failed" or config["retry"])


def stamp(directory: Path) -> Stamp:
    """What changes whenever the record in a directory is written anew; None without one."""
    try:
        found = (directory / record.FILE).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def ended_since(directory: Path, before: Stamp) -> bool:
    """Whether a process has brought the run to an end since its record had that stamp."""
    return stamp(directory) != before and status_on_disk(directory) in (*FINISHED, "failed")


class Tally:
    """How far a sweep of `total` runs is, and how long the rest may take."""

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.total, self.clock = total, clock
        self.begun = 0
        self._start = clock()

    def begin(self) -> str:
        """What to say when the next run begins; empty for a single run.

        >>> tally = Tally(3, clock=iter([0.0, 0.0, 60.0]).__next__)
        >>> tally.begin(), tally.begin()
        ('run 1 of 3', 'run 2 of 3, about 2 min left')
        """
        self.begun += 1
        if self.total == 1:
            return ""
        done, spent = self.begun - 1, self.clock() - self._start
        words = f"run {self.begun} of {self.total}"
        if not done:
            return words
        left = spent / done * (self.total - done)
        return f"{words}, about {f'{left / 60:.0f} min' if left >= 90 else f'{left:.0f} s'} left"


def say(text: str) -> None:
    """A line on stderr at once."""
    print(text, file=sys.stderr, flush=True)
