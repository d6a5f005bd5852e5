"""record.json of a run: its schema, atomic write, tolerant read. Standard library only.

The record is the only thing that reports read for numbers (design.md, "On disk"). A writer may die
at any moment and a reader may meet any file, so a write leaves either the old record or the new one
and a read never raises for what a file contains.
"""

import json
import math
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

SCHEMA = 1
FILE = "record.json"
STATUSES = ("running", "done", "diverged", "failed", "interrupted")

TEXT, NUMBER, NUMBERS, OBJECT = "text", "a number", "a list of numbers", "an object"
IF_MEASURED = "a list of numbers that some tasks have"  # a key that is missing stays so

# What a reader may rely on after `read`; a key outside this table is passed on as it is.
SHAPE: dict[str, Any] = {
    "run_id": TEXT,
    "study": TEXT,
    "name": TEXT,
    "arm": TEXT,
    "seed": NUMBER,
    "status": TEXT,
    "label": TEXT,
    "choices": OBJECT,
    "config": OBJECT,
    **dict.fromkeys(("depth", "width", "heads", "seq_len", "batch_size", "steps"), NUMBER),
    **dict.fromkeys(("steps_done", "parameters", "flops_per_token", "tokens"), NUMBER),
    "corpus": {
        "name": TEXT,
        "sha256": TEXT,
        **dict.fromkeys(("tokens_train", "tokens_validation", "vocabulary"), NUMBER),
    },
    "loss": dict.fromkeys(
        ("uniform", "unigram", "unigram_train", "first", "excess", "final", "validation", "best"),
        NUMBER,
    ),
    "gradients": {
        **dict.fromkeys(("parameters_first", "inputs_first"), NUMBERS),
        **dict.fromkeys(("parameters_mean", "inputs_mean"), NUMBERS),
        "clip_fraction": NUMBER,
    },
    "extrapolation": {
        "train_length": NUMBER,
        **dict.fromkeys(("lengths", "accuracy", "nll", "retention"), NUMBERS),
        "exact": IF_MEASURED,
    },
    "timing": dict.fromkeys(("seconds", "tokens_per_second", "total_seconds"), NUMBER),
    "environment": OBJECT,
    "curve": {"steps": NUMBERS, "loss": NUMBERS},
}
LARGEST = 1e150
REQUIRED = ("status", "config", "choices")


@runtime_checkable
class _Array(Protocol):
    """A numpy or torch scalar or array: it can turn itself into plain numbers."""

    def tolist(self) -> Any: ...


def plain(value: Any) -> Any:
    """Return `value` as standard JSON can hold it: non-finite numbers become null.

    >>> plain({"loss": [1.5, float("nan")], "best": float("inf")})
    {'loss': [1.5, None], 'best': None}
    """
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, _Array):
        return plain(value.tolist())
    return value


