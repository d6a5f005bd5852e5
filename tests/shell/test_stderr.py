"""What is told of a run may get lost; the run may not."""

import errno
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ablate.shell.stderr import Enduring


def test_text_arrives_and_once_the_reader_is_gone_it_is_dropped() -> None:
    reader, writer = os.pipe()
    stream = Enduring(writer, "utf-8")
    print("ψ", file=stream, flush=True)
    assert os.read(reader, 100) == "ψ\n".encode()
    os.close(reader)
    for _ in range(3):
        print("nobody reads", file=stream, flush=True)
    assert os.path.samestat(os.fstat(writer), Path(os.devnull).stat())
    stream.close()
    os.close(writer)


def test_a_full_disk_is_no_reason_to_fall_silent_for_good() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    stream = Enduring(full, "utf-8")
    print("lost", file=stream, flush=True)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        stream.buffer.flush()  # it is still that file
    os.close(full)
    os.dup2(os.open(os.devnull, os.O_WRONLY), full)
    stream.close()
    os.close(full)


def test_streams_that_are_closed_are_opened_for_all_processes_of_a_command() -> None:
    program = """
import os, subprocess, sys
from ablate.shell.stderr import settle_streams
settle_streams()
print("to nowhere", file=sys.stderr, flush=True)
child = "import sys; sys.exit(any(s is None for s in (sys.stdin, sys.stdout, sys.stderr)))"
os._exit(subprocess.run([sys.executable, "-c", child], close_fds=False).returncode)
"""
    line = f"{shlex.quote(sys.executable)} -c {shlex.quote(program)} <&- >&- 2>&-"
    assert subprocess.run(["bash", "-c", line], check=False).returncode == 0


@pytest.mark.parametrize(
    ("ending", "code", "told"),
    [
        (">&-", 0, ""),
        ("2>&-", 0, ""),
        ("<&- >&- 2>&-", 0, ""),
        (">/dev/full", 1, "ablate: No space left on device\n"),
        ("| true", 0, ""),
    ],
)
def test_a_stdout_that_takes_nothing_is_no_traceback(ending: str, code: int, told: str) -> None:
    line = f"set -o pipefail; {shlex.quote(sys.executable)} -m ablate list pos {ending}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, told)
