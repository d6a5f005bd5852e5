"""Files of a run's folder, which anybody may have put there. Standard library only.

Only regular files of bounded size are read, and nothing is read or written through a link.
"""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, TextIO

NAMES = ("record.json", "config.yaml", "curves.jsonl", "checkpoint.pt", "run.log", ".lock")
HYDRA = ".hydra"
HYDRA_NAMES = ("config.yaml", "hydra.yaml", "overrides.yaml")
EVENTS = "events.out.tfevents."
"""How the names of TensorBoard's files begin."""


class NotRegular(OSError):
    """What stands there is a link, a folder, a FIFO, ..."""


def kind_of_file(mode: int) -> str:
    """Name the type of a file by its mode.

    >>> kind_of_file(stat.S_IFIFO), kind_of_file(stat.S_IFLNK)
    ('a FIFO', 'a link')
    """
    kinds = {
        stat.S_IFREG: "a file",
        stat.S_IFDIR: "a folder",
        stat.S_IFLNK: "a link",
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
    }
    return kinds.get(stat.S_IFMT(mode), "a device")


def open_regular(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open a file for os.read and the like; raises OSError, also for what is no regular file.

    It neither follows a link at the end of the path nor waits for the other end of a FIFO. With
    os.O_CREAT the file may be missing.
    """
    try:
        _refuse(path, os.lstat(path).st_mode)
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    try:
        _refuse(path, os.fstat(descriptor).st_mode)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _refuse(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise NotRegular(errno.EINVAL, f"is {kind_of_file(mode)}, not a regular file", str(path))


def reader(path: Path) -> BinaryIO:
    """Open a regular file to be read as bytes; raises OSError as `open_regular` does."""
    return os.fdopen(open_regular(path), "rb")


def read(path: Path, most: int) -> bytes:
    """Return what a regular file holds; raises OSError, also for one of more than `most` bytes."""
    with reader(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"is larger than {most:,} bytes", str(path))
    return content


def append(path: Path) -> TextIO:
    """Open a regular file, made where it is missing, to write behind its end; raises OSError."""
    descriptor = open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    return os.fdopen(descriptor, "a", encoding="utf-8")


def strangers(directory: Path) -> list[str]:
    """Say what stands in a run's folder under the name of one of our files and is none.

    Such a thing is neither read nor written: "run.log is a link". A folder that cannot be listed
    has none.
    """
    problems = _strange(directory, NAMES, "")
    try:
        mode = os.lstat(directory / HYDRA).st_mode
    except OSError:
        return problems
    if not stat.S_ISDIR(mode):
        return [*problems, f"{HYDRA} is {kind_of_file(mode)}, not a folder"]
    return problems + _strange(directory / HYDRA, HYDRA_NAMES, f"{HYDRA}/")


def _strange(folder: Path, names: tuple[str, ...], before: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(
                f"{before}{entry.name} is {kind_of_file(mode)}, not a regular file"
                for entry in entries
                if entry.name in names or entry.name.startswith(EVENTS)
                if not stat.S_ISREG(mode := entry.stat(follow_symlinks=False).st_mode)
            )
    except OSError:
        return []


def outside(directory: Path, root: Path) -> str | None:
    """Say where a folder under `root` leads to if a link on the way leaves `root`, else None."""
    real, inside = os.path.realpath(directory), os.path.realpath(root)
    if real == inside or real.startswith(os.path.join(inside, "")):  # noqa: PTH118  of "/" too
        return None
    return f"a link out of {root}, to {real}; it is not followed, name that folder itself"
