"""curves.jsonl of a run: a line a logged step, for what its record does not hold."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ablate.record import run_files
from ablate.record.parsing import usable
from ablate.shell.finite import finite

FILE = "curves.jsonl"
LARGEST = 1 << 30  # bytes that are read at once; a million lines of a deep run
CurveLine = dict[str, Any]
"""What is logged of a step: `step` always, the rest as the training loop has it."""


def as_text(line: CurveLine) -> str:
    """Return a line as it stands in the file; numbers that are not finite are null."""
    return json.dumps(finite(line), allow_nan=False) + "\n"


def read_lines(directory: Path, most: int | None = None) -> list[CurveLine]:
    """Return the lines of a run's curves, thinned to at most about `most`; [] without the file.

    Never raises for what the file contains: a damaged line is left out. The first and the last
    line are always kept.
    """
    try:
        content = run_files.read(directory / FILE, LARGEST)
    except OSError:
        return []
    return lines_of(content, most)


def too_large(directory: Path) -> str | None:
    """Say that the curves of a run are not read because of their size, if that is so."""
    try:
        size = os.lstat(directory / FILE).st_size
    except OSError:
        return None
    return f"{FILE} is larger than {LARGEST:,} bytes and is not read" if size > LARGEST else None


def lines_of(content: bytes, most: int | None = None) -> list[CurveLine]:
    """Return the lines of a file's content, as `read_lines` does."""
    texts = content.splitlines()
    lines = (_line(texts[place]) for place in thinned(len(texts), most or len(texts)))
    return [line for line in lines if line is not None]


def thinned(count: int, most: int) -> Sequence[int]:
    """Return at most `most` places of a list of `count`, evenly, with the first and the last.

    >>> list(thinned(10, 4)), list(thinned(3, 4)), list(thinned(5, 1))
    ([0, 3, 6, 9], [0, 1, 2], [0])
    """
    if count <= most:
        return range(count)
    return [round(i * (count - 1) / max(1, most - 1)) for i in range(most)]


def _line(text: bytes) -> CurveLine | None:
    """Parse a line; None for what is no object with a step."""
    try:
        line = json.loads(text, parse_constant=lambda name: None)
    except (ValueError, RecursionError):
        return None
    if not isinstance(line, dict) or isinstance(line.get("step"), bool):
        return None
    return line if isinstance(line.get("step"), int) else None


def losses(lines: Sequence[CurveLine]) -> dict[int, float | None]:
    """Return the training loss by step, nats; None where it was not finite."""
    return {line["step"]: usable(line.get("loss")) for line in lines}


def block_norms(lines: Sequence[CurveLine], quantity: str) -> list[tuple[int, list[float | None]]]:
    """Return (step, gradient norm by block) of the lines that have them.

    `quantity` is "parameters" or "inputs"; what is no finite number is None.
    """
    profiles = []
    for line in lines:
        gradients = line.get("gradients")
        norms = gradients.get(quantity) if isinstance(gradients, dict) else None
        if isinstance(norms, list) and norms:
            profiles.append((line["step"], [usable(norm) for norm in norms]))
    return profiles
