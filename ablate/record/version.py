"""Which code this is."""

import subprocess
from pathlib import Path

import ablate


def git_version() -> str | None:
    """The commit of a checkout of ablate, with "+" when files differ from it; else None."""
    home = Path(ablate.__file__).resolve().parent.parent
    if not (home / ".git").exists():
        return None
    command = ["git", "-C", str(home), "describe", "--always", "--dirty=+", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
