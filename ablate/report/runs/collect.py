"""Find the runs under paths and read their records. A run is never dropped: it has a problem.

Folders are outputs/<study>/<run>/ (design.md, "On disk"); a path may be any of the three, or a
record.json.
"""

import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ablate.errors import UserError
from ablate.record import curves, lock, run_files
from ablate.record.disk import FILE, read
from ablate.record.lock import was_killed
from ablate.record.record import Record

# Any of these makes a folder a run's, unless there are runs in it. A folder with nothing to see in
# it, beside runs, is one too: its run died before it wrote a thing.
MARKS = frozenset((*run_files.NAMES, run_files.HYDRA)) - {lock.NAME}
LEVELS = 4  # outputs, study (which may be a folder in a folder), run


@dataclass(frozen=True)
class Run:
    """A run's folder and what its record says. `record` is None if nothing in it can be used."""

    directory: Path
    study: str
    name: str
    readable: Record | None
    problem: str | None
    label: str | None

    @property
    def record(self) -> Record:
        """The record of a run that has one. Raises ValueError otherwise."""
        if self.readable is None:
            raise ValueError(f"{self.directory} has no record: {self.problem}")
        return self.readable

    @property
    def arm(self) -> str:
        """The configuration without its seed, by name."""
        return self.record.arm or self.name


def collect(paths: Sequence[Path], outputs: Path) -> list[Run]:
    """Return the runs under the paths, or of the newest study under `outputs` without paths.

    Raises UserError for a path that does not exist, and if there is no run at all.
    """
    if not paths:
        return [load(directory, outputs) for directory in newest_study(outputs)]
    by_path: dict[str, tuple[Path, Path]] = {}
    for path in paths:
        folder = _existing(path, outputs)
        root = outputs if folder.absolute().is_relative_to(outputs.absolute()) else folder
        directories = find(folder, root=root)
        if not directories:
            raise UserError(f"{path}: no runs here; {HOW_TO_BEGIN}")
        for directory in directories:
            by_path.setdefault(os.path.realpath(directory), (directory, root))
    return [load(directory, root) for directory, root in by_path.values()]


HOW_TO_BEGIN = "`ablate run` makes one, in outputs/<study>/<run>/ (--outputs names another root)"


def _existing(path: Path, outputs: Path) -> Path:
    """Resolve a path, or the name of a study under outputs, to a folder."""
    if path.is_file() and path.name == FILE:
        return path.parent
    for candidate in (path, outputs / path):
        if candidate.is_dir():
            return candidate
    if path.exists():
        raise UserError(f"{path}: is a file; expected the folder of a run, a study or the outputs")
    around = [entry.name for folder in (path.parent, outputs) for entry in _entries(folder)]
    near = difflib.get_close_matches(path.name, around, n=1)
    hint = f"did you mean {near[0]}?" if near else "expected a run, a study or the outputs root"
    raise UserError(f"{path}: does not exist; {hint}")


def newest_study(outputs: Path) -> list[Path]:
    """Return the runs of the study whose records changed last. Raises UserError without runs."""
    if not outputs.is_dir():
        raise UserError(f"{outputs}: no such outputs folder; {HOW_TO_BEGIN}")
    studies: dict[Path, list[Path]] = {}
    for directory in find(outputs):
        studies.setdefault(directory.parent, []).append(directory)
    if not studies:
        raise UserError(f"{outputs}: no runs here yet; {HOW_TO_BEGIN}")
    return max(studies.values(), key=lambda runs: max(map(_changed, runs)))


def _changed(directory: Path) -> float:
    for path in (directory / FILE, directory):
        try:
            return path.stat().st_mtime
        except OSError:
            continue
    return 0.0


def find(path: Path, levels: int = LEVELS, root: Path | None = None) -> list[Path]:
    """Return the run folders at or under a path, sorted by name within each folder.

    Links are followed within `root` (default: the path). One that leads out of it, or to nothing,
    is returned as it stands: it may have been a run.
    """
    root = path if root is None else root
    if run_files.outside(path, root):
        return [path]
    entries = _entries(path)
    marks = {entry.name for entry in entries if entry.name in MARKS and not _is_folder(entry)}
    if any(entry.name == run_files.HYDRA for entry in entries):
        marks.add(run_files.HYDRA)
    if levels == 1:
        return [path] if marks else []
    folders = [Path(entry.path) for entry in entries if _may_have_runs(entry)]
    by_folder = {folder: _below(folder, levels - 1, root) for folder in folders}
    if not marks & {FILE}:  # a study may have the name of a file of ours, a run's file be a folder
        marks |= {folder.name for folder, runs in by_folder.items() if not runs} & MARKS
    if marks and not any(map(_has_file, (run for runs in by_folder.values() for run in runs))):
        return [path]
    direct = any(runs == [folder] for folder, runs in by_folder.items())
    if direct or not any(by_folder.values()):
        # Among runs, or where there is nothing else, an empty folder is a run that left nothing.
        by_folder |= {folder: [folder] for folder in folders if _hollow(folder)}
    below = [run for runs in by_folder.values() for run in runs]
    return [path, *below] if FILE in marks else below


def _below(folder: Path, levels: int, root: Path) -> list[Path]:
    """The runs under a folder; where its name begins with a dot, only those that left a record."""
    if not folder.name.startswith("."):
        return find(folder, levels, root)
    return [run for run in find(folder, min(levels, 2), root) if _has_file(run)]


def _has_file(run: Path) -> bool:
    return os.path.lexists(run / FILE)


def _may_have_runs(entry: os.DirEntry[str]) -> bool:
    """Whether it is a folder, or a link that leads to one, to nothing or in a circle."""
    if entry.name == run_files.HYDRA:
        return False
    try:
        return entry.is_dir() or (entry.is_symlink() and not entry.is_file())
    except OSError:
        return True


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """List a folder; one that may not be read has nothing to list."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _hollow(folder: Path) -> bool:
    if folder.name.startswith("."):
        return False
    return all(entry.name.startswith(".") for entry in _entries(folder))


def load(directory: Path, root: Path) -> Run:
    """Read one run under `root`; what is wrong with its files is its `problem`."""
    absolute = directory.absolute()
    if led := run_files.outside(directory, root):
        return Run(directory, absolute.parent.name, absolute.name, None, led, None)
    record, problem = read(directory)
    if record and was_killed(record.status, directory):
        record.status = "interrupted"
        problem = problem or "its process was killed; the same command goes on"
    problems = [problem, *run_files.strangers(directory), curves.too_large(directory)]
    study = (record and record.study) or absolute.parent.name
    label = record.label if record else None
    problem = "; ".join(dict.fromkeys(filter(None, problems))) or None
    return Run(directory, study, absolute.name, record, problem, label)
