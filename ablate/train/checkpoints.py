"""The checkpoint of a run: everything that the next step depends on, replaced atomically."""

import os
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import torch

from ablate.record import run_files

NAME = "checkpoint.pt"


class Writer:
    """A file that keeps the OSError of a failed write, which torch.save hides."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.error: OSError | None = None

    def write(self, data: bytes) -> int:
        """Write, as the file does."""
        try:
            return self._file.write(data)
        except OSError as error:
            self.error = error
            raise

    def flush(self) -> None:
        """Flush, as the file does."""
        self._file.flush()


def save(directory: Path, state: dict[str, Any]) -> None:
    """Write `state` (tensors, numbers, strings, lists, dicts) so that a crash leaves old or new.

    Raises OSError (a full disk, no permission), with the old checkpoint intact.
    """
    partial = directory / f".{NAME}.{os.getpid()}"
    partial.unlink(missing_ok=True)  # of a process of that number which was killed
    try:
        with partial.open("xb") as file:
            writer = Writer(file)
            try:
                torch.save(state, cast(IO[bytes], writer))  # it needs these two methods
            except RuntimeError as error:
                raise writer.error or error from error
            file.flush()
            os.fsync(file.fileno())
        partial.replace(directory / NAME)
    finally:
        partial.unlink(missing_ok=True)


def load(directory: Path) -> dict[str, Any] | None:
    """The state last saved, or None where there is none or it cannot be read.

    It is empty where the file holds something that is no state.
    Of what the file names nothing is imported or called but what tensors are made of.
    """
    try:
        with run_files.reader(directory / NAME) as file:
            state = torch.load(file, map_location="cpu", weights_only=True)
    except Exception:  # a dozen kinds, as the file holds whatever someone put there
        return None
    return state if isinstance(state, dict) else {}
