"""What the disk says of a run, and a line for the person at the terminal."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ablate import record

FINISHED = ("done", "diverged")


def status_on_disk(directory: Path) -> str | None:
    """The status in a run's record, None without a readable one."""
    found, _ = record.read(directory)
    return str(found["status"]) if found else None


def is_wanted(status: str | None, config: Mapping[str, Any]) -> bool:
    """Whether there is still something to do for a run of that status."""
    if config["rerun"]:
        return True
    return status not in FINISHED and (status != "failed" or config["retry"])


def say(text: str) -> None:
    """A line on stderr at once."""
    print(text, file=sys.stderr, flush=True)
