"""study.yaml, the note that `ablate run --study` leaves beside its runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ablate.record import run_files
from ablate.record.replaced import replace_file

FILE = "study.yaml"
SKIPPED = "skipped"
LARGEST = 1 << 20  # bytes; a name has some 200


@dataclass(frozen=True)
class LeftOut:
    """Runs that a study left out for one reason, by name."""

    study: str
    because: str
    runs: tuple[str, ...]


def write(
    folder: Path, asked: Mapping[str, str], runs: Sequence[str], skipped: Sequence[LeftOut]
) -> None:
    """Note in a study's folder what was asked, of which runs, and what was left out and why.

    Raises OSError.
    """
    content: dict[str, Any] = {
        **asked,
        "runs": list(runs),
        SKIPPED: [{"because": left.because, "runs": list(left.runs)} for left in skipped],
    }
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / FILE, text)


def read(runs: Iterable[Path]) -> list[LeftOut]:
    """What the studies left out in which these runs' folders lie; an unreadable note is empty."""
    studies = dict.fromkeys(run.parent for run in runs)
    return [left for study in studies for left in _of_study(study.absolute())]


def _of_study(folder: Path) -> list[LeftOut]:
    beginning = f"\n{SKIPPED}:"
    try:
        note = run_files.read(folder / FILE, LARGEST).decode("utf-8")
        _, key, rest = note.partition(beginning)
        # The rest alone: the names of a thousand runs that stand before would take seconds.
        content = yaml.safe_load(f"{beginning}{rest}") if key else {}
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return []
    entries = content.get(SKIPPED) if isinstance(content, dict) else None
    reasons = (_reason(folder.name, e) for e in (entries if isinstance(entries, list) else []))
    return [left for left in reasons if left is not None]


def _reason(study: str, content: Any) -> LeftOut | None:
    names = content.get("runs") if isinstance(content, dict) else None
    if not isinstance(names, list) or not names:
        return None
    return LeftOut(study, str(content.get("because")), tuple(map(str, names)))
