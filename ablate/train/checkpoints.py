"""The checkpoint of a run: everything that the next step depends on, replaced atomically."""

import os
import pickle
from pathlib import Path
from typing import Any

import torch

NAME = "checkpoint.pt"


def save(directory: Path, state: dict[str, Any]) -> None:
    """Write `state` (tensors, numbers, strings, lists, dicts) so that a crash leaves old or new."""
    partial = directory / f".{NAME}.{os.getpid()}"
    try:
        with partial.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(directory / NAME)
    finally:
        partial.unlink(missing_ok=True)


def load(directory: Path) -> dict[str, Any] | None:
    """The state last saved, or None where there is none or it cannot be read."""
    path = directory / NAME
    if not path.exists():
        return None
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, EOFError, RuntimeError, ValueError, KeyError, pickle.UnpicklingError):
        return None
