"""The lines of a run's curves.jsonl, for what its record does not hold."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FILE = "curves.jsonl"


def read_lines(directory: Path, most: int = 1000) -> list[dict[str, Any]]:
    """Return the lines of a run's curves, thinned to at most about `most`; [] without the file.

    Never raises for what the file contains: a damaged line is left out. The first and the last
    line are always kept.
    """
    try:
        texts = (directory / FILE).read_bytes().splitlines()
    except OSError:
        return []
    found = (_line(texts[place]) for place in thinned(len(texts), most))
    return [line for line in found if line is not None]


def thinned(count: int, most: int) -> Sequence[int]:
    """Return at most `most` places of a list of `count`, evenly, with the first and the last.

    >>> list(thinned(10, 4)), list(thinned(3, 4)), list(thinned(5, 1))
    ([0, 3, 6, 9], [0, 1, 2], [0])
    """
    if count <= most:
        return range(count)
    return [round(i * (count - 1) / max(1, most - 1)) for i in range(most)]


def _line(text: bytes) -> dict[str, Any] | None:
    """Parse a line; None for what is no object with a step."""
    try:
        line = json.loads(text, parse_constant=lambda name: None)
    except (ValueError, RecursionError):
        return None
    if not isinstance(line, dict) or isinstance(line.get("step"), bool):
        return None
    return line if isinstance(line.get("step"), int) else None


def block_norms(
    lines: Sequence[dict[str, Any]], quantity: str
) -> list[tuple[int, list[float | None]]]:
    """Return (step, gradient norm by block) of the lines that have them.

    `quantity` is "parameters" or "inputs"; what is no finite number is None.
    """
    found = []
    for line in lines:
        gradients = line.get("gradients")
        norms = gradients.get(quantity) if isinstance(gradients, dict) else None
        if isinstance(norms, list) and norms:
            found.append((line["step"], [_number(norm) for norm in norms]))
    return found


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e300 else None
