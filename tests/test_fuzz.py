"""A sample of the random command lines of scripts/fuzz.py, and that it sees what is wrong."""

import collections
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    path = Path(__file__).parents[1] / "scripts" / "fuzz.py"
    spec = importlib.util.spec_from_file_location("fuzz", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_random_line_ends_in_a_traceback_a_hang_or_a_file(
    fuzz: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended: collections.Counter[str] = collections.Counter()
    assert list(fuzz.failures(30, 12, ended)) == []
    assert ended["exit 2"] > 5


def divide(folder: Path) -> float:
    return 1 / 0


def leave(folder: Path) -> int:
    (folder / "x").touch()
    return 2


@pytest.mark.parametrize(
    ("fault", "how"), [(divide, "traceback"), (leave, "left files"), (lambda _: 2, "many words")]
)
def test_what_is_wrong_is_seen(
    fault, how: str, fuzz: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz, "main", lambda words: fault(tmp_path))
    assert fuzz.try_line(["list"], tmp_path)[0] == how
