"""What surrounds a command does not decide what it does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ablate.shell import folder
from ablate.shell.cores import quota
from tests.conftest import Command

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("groups", "limits", "cores"),
    [
        ("0::/\n", {"cpu.max": "200000 100000"}, 2),
        ("0::/\n", {"cpu.max": "max 100000"}, None),
        ("0::/a/b\n", {"a/cpu.max": "150000 100000", "a/b/cpu.max": "max 100000"}, 2),
        ("0::/a/b\n", {"a/cpu.max": "300000 100000", "a/b/cpu.max": "50000 100000"}, 1),
        ("0::/of/the/host\n", {"cpu.max": "400000 100000"}, 4),
        ("4:cpu,cpuacct:/x\n0::/\n", {"cpu,cpuacct/x/cpu.cfs_quota_us": "250000"}, 3),
        ("4:cpu:/x\n", {"cpu/x/cpu.cfs_quota_us": "-1"}, None),
        ("4:memory:/x\n", {"memory/x/cpu.max": "1 1"}, None),
        ("0::/\n", {"cpu.max": "nonsense"}, None),
    ],
)
def test_a_container_says_how_many_cores_it_has(
    tmp_path: Path, groups: str, limits: dict[str, str], cores: int | None
) -> None:
    files = {"proc/self/cgroup": groups}
    for name, text in limits.items():
        files[f"sys/fs/cgroup/{name}"] = text
        if name.endswith("quota_us"):
            files[f"sys/fs/cgroup/{name.replace('quota', 'period')}"] = "100000"
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert quota(tmp_path) == cores


def test_without_control_groups_there_is_no_limit(tmp_path: Path) -> None:
    assert quota(tmp_path) is None


def test_the_current_folder_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), "/before", str(tmp_path / "." / ""), "/x"])
    folder.come_last()
    assert sys.path == ["/before", "/x", str(tmp_path)]


def test_a_checkout_that_runs_itself_is_found_before_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.HOME)
    (tmp_path / "ablate").mkdir()
    monkeypatch.setattr(sys, "path", [folder.HOME, str(tmp_path)])
    folder.come_last()
    assert sys.path == [folder.HOME, str(tmp_path)]
    (tmp_path / "ablate").rmdir()
    folder.come_last()
    assert sys.path == [str(tmp_path), folder.HOME]


def test_files_of_the_folder_are_not_taken_for_modules(ablate: Command, tmp_path: Path) -> None:
    for name in ("random", "profile", "torch", "difflib", "shlex", "rich", "statistics"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')")
    done = ablate("list", "pos", env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr


def test_a_current_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    line = f"cd {tmp_path}/gone && rmdir {tmp_path}/gone && {sys.executable} -m ablate run"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", line], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.endswith(
        "ablate: the current folder: No such file or directory; go to another one\n"
    )
