"""What .ci/run does where one of its commands fails, and what skips mean to it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STUB = """#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
case "$(basename "$0") $*" in "$FAILS") exit 3;; esac
case "$*" in "-m venv "*) mkdir -p "$3/bin"; touch "$3/bin/activate";; esac
"""
README_COMMANDS = ("pip install -e .[dev]", "pytest ")
COMMANDS = (
    *README_COMMANDS,
    "ruff check .",
    "ruff format --check .",
    "mypy ",
    "pip install -e .[slurm,ray,tune]",
    "pytest -m slow",
)


def ci(folder: Path, *, fails: str = "", stubs: tuple[str, ...] = ()) -> tuple[int, list[str]]:
    """The exit status of .ci/run and the commands it called, each of them replaced by a stub."""
    (folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", folder / ".ci/run")
    shutil.copy(ROOT / "README.md", folder / "README.md")
    (folder / "bin").mkdir()
    for name in ("python3.11", "pip", "pytest", "ruff", "mypy", "apt-get", *stubs):
        (folder / "bin" / name).write_text(STUB)
        (folder / "bin" / name).chmod(0o755)
    for name in (
        "bash",
        "sh",
        "mktemp",
        "rm",
        "grep",
        "dirname",
        "basename",
        "mkdir",
        "touch",
        "wc",
    ):
        (folder / "bin" / name).symlink_to(str(shutil.which(name)))
    calls = folder / "calls"
    status = subprocess.run(
        ["bash", str(folder / ".ci/run")],
        env={"PATH": str(folder / "bin"), "CALLS": str(calls), "FAILS": fails},
        capture_output=True,
        check=False,
        timeout=60,
    ).returncode
    return status, calls.read_text().splitlines()


SYSTEM = ("chromium", "chromedriver", "pdflatex")


def test_all_its_commands_are_called_the_readmes_own_among_them(tmp_path: Path) -> None:
    status, calls = ci(tmp_path, stubs=SYSTEM)
    assert status == 0
    assert calls[1:] == list(COMMANDS)
    assert '\n    pip install -e ".[dev]" && pytest\n' in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("place", range(len(COMMANDS)))
def test_it_stops_at_the_first_command_that_fails(tmp_path: Path, place: int) -> None:
    status, calls = ci(tmp_path, fails=COMMANDS[place], stubs=SYSTEM)
    assert status == 3
    assert calls[1:] == list(COMMANDS[: place + 1])


def test_what_the_tests_need_of_the_system_is_installed_or_it_fails(tmp_path: Path) -> None:
    status, calls = ci(tmp_path, stubs=SYSTEM[1:])
    assert status == 1
    assert calls[1] == "apt-get update"
    assert "chromium chromium-driver" in calls[2]
    assert "texlive" in calls[2]
    assert len(calls) == 3


SKIPS = {
    "marked": "@pytest.mark.skipif(True, reason='as it happens')\ndef test_it(): pass",
    "called": "def test_it(): pytest.skip('as it happens')",
    "imported": "pytest.importorskip('a_module_that_is_not_there')\ndef test_it(): pass",
    "fixture": "@pytest.fixture\ndef it(): pytest.skip('no')\ndef test_it(it): pass",
}


@pytest.mark.parametrize(("processes", "fail"), [("0", "1"), ("1", "1"), ("1", "0")])
def test_a_skip_fails_where_none_is_expected(tmp_path: Path, processes: str, fail: str) -> None:
    shutil.copy(ROOT / "tests/conftest.py", tmp_path / "conftest.py")
    (tmp_path / "test_sound.py").write_text("def test_sound(): pass\n")
    for name, test in SKIPS.items():
        (tmp_path / f"test_{name}.py").write_text(f"import pytest\n{test}\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", processes],
        cwd=tmp_path,
        env=os.environ | {"FAIL_ON_SKIPS": fail, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == int(fail), done.stdout
    _, _, unexpected = done.stdout.partition("not expected to be:")
    names = set(re.findall(r"^  test_(\w+)\.py", unexpected, re.M))
    assert names == (set(SKIPS) if fail == "1" else set())
