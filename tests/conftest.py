"""What every test shares: one thread, shapes checked at run time, a token cache of its own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from jaxtyping import install_import_hook

install_import_hook(["ablate.model", "ablate.train.instruments"], "beartype.beartype")

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]

EXPECTED_SKIPS: dict[str, str] = {}
"""Where a skip is expected even where all extras are: the beginning of a test's id, and why."""

unexpected: list[str] = []
"""Tests that were skipped although `FAIL_ON_SKIPS=1` (as .ci/run sets) leaves no reason for it."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _note_skip(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _note_skip(report)


def _note_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not report.nodeid.startswith(tuple(EXPECTED_SKIPS)):
        unexpected.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if unexpected and os.environ.get("FAIL_ON_SKIPS") == "1":
        print("\nskipped, and not expected to be:", *unexpected, sep="\n  ")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


TINY = ("depth=2", "width=16", "heads=2", "seq_len=16", "batch_size=4", "steps=12")
"""Overrides of a run that takes a second."""


def later_wins(*words: str) -> list[str]:
    """Overrides without repeated keys, since a key given twice is a mistake."""
    return [*{word.partition("=")[0]: word for word in words}.values()]


@pytest.fixture(scope="session")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text file of 60,000 made-up characters, the same every time."""
    path = tmp_path_factory.mktemp("corpus") / "words.txt"
    sounds = ["ba", "do", "ki", "lu", "me", "no", "pra", "sti", "ta", "zu"]
    state, lines = 1, []
    for _ in range(1500):
        line = ""
        for _ in range(14):
            state = (state * 1103515245 + 12345) % 2**31
            line += sounds[(state >> 16) % 10] + (" " if state >> 20 & 1 else "")
        lines.append(line)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The token cache of this test session."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _own_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABLATE_CACHE", str(cache))


@pytest.fixture
def without_privileges() -> list[str]:
    """Words before a command that take root's privilege to write to and read from anything."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("nothing is forbidden to root, and no setpriv here")
    capabilities = "-dac_override,-dac_read_search"
    return ["setpriv", f"--bounding-set={capabilities}", f"--inh-caps={capabilities}"]


@pytest.fixture
def ablate(tmp_path: Path, cache: Path) -> Command:
    """Run the real command in a fresh folder: `ablate("run", "depth=2").returncode`."""

    def run(*words: str, cwd: Path = tmp_path, **more: object) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "ABLATE_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
        environment |= more.pop("env", {})  # type: ignore[arg-type]
        return subprocess.run(
            [sys.executable, "-m", "ablate", *words],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
