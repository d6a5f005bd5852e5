"""One process a run directory: an advisory lock that the kernel lifts when its holder dies.

A file system may have no such locks (NFS without lockd, Lustre without -o flock): there a file that
one process alone can create stands for it.
"""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

from ablate.record import lock_file, run_files

NAME = ".lock"
NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP)


class Busy(Exception):
    """Another process holds the directory; the message says which."""


@contextmanager
def hold(directory: Path) -> Iterator[None]:
    """Hold `directory` for this process alone; raises Busy where another one has it."""
    descriptor = run_files.open_regular(directory / NAME, os.O_RDWR | os.O_CREAT)
    with os.fdopen(descriptor, "r+") as file:
        try:
            take(file)
        except BlockingIOError as error:
            file.seek(0)
            raise Busy(f"process {file.read().strip() or 'unknown'} is at work on it") from error
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            with hold_by_file(directory):
                yield
            return
        file.truncate(0)
        file.seek(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


@contextmanager
def hold_by_file(directory: Path) -> Iterator[None]:
    """As `hold`, where the file system has no locks."""
    with ExitStack() as stack:
        try:
            stack.enter_context(lock_file.hold(directory))
        except BlockingIOError as error:
            raise Busy(lock_file.holder(directory)) from error
        yield


def take(file: TextIO) -> None:
    """Lock an open file, in a second try if need be: `is_held` has it for an instant."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        time.sleep(0.05)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_held(directory: Path) -> bool:
    """Whether a process of this machine, or perhaps of another one, holds the directory."""
    try:
        with run_files.reader(directory / NAME) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        return error.errno in NO_LOCKS and lock_file.is_held(directory)
    return False


def was_killed(status: str | None, directory: Path) -> bool:
    """Whether a record says "running" of a run that no process of this machine is at any more."""
    return status == "running" and not is_held(directory)
