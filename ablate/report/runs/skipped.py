"""The runs that a study left out (`ablate run --study`), from the note in its folder."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ablate.report.runs.collect import Run

NOTE = "study.yaml"
BEGINNING = "\nskipped:"


@dataclass(frozen=True)
class LeftOut:
    """Runs that a study left out for one reason, by name."""

    study: str
    because: str
    runs: tuple[str, ...]


def skipped(runs: Iterable[Run]) -> list[LeftOut]:
    """Return what the studies of these runs left out; a note that cannot be read says nothing."""
    folders = dict.fromkeys(run.directory.parent for run in runs)
    return [one for folder in folders for one in _of_study(folder.absolute())]


def _of_study(folder: Path) -> list[LeftOut]:
    try:
        _, found, rest = (folder / NOTE).read_text(encoding="utf-8").partition(BEGINNING)
        # The rest alone: the names of a thousand runs that stand before would take seconds.
        content = yaml.safe_load(f"{BEGINNING}{rest}") if found else {}
    except (OSError, ValueError, yaml.YAMLError):
        return []
    entries = content.get("skipped") if isinstance(content, dict) else None
    fitting = (_entry(folder.name, one) for one in (entries if isinstance(entries, list) else []))
    return [one for one in fitting if one is not None]


def _entry(study: str, content: Any) -> LeftOut | None:
    names = content.get("runs") if isinstance(content, dict) else None
    if not isinstance(names, list) or not names:
        return None
    return LeftOut(study, str(content.get("because")), tuple(map(str, names)))
