"""The standard streams: closed ones, ones that cannot show all signs, a stderr that may go."""

import contextlib
import errno
import io
import os
import sys
from pathlib import Path

from ablate.shell.clean import clean_lines
from ablate.shell.encoding import SHOWN

GONE = (errno.EPIPE, errno.EIO)  # of a pipe whose reader ended, of a terminal that was closed


class Enduring(io.TextIOWrapper):
    """Text to a file descriptor; what cannot be written is dropped."""

    def __init__(self, descriptor: int, encoding: str) -> None:
        raw = open(descriptor, "wb", closefd=False)  # noqa: SIM115  it stays open to the very end
        super().__init__(raw, encoding=encoding, errors=SHOWN, line_buffering=True)
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
                lead_nowhere(self._descriptor)


def lead_nowhere(descriptor: int) -> None:
    """Let what is written to a descriptor be dropped."""
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), descriptor)


def drop_unwritten() -> None:
    """Forget what stdout did not take (no reader, a full disk): Python would try again."""
    try:
        sys.stdout.flush()
    except OSError:
        lead_nowhere(sys.stdout.fileno())


def settle_streams() -> None:
    """From here on text can be written to stdout and stderr, whatever they are.

    One that was closed from the start leads nowhere, a sign that a stream cannot show is replaced,
    and no trouble with stderr raises.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:  # the lowest free number is this one
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stdout is sys.__stdout__:  # and not that of a test
        if sys.stdout is None:
            sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        elif isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors=SHOWN)
    if sys.stderr is sys.__stderr__:
        sys.stderr = Enduring(2, sys.stderr.encoding if sys.stderr else "utf-8")


def say(text: str) -> None:
    """A line on stderr at once, for the person at the terminal."""
    print(clean_lines(text), file=sys.stderr, flush=True)
