"""record.json on disk: an atomic write and a tolerant read. Standard library only.

The record is the only thing that reports read for numbers (design.md, "On disk"). A writer may die
at any moment and a reader may meet any file, so a write leaves either the old record or the new one
and a read never raises for what a file contains.
"""

import json
import os
import secrets
from pathlib import Path
from typing import Any

from ablate.record.parsing import kind_of, parse
from ablate.record.record import SCHEMA, Record
from ablate.record.writing import content_of
from ablate.shell.finite import finite

FILE = "record.json"
REQUIRED = ("status", "config", "choices")


def write(directory: Path, record: Record) -> None:
    """Write `directory`/record.json in one step: readers see the old record or the new one.

    Raises OSError (a full disk, no permission), with the old record intact, and TypeError for a
    value that JSON cannot hold, before any file is touched.
    """
    text = _layout(finite(content_of(record)))
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


def read(directory: Path) -> tuple[Record | None, str | None]:
    """Return (record, problem) of the run in `directory`; never raises for what the file contains.

    What is missing or of another type is None, an empty part or an empty list. The record is None
    if nothing can be used. The problem is one line for a person, None if there is none; a record
    may come with a problem (another schema, wrong types).
    """
    source, problem = _parse(Path(directory) / FILE)
    if problem is not None:
        return None, problem
    if not isinstance(source, dict):
        return None, f"{FILE} holds {kind_of(source)}, not an object"
    schema = source.get("schema")
    if isinstance(schema, bool) or not isinstance(schema, int):
        return None, f"{FILE} is not a record of ablate: no `schema` number"
    problems: list[str] = []
    if schema != SCHEMA:
        age = "newer" if schema > SCHEMA else "older"
        problems.append(f"{FILE} has the {age} schema {schema}, this version reads {SCHEMA}")
    problems += [f"no `{key}`" for key in REQUIRED if source.get(key) is None]
    record, misfits = parse(Record, source)
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
        content = json.loads(data, parse_constant=lambda name: None)
    except (ValueError, RecursionError) as error:
        # ValueError: JSONDecodeError, UnicodeDecodeError, and an integer of thousands of digits.
        cut = "" if data.rstrip().endswith(b"}") else ", the end is missing"
        reason = "nested too deeply" if isinstance(error, RecursionError) else _one_line(error)
        return None, f"{FILE} is damaged: not JSON{cut} ({reason})"
    return content, None


def _one_line(error: Exception) -> str:
    return str(error).splitlines()[0][:80]
