"""A lock for file systems that have none: a file that one process alone can create."""

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from ablate.record import run_files

NAME = ".lock.owner"
LONGEST = 1000  # bytes of what stands in it
TO_WRITE = 60.0  # seconds after which nobody is still about to write into a file that is empty


@contextlib.contextmanager
def hold(directory: Path) -> Iterator[None]:
    """Hold `directory` by a file with host, process and its start; raises BlockingIOError."""
    path, own = directory / NAME, words_of(os.getpid())
    clear_stale(path)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(own)
    except FileExistsError:
        raise BlockingIOError from None
    try:
        yield
    finally:
        if content(path) == own:
            path.unlink(missing_ok=True)


def is_held(directory: Path) -> bool:
    """Whether a process holds the directory, or may on another machine."""
    return (directory / NAME).exists() and not is_stale(directory / NAME)


def holder(directory: Path) -> str:
    """Who holds it, and what to do where that cannot be known from here."""
    host, pid, _ = [*(content(directory / NAME) or "").split(), "", "", ""][:3]
    if host == socket.gethostname():
        return f"process {pid} is at work on it"
    return (
        f"process {pid or 'unknown'} on {host or 'an unknown machine'} is at work on it; "
        f"if that is gone, remove {directory / NAME}"
    )


def is_stale(path: Path) -> bool:
    """Whether the process that created the file is gone, as far as this machine can know."""
    words = (content(path) or "").split()
    if len(words) != 3 or not words[1].isdigit():
        with contextlib.suppress(OSError):
            return time.time() - path.stat().st_mtime > TO_WRITE
        return True
    return words[0] == socket.gethostname() and words_of(int(words[1])) != " ".join(words)


def clear_stale(path: Path) -> None:
    """Remove the file of a process that is gone, and not one that has taken its place meanwhile."""
    if not path.exists() or not is_stale(path):
        return
    judged, aside = content(path), path.with_name(f"{NAME}.{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):  # another process was first
        path.rename(aside)
        if content(aside) == judged:
            aside.unlink()
        else:
            aside.rename(path)


def words_of(pid: int) -> str:
    """Host, number and start of a process of this machine; numbers alone come again."""
    try:
        facts = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        start = facts.rpartition(")")[2].split()[19]
    except OSError:
        start = "gone" if Path("/proc/self/stat").exists() or not exists(pid) else "unknown"
    return f"{socket.gethostname()} {pid} {start}"


def exists(pid: int) -> bool:
    """Whether there is a process of that number."""
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return True


def content(path: Path) -> str | None:
    """What stands in a file; None where it cannot be read."""
    try:
        return run_files.read(path, LONGEST).decode(errors="replace")
    except OSError:
        return None
