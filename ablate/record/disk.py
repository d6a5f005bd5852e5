"""record.json on disk: an atomic write and a tolerant read. Standard library only.

The record is the only thing that reports read for numbers (design.md, "On disk"). A writer may die
at any moment and a reader may meet any file, so a write leaves either the old record or the new one
and a read never raises for what a file contains.
"""

import json
from pathlib import Path
from typing import Any

from ablate.errors import UserError
from ablate.record import run_files
from ablate.record.parsing import kind_of, parse
from ablate.record.record import SCHEMA, Record
from ablate.record.replaced import replace_file
from ablate.record.writing import content_of
from ablate.shell.finite import finite

FILE = "record.json"
REQUIRED = ("status", "config", "choices")
LARGEST_FILE = 1 << 26  # bytes; a record has some 100,000
DEEPEST = 32  # objects and lists within each other; a record has 6


def write(directory: Path, record: Record) -> None:
    """Write `directory`/record.json in one step: readers see the old record or the new one.

    Raises OSError (a full disk, no permission), with the old record intact, and TypeError for a
    value that JSON cannot hold, before any file is touched.
    """
    replace_file(Path(directory) / FILE, _layout(finite(content_of(record))))


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
    if isinstance(schema, bool) or not isinstance(schema, int) or not 0 <= schema < 1000:
        return None, f"{FILE} is not a record of ablate: no `schema` number"
    record, misfits = parse(Record, source)
    problems = [f"no `{key}`" for key in REQUIRED if source.get(key) is None]
    if other := other_schema(record):
        problems.insert(0, other)
    problems += misfits[:3] + ([f"{len(misfits) - 3} more"] if len(misfits) > 3 else [])
    return record, "; ".join(problems) or None


def read_own(directory: Path) -> Record:
    """Return a record that may be added to; raises UserError where it is not of this schema."""
    record, problem = read(directory)
    if record is None:
        raise UserError(f"{Path(directory) / FILE}: {problem}")
    if other := other_schema(record):
        raise UserError(f"{Path(directory) / FILE}: {other}")
    return record


def other_schema(record: Record) -> str | None:
    """Say of which other schema a record is, if it is of one."""
    if record.schema == SCHEMA:
        return None
    age = "newer" if record.schema > SCHEMA else "older"
    return f"{FILE} has the {age} schema {record.schema}, this version reads {SCHEMA}"


def _parse(path: Path) -> tuple[Any, str | None]:
    """Parse the file: (content, None) or (None, problem)."""
    try:
        data = run_files.read(path, LARGEST_FILE)
    except FileNotFoundError:
        return None, f"missing {FILE}"
    except run_files.NotRegular as error:
        return None, f"{FILE} {error.strerror}"
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
    if is_deep(content, DEEPEST):
        return None, f"{FILE} is damaged: nested more than {DEEPEST} deep"
    return content, None


def is_deep(content: Any, levels: int) -> bool:
    """Whether JSON has more than so many objects and lists within each other.

    >>> is_deep([{"a": 1}], 2), is_deep([{"a": []}], 2)
    (False, True)
    """
    if not isinstance(content, dict | list):
        return False
    parts = content.values() if isinstance(content, dict) else content
    return levels == 0 or any(
        is_deep(part, levels - 1) for part in parts if isinstance(part, dict | list)
    )


def _one_line(error: Exception) -> str:
    return str(error).splitlines()[0][:80]
