"""A run as a worker of a launcher does it, perhaps on another machine."""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from ablate.config.compose import register


class RemoteJob:
    """What Hydra's launchers send to their workers.

    A worker may start anywhere. Taking the job out of its envelope brings it to the folder in which
    the command was given, so that paths mean the same and the user's classes are found, and makes
    Hydra there know what composing a run needs.
    """

    def __init__(
        self, folder: Path, paths: tuple[str, ...], stop: Callable[[], bool] | None = None
    ) -> None:
        self.folder, self.paths, self.stop = folder, paths, stop

    def __call__(self, config: DictConfig) -> float | None:
        """Do the run; None where its worker was asked to stop, which its record then says."""
        from ablate.run.stop import Stop
        from ablate.sweep.by_hydra import job

        if self.stop:  # the launcher did not send it anywhere
            return job(config, self.stop, None)
        main = threading.current_thread() is threading.main_thread()
        stop = Stop()
        try:
            if not main:  # where no signal can be caught
                return job(config, stop, None)
            with stop:
                return job(config, stop, None)
        except KeyboardInterrupt:
            return None

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return arrive, (self.folder, self.paths)


def here(stop: Callable[[], bool]) -> RemoteJob:
    """The job for workers that shall do as if they were here; `stop` counts in this process."""
    return RemoteJob(Path.cwd(), tuple(path for path in sys.path if path), stop)


def arrive(folder: Path, paths: tuple[str, ...]) -> RemoteJob:
    """Make this process one that can do the job."""
    os.chdir(folder)
    sys.path.extend(path for path in paths if path not in sys.path)
    register()
    return RemoteJob(folder, paths)
