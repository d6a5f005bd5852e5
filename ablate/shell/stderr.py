"""Stderr, whose loss loses no run: its reader may go, its terminal close, its disk be full."""

import contextlib
import errno
import io
import os
import sys
from pathlib import Path

GONE = (errno.EPIPE, errno.EIO)  # of a pipe whose reader ended, of a terminal that was closed


class Enduring(io.TextIOWrapper):
    """Text to a file descriptor; what cannot be written is dropped."""

    def __init__(self, descriptor: int, encoding: str) -> None:
        raw = open(descriptor, "wb", closefd=False)  # noqa: SIM115  it stays open to the very end
        super().__init__(raw, encoding=encoding, errors="backslashreplace", line_buffering=True)
        self._descriptor = descriptor

    def write(self, text: str) -> int:
        """Write, or drop it."""
        with contextlib.suppress(OSError):
            super().write(text)
            return len(text)
        self.flush()
        return len(text)

    def flush(self) -> None:
        """Send what is waiting, to nowhere where nobody is left to read it."""
        try:
            super().flush()
        except OSError as error:
            if error.errno in GONE:
                with Path(os.devnull).open("wb") as nowhere:
                    os.dup2(nowhere.fileno(), self._descriptor)


def endure() -> None:
    """From here on no trouble with stderr raises, not even that it was closed from the start."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:  # the lowest free number is this one
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stderr is sys.__stderr__:  # and not that of a test
        sys.stderr = Enduring(2, sys.stderr.encoding if sys.stderr else "utf-8")


def say(text: str) -> None:
    """A line on stderr at once, for the person at the terminal."""
    print(text, file=sys.stderr, flush=True)
