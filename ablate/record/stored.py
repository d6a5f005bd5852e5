"""What .hydra/ of a run's folder says of how the run was made, as text that nobody believes."""

import re
from pathlib import Path

import yaml

from ablate.record import run_files

FOLDER = Path(run_files.HYDRA)
LARGEST = 1 << 18  # bytes; an override has some 20
OWN_FOLDER = re.compile(r"- path: (.+)\n\s+schema: file\n\s+provider: command-line")


def overrides(directory: Path) -> list[str]:
    """Return the overrides that a run was started with.

    Raises OSError where there is no such file, and ValueError where it holds anything else.
    """
    text = _text(directory, "overrides.yaml")
    try:
        words = yaml.safe_load(text) or []
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError("not YAML") from error
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError("no list of KEY=VALUE")
    return words


def config_folders(directory: Path) -> list[str]:
    """Return the --config-dir folders that a run says it was made with; [] without such a file."""
    try:
        return OWN_FOLDER.findall(_text(directory, "hydra.yaml"))
    except (OSError, ValueError):
        return []


def _text(directory: Path, name: str) -> str:
    if (directory / FOLDER).is_symlink():
        raise OSError(0, "is a link, not a folder", str(directory / FOLDER))
    return run_files.read(directory / FOLDER / name, LARGEST).decode("utf-8")
