"""The process that the others are forked from, and what its exit codes mean."""

import atexit
import contextlib
import multiprocessing
import os
import signal
from multiprocessing import forkserver

SERVER_GONE = 255  # the exit code that multiprocessing makes up when its fork server has died


def reason_of(code: int | None) -> str | None:
    """Why a process with that exit code ended; None where it came to its own end.

    >>> reason_of(-9), reason_of(-11), reason_of(0)
    ('killed by signal 9 (out of memory?)', 'killed by signal 11 (SIGSEGV)', None)
    """
    if code == 0:
        return None
    if code is None or code == SERVER_GONE:
        return "its process ended, and how is not known"
    if code > 0:
        return f"its process ended with exit code {code}"
    names = {signal.SIGKILL.value: "out of memory?"} | {
        number.value: number.name for number in signal.Signals if number != signal.SIGKILL
    }
    return f"killed by signal {-code} ({names.get(-code, 'of no name')})"


def alive(pid: int) -> bool:
    """Whether there is a process of that number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def start_server(preload: list[str]) -> None:
    """Start the process that others are forked from, with these modules loaded, and do not wait.

    It must have one thread only when it forks: it imports and does no arithmetic, and numpy's BLAS,
    which would start its threads on import, is kept to one.
    """
    multiprocessing.set_forkserver_preload(preload)
    # What is ignored here stays so in all processes: Ctrl-C reaches them through the pool alone.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    threads = os.environ.get("OPENBLAS_NUM_THREADS")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        forkserver.ensure_running()
        atexit.register(end_server)
    finally:
        signal.signal(signal.SIGINT, before)
        del os.environ["OPENBLAS_NUM_THREADS"]
        if threads is not None:
            os.environ["OPENBLAS_NUM_THREADS"] = threads


def end_server() -> None:
    """End it at once, also while it still loads what nobody needs any more."""
    if server := forkserver._forkserver._forkserver_pid:  # type: ignore[attr-defined]
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(server, signal.SIGKILL)
            os.waitpid(server, 0)
