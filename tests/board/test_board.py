import contextlib
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from ablate.board import command as board
from ablate.errors import UserError

BOARD = [
    sys.executable,
    "-c",
    "import sys; from ablate.board.command import main; main(sys.argv[1:])",
]


def make_run(directory: Path) -> Path:
    writer = EventFileWriter(str(directory))
    summary = Summary(value=[Summary.Value(tag="loss/train", simple_value=2.5)])
    writer.add_event(Event(step=1, wall_time=time.time(), summary=summary))
    writer.close()
    return directory


@contextlib.contextmanager
def taken_port() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def alive(group: int) -> list[str]:
    """Processes of a group that still run, by /proc; one that only waits to be reaped does not."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended while we looked
            name, _, rest = path.read_text().rpartition(")")
            state, _, its_group = rest.split()[:3]
            if int(its_group) == group and state != "Z":
                found.append(name)
    return found


def ended(group: int) -> bool:
    for _ in range(100):
        if not alive(group):
            return True
        time.sleep(0.05)
    return False


@contextlib.contextmanager
def running(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A board in a process of its own, and its address."""
    process = subprocess.Popen(
        [*BOARD, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a process group of its own, to see who stays behind
    )
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def get(address: str) -> str:
    with urllib.request.urlopen(address, timeout=10) as answer:
        return answer.read().decode()


def wait_for_run(address: str, name: str) -> None:
    runs = ""
    for _ in range(100):
        runs = get(f"{address.split('?')[0]}data/runs")
        if name in runs:
            return
        time.sleep(0.1)
    raise AssertionError(f"{name} is not among {runs}")


def test_the_page_is_served_and_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    make_run(tmp_path / "first" / "pos=rope,norm=pre,seed=0-1f3a9c2e")
    with running("--outputs", str(tmp_path), "--port", "0") as (process, address):
        assert address.startswith("http://127.0.0.1:")
        assert "<title>TensorBoard</title>" in get(address)
        wait_for_run(address, "first/pos=rope,norm=pre,seed=0-1f3a9c2e")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=10)
        assert process.returncode == 0
        assert errors == "TensorBoard shows 1 run; Ctrl-C ends it\n", "no noise from TensorBoard"
        assert ended(process.pid)


def test_several_folders_and_no_orphan_after_a_kill(tmp_path: Path) -> None:
    one = make_run(tmp_path / "one" / "pos=rope,seed=0-aaaaaaaa")
    two = make_run(tmp_path / "two" / "pos=rope,seed=0-bbbbbbbb")
    with running(str(one), str(two.parent), "--port", "0") as (process, address):
        wait_for_run(address, "pos=rope,seed=0-aaaaaaaa")
        wait_for_run(address, "two/pos=rope,seed=0-bbbbbbbb")
        process.kill()
        process.wait()
        assert ended(process.pid)


def test_a_taken_port_is_an_error_that_names_a_free_one(tmp_path: Path) -> None:
    make_run(tmp_path / "run")
    with taken_port() as port, pytest.raises(UserError, match=rf"port={port} .*--port \d+"):
        board.main([str(tmp_path), "--port", str(port)])


def test_without_a_port_the_next_free_one_is_taken() -> None:
    with taken_port() as port:
        assert not board.is_free("127.0.0.1", port)
        assert board.free_port("127.0.0.1", port) > port


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere is not a folder"),
        (["--outputs", "nowhere"], "nowhere is not a folder"),
        (["empty"], "no runs .* in empty"),
        (["empty", "--host", "no.such.host.invalid"], "no runs"),
        (["full", "--host", "no.such.host.invalid"], "host=no.such.host.invalid is unknown"),
        (["full", "--host", "203.0.113.7"], "not an address of this machine"),
    ],
)
def test_a_mistake_is_told_in_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    make_run(Path("full"))
    with pytest.raises(UserError, match=message) as caught:
        board.main(arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("port", ["abc", "-1", "65536"])
def test_a_port_is_a_number_that_a_port_can_have(port: str) -> None:
    with pytest.raises(UserError, match="from 0 to 65535"):
        board.main([f"--port={port}"])


def test_folders_of_one_name_are_told_apart(tmp_path: Path) -> None:
    one, two = tmp_path / "one" / "run", tmp_path / "two" / "run"
    assert board.link_names([one, two, one]) == {"one_run": one, "two_run": two}
    assert list(board.link_names([one, tmp_path / "two"])) == ["run", "two"]


def test_importing_the_board_imports_neither_torch_nor_tensorboard() -> None:
    code = (
        "import sys, ablate.board.command; "
        "sys.exit(bool({'torch', 'tensorboard'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
