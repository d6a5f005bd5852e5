"""One process a folder, also where the file system has no locks."""

import errno
import fcntl
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ablate.record import lock, lock_file


@pytest.fixture(params=[errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def _no_flock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(request.param, os.strerror(request.param))

    monkeypatch.setattr(fcntl, "flock", refuse)


@pytest.mark.usefixtures("_no_flock")
def test_without_flock_a_file_is_the_lock(tmp_path: Path) -> None:
    assert not lock.is_held(tmp_path)
    with lock.hold(tmp_path):
        assert lock.is_held(tmp_path)
        assert not lock.was_killed("running", tmp_path)
        with (
            pytest.raises(lock.Busy, match=f"process {os.getpid()} is at work"),
            lock.hold(tmp_path),
        ):
            pass
        assert lock.is_held(tmp_path)
    assert not lock.is_held(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [lock.NAME]
    with lock.hold(tmp_path):
        pass


def gone() -> str:
    """The words of a process that has ended."""
    program = (
        "from ablate.record.lock_file import words_of; import os; print(words_of(os.getpid()))"
    )
    return subprocess.check_output([sys.executable, "-c", program], text=True).strip()


@pytest.mark.usefixtures("_no_flock")
@pytest.mark.parametrize("words", ["gone", "another start", "cut"])
def test_what_a_dead_process_left_is_no_lock(tmp_path: Path, words: str) -> None:
    host, own = socket.gethostname(), os.getpid()
    left = {"gone": gone(), "another start": f"{host} {own} 1", "cut": ""}[words]
    (tmp_path / lock_file.NAME).write_text(left)
    os.utime(tmp_path / lock_file.NAME, (1, 1))
    assert not lock.is_held(tmp_path)
    with lock.hold(tmp_path):
        assert lock_file.content(tmp_path / lock_file.NAME) == lock_file.words_of(own)


@pytest.mark.usefixtures("_no_flock")
def test_of_another_machine_nobody_knows_and_the_file_is_named(tmp_path: Path) -> None:
    (tmp_path / lock.NAME).touch()
    (tmp_path / lock_file.NAME).write_text("elsewhere 12 345")
    assert lock.is_held(tmp_path)
    told = r"12 on elsewhere .* remove .*\.lock\.owner"
    with pytest.raises(lock.Busy, match=told), lock.hold(tmp_path):
        pass


@pytest.mark.usefixtures("_no_flock")
def test_one_that_is_about_to_write_its_name_holds_it(tmp_path: Path) -> None:
    (tmp_path / lock.NAME).touch()
    (tmp_path / lock_file.NAME).touch()
    assert lock.is_held(tmp_path)


def test_other_errors_are_no_reason_to_do_without_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(fcntl, "flock", fail)
    with pytest.raises(OSError, match="input/output error"), lock.hold(tmp_path):
        pass