def write(directory: Path, record: Mapping[str, Any]) -> None:
    """Write `directory`/record.json in one step: readers see the old record or the new one.

    Raises OSError (a full disk, no permission), with the old record intact, and TypeError for a
    value that JSON cannot hold, before any file is touched.
    """
    text = _layout(plain({"schema": SCHEMA} | dict(record) | {"schema": SCHEMA}))
    directory = Path(directory)
    temporary = directory / f".{FILE}.{os.getpid()}-{secrets.token_hex(4)}"
    try:
        with temporary.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(directory / FILE)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _layout(record: dict[str, Any]) -> str:
    """One top-level key a line: short enough to read, and `diff` shows what changed."""
    lines = (
        f"  {json.dumps(str(key))}: {json.dumps(value, allow_nan=False)}"
        for key, value in record.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read(directory: Path) -> tuple[dict[str, Any] | None, str | None]:
    """Return (record, problem) of the run in `directory`; never raises for what the file contains.

    The record has every key of `SHAPE` with its type: what is missing or of another type is None,
    an empty object or an empty list. It is None if nothing can be used. The problem is one line for
    a person, None if there is none; a record may come with a problem (another schema, wrong types).
    """
    path = Path(directory) / FILE
    content, problem = _parse(path)
    if problem is not None:
        return None, problem
    if not isinstance(content, dict):
        return None, f"{FILE} holds {_kind(content)}, not an object"
    schema = content.get("schema")
    if isinstance(schema, bool) or not isinstance(schema, int):
        return None, f"{FILE} is not a record of ablate: no `schema` number"
    problems: list[str] = []
    if schema != SCHEMA:
        age = "newer" if schema > SCHEMA else "older"
        problems.append(f"{FILE} has the {age} schema {schema}, this version reads {SCHEMA}")
    problems += [f"no `{key}`" for key in REQUIRED if content.get(key) is None]
    misfits: list[str] = []
    record = _fit(content, SHAPE, "", misfits)
    problems += misfits[:3] + ([f"{len(misfits) - 3} more"] if len(misfits) > 3 else [])
    return record, "; ".join(problems) or None


def _parse(path: Path) -> tuple[Any, str | None]:
    """Parse the file: (content, None) or (None, problem)."""
    try:
        if not path.is_file():
            return None, f"{FILE} is not a file" if path.exists() else f"missing {FILE}"
        data = path.read_bytes()
    except OSError as error:
        return None, f"{FILE} cannot be read: {error.strerror or error}"
    if not data.strip(b"\0 \t\r\n"):
        return None, f"{FILE} is empty"
    try:
        content = json.loads(data, parse_constant=lambda name: None, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        # ValueError: JSONDecodeError, UnicodeDecodeError, and an integer of thousands of digits.
        cut = "" if data.rstrip().endswith(b"}") else ", the end is missing"
        reason = "nested too deeply" if isinstance(error, RecursionError) else _one_line(error)
        return None, f"{FILE} is damaged: not JSON{cut} ({reason})"
    return content, None


def _one_line(error: Exception) -> str:
    return str(error).splitlines()[0][:80]


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _kind(value: Any) -> str:
    """Name a JSON value's type for a person."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return NUMBER
    if isinstance(value, str):
        return TEXT
    return OBJECT if isinstance(value, dict) else "a list"


def fit(value: Any, shape: Any) -> Any:
    """Return what of a value read from a record has the shape, as `read` does, without problems."""
    return _fit(value, shape, "", [])


def _fit(value: Any, shape: Any, path: str, misfits: list[str]) -> Any:
    """Return `value` if it has the shape, else what stands for nothing; names misfits by path."""
    if isinstance(shape, dict):
        found = _checked(value, dict, OBJECT, path, misfits) or {}
        prefix = f"{path}." if path else ""
        fitted = {
            key: _fit(found.get(key), part, prefix + key, misfits)
            for key, part in shape.items()
            if part != IF_MEASURED or key in found
        }
        return {**found, **fitted}
    if shape == OBJECT:
        return _checked(value, dict, OBJECT, path, misfits) or {}
    if shape == TEXT:
        return _checked(value, str, TEXT, path, misfits)
    if shape == NUMBER:
        return _number(value, path, misfits)
    items = _checked(value, list, NUMBERS, path, misfits) or []
    wrong: list[str] = []
    numbers = [_number(item, path, wrong) for item in items]
    if wrong:
        misfits.append(f"`{path}` is not {NUMBERS}")
    return numbers


def _number(value: Any, path: str, misfits: list[str]) -> float | None:
    # bool is an int in Python; a number whose square overflows would break every later sum.
    if isinstance(value, bool) or (isinstance(value, int | float) and abs(value) > LARGEST):
        misfits.append(f"`{path}` is not {NUMBER} that can be used")
        return None
    return _checked(value, int | float, NUMBER, path, misfits)


def _checked(value: Any, kind: Any, name: str, path: str, misfits: list[str]) -> Any:
    if value is None or isinstance(value, kind):
        return value
    misfits.append(f"`{path}` is {_kind(value)}, not {name}")
    return None
