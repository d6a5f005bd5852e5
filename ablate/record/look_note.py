"""looks.json, the plan of `ablate run --until-decided` and its looks, beside a study's runs."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from ablate.record import run_files
from ablate.record.replaced import replace_file

FILE = "looks.json"
LARGEST = 1 << 24  # bytes; a plan of 10,000 arms has some 5 million


@dataclass(frozen=True)
class LookNote:
    """What was planned before the first look, and what each look decided.

    Look k is at the first `looks[k]` of the `seeds`, at `levels[k]`. Arms are compared by `metric`,
    with a `margin` in its unit, each with the arm that it is held `against`, which the first look
    settles: the baseline of its task or text. `decided` has the verdicts of each look, by arm.
    """

    seeds: tuple[int, ...]
    looks: tuple[int, ...]
    levels: tuple[float, ...]
    arms: tuple[str, ...]
    metric: str
    margin: float
    against: Mapping[str, str] = field(default_factory=dict)
    decided: tuple[Mapping[str, str], ...] = ()


def write(folder: Path, note: LookNote) -> None:
    """Write the note in one step: readers see the old one or the new one. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / FILE, json.dumps(asdict(note), indent=1, ensure_ascii=False) + "\n")


def read(folder: Path) -> LookNote | None:
    """Return the note of a study, None without one. Raises ValueError for one that is none."""
    try:
        content = json.loads(run_files.read(folder / FILE, LARGEST))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{folder / FILE}: cannot be read: {_one_line(error)}") from error
    try:
        return _checked(content)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        raise ValueError(f"{folder / FILE}: is no plan of looks: {_one_line(error)}") from error


def read_all(folders: Iterable[Path]) -> tuple[dict[Path, LookNote], list[str]]:
    """Return the notes of studies by folder, and what is wrong with those that are none."""
    notes: dict[Path, LookNote] = {}
    problems = []
    for folder in dict.fromkeys(folders):
        try:
            if note := read(folder):
                notes[folder] = note
        except ValueError as error:
            problems.append(str(error))
    return notes, problems


def _checked(content: dict[str, Any]) -> LookNote:
    if unknown := set(content) - {part.name for part in fields(LookNote)}:
        raise ValueError(f"{sorted(unknown)[0]} is no part of it")
    note = LookNote(
        seeds=tuple(map(int, content["seeds"])),
        looks=tuple(map(int, content["looks"])),
        levels=tuple(map(float, content["levels"])),
        arms=tuple(map(str, content["arms"])),
        metric=str(content["metric"]),
        margin=float(content["margin"]),
        against=_texts(content["against"]),
        decided=tuple(map(_texts, content["decided"])),
    )
    if not len(note.looks) == len(note.levels) >= max(1, len(note.decided)):
        raise ValueError("its looks and levels are not as many")
    if len(note.seeds) != note.looks[-1]:
        raise ValueError("the last look is not at all of its seeds")
    if not {*note.against, *note.against.values()} <= set(note.arms):
        raise ValueError("it compares arms that it does not have")
    if not {arm for look in note.decided for arm in look} <= set(note.against):
        raise ValueError("it decides what it does not compare")
    return note


def _texts(content: dict[Any, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in content.items()}


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:120]
