"""The runs of a plan on this machine, each in a process of its own."""

import atexit
import contextlib
import errno
import multiprocessing
import os
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

from ablate.run.planned import PlannedRun
from ablate.shell.cores import usable_cores
from ablate.sweep.pool.foreman import Foreman
from ablate.sweep.pool.live import display
from ablate.sweep.pool.processes import Job, Pool
from ablate.sweep.pool.progress_rows import RunRows

LOADED = (
    "ablate.sweep.pool.worker",
    "torch._dynamo",  # making an optimiser imports it
    "matplotlib.backends.backend_agg",  # as TensorBoard's pictures do
    "matplotlib.figure",
    "matplotlib.style",
    "PIL.PngImagePlugin",
    *(f"PIL.{name}ImagePlugin" for name in ("Bmp", "Gif", "Jpeg", "Ppm")),  # before any PNG
    "tensorboard.plugins.hparams.summary_v2",
    "ablate.data.lm",  # what runs by default are made of
    "ablate.model.placement.rows",
    "ablate.model.position.rotary",
    "ablate.model.recipes",
)
"""What the fork server has ready, so that no run pays for it anew: several seconds in all."""

HEEDED_BY_POOL = (signal.SIGINT, signal.SIGHUP)
SHORT = 60  # bytes of a folder's path; 40 more are added
SHORT_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")


def launch(plan: Sequence[PlannedRun], stop: Callable[[], bool], about: str = "") -> dict[str, str]:
    """Do what is wanted of a plan; what failed and could not be recorded, by name, with the reason.

    The display says what it is `about`. Raises OSError where a study's folder cannot be written
    and KeyboardInterrupt where the user does not wait for the runs to stop.
    """
    from ablate.sweep.pool.worker import work

    wanted = [planned for planned in plan if planned.wanted()]
    for study in sorted({planned.directory.parent for planned in wanted}):
        check_writable(study)
    size, threads = shares(plan)
    rows = RunRows([planned.identity.name for planned in wanted], size, about=about)
    shown = display(rows)
    foreman = Foreman(wanted, rows, shown)
    pool = Pool(work, size, foreman, stop)

    def jobs(batch: Sequence[PlannedRun]) -> Iterator[Job]:
        for planned in batch:
            if foreman.may_begin(planned):
                yield job(planned, threads)

    shown.open()
    try:
        while batch := foreman.next_batch(stop):
            pool.run(jobs(batch))
    finally:
        shown.close()
    return foreman.unrecorded


def job(planned: PlannedRun, threads: int) -> Job:
    """A planned run as the pool takes it."""
    from ablate.sweep.pool.worker import Assignment

    assignment = Assignment(planned.anywhere(), planned.config["threads"] or threads)
    return Job(planned.identity.name, assignment, planned.config["run"]["timeout"])


def check_writable(folder: Path) -> None:
    """Make a folder; raises OSError where it cannot be made or nothing can be made in it."""
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "this folder cannot be written to", str(folder))


def shares(plan: Sequence[PlannedRun]) -> tuple[int, int]:
    """How many runs at a time, and how many threads each.

    By the size of the whole plan and not of what is left of it, so that a run that goes on has the
    threads that it began with: numbers are the same for the same count only.
    """
    import torch

    from ablate.build import pick_device

    first = plan[0].config
    cores = usable_cores()
    gpus = torch.cuda.device_count() if pick_device(first["device"]).type == "cuda" else 0
    return shared_out(first, len(plan), cores, gpus, torch.get_num_threads())


def shared_out(
    config: Mapping[str, Any], runs: int, cores: int, gpus: int, most: int
) -> tuple[int, int]:
    """Runs at a time and threads a run, at most `most`, so that their product is `cores`.

    >>> shared_out({"jobs": None, "threads": None}, 24, cores=8, gpus=0, most=8)
    (8, 1)
    >>> shared_out({"jobs": None, "threads": None}, 3, cores=8, gpus=0, most=8)
    (3, 2)
    >>> shared_out({"jobs": None, "threads": 4}, 24, cores=8, gpus=0, most=8)
    (2, 4)
    >>> shared_out({"jobs": None, "threads": None}, 24, cores=8, gpus=2, most=8)
    (2, 4)
    """
    usual = gpus or max(1, cores // (config["threads"] or 1))
    size = min(config["jobs"] or usual, runs)
    return size, config["threads"] or max(1, min(most, cores // size))


def warm_up(preload: Sequence[str] = LOADED) -> None:
    """Start the process that runs are forked from, with these modules loaded, and do not wait.

    It must have one thread only when it forks: it imports and does no arithmetic, and numpy's BLAS,
    which would start its threads on import, is kept to one.
    """
    multiprocessing.set_forkserver_preload(list(preload))
    # What is ignored here stays so in all processes: Ctrl-C and a terminal that closes reach them
    # through the pool alone.
    before = {number: signal.signal(number, signal.SIG_IGN) for number in HEEDED_BY_POOL}
    threads = os.environ.get("OPENBLAS_NUM_THREADS")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        with short_temporary_folder():
            forkserver.ensure_running()
        atexit.register(end_server)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        del os.environ["OPENBLAS_NUM_THREADS"]
        if threads is not None:
            os.environ["OPENBLAS_NUM_THREADS"] = threads


@contextlib.contextmanager
def short_temporary_folder() -> Iterator[None]:
    """Let temporary files have a path that is short enough for a socket, in which the server waits.

    The system allows about 108 bytes, and this Python puts the socket where TMPDIR says.
    """
    before = tempfile.gettempdir()
    if len(os.fsencode(before)) > SHORT:
        fitting = (path for path in SHORT_FOLDERS if os.access(path, os.W_OK | os.X_OK))
        tempfile.tempdir = next(fitting, before)
    try:
        yield
    finally:
        tempfile.tempdir = before


def end_server() -> None:
    """End it at once, also while it still loads what nobody needs any more."""
    if server := forkserver._forkserver._forkserver_pid:  # type: ignore[attr-defined]
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(server, signal.SIGKILL)
            os.waitpid(server, 0)
