"""What Hydra's own main does: print a config, and do runs that hydra settings go with."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from ablate.config.compose import Composer
from ablate.config.identity import identify
from ablate.config.schema import plain
from ablate.errors import in_a_line
from ablate.record import disk
from ablate.run.foreground import run_in_foreground
from ablate.run.planned import PlannedRun, stamp
from ablate.run.stop import Stop
from ablate.shell.stderr import say
from ablate.sweep.arguments import Arguments


def show(arguments: Arguments, composer: Composer) -> int:
    """Let Hydra print what --cfg, --info and the like ask for, after our checks."""
    jobs = composer.jobs(arguments.overrides, sweep=arguments.multirun)
    with composer.session():
        composer.one(jobs[0])
    # Hydra shows one config and refuses several values: of a sweep the first run is shown.
    return hand_to_hydra(replace(arguments, overrides=tuple(jobs[0])), lambda config: None)


def start(arguments: Arguments, stop: Stop, plan: Sequence[PlannedRun]) -> dict[str, str]:
    """Do what is wanted of a plan, one run after the other.

    Returns what failed without a record of it, by name, with the reason. Raises KeyboardInterrupt
    where the runs were stopped.
    """
    tally = Tally(sum(planned.wanted() for planned in plan))
    unrecorded: dict[str, str] = {}

    def task(config: DictConfig) -> float | None:
        try:
            return job(config, stop, tally)
        except OSError as error:  # Hydra would end the sweep, with words of its own
            unrecorded[Path(HydraConfig.get().runtime.output_dir).name] = in_a_line(error)
            return None

    try:
        hand_to_hydra(arguments, task)
    except OSError as error:  # of Hydra's own files
        left = [planned.identity.name for planned in plan if planned.status() is None]
        return unrecorded | dict.fromkeys(left, in_a_line(error))
    return unrecorded


def hand_to_hydra(arguments: Arguments, task: Callable[[Any], Any]) -> int:
    """Call Hydra's main with the command line in the order that it can read."""
    import hydra

    from ablate.config.catalogue import config_folder

    def ablate(config: Any) -> Any:
        return task(config)

    # Hydra then raises what goes wrong outside a run instead of printing it and leaving.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    sys.argv = ["ablate run", *arguments.for_hydra()]
    hydra.main(str(config_folder()), "run", version_base="1.3")(ablate)()
    return 0


class Tally:
    """How far a sweep of `total` runs is, and how long the rest may take."""

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.total, self.clock = total, clock
        self.begun = 0
        self._start = clock()

    def begin(self) -> str:
        """What to say when the next run begins; empty for a single run.

        >>> tally = Tally(3, clock=iter([0.0, 0.0, 60.0]).__next__)
        >>> tally.begin(), tally.begin()
        ('run 1 of 3', 'run 2 of 3, about 2 min left')
        """
        self.begun += 1
        if self.total == 1:
            return ""
        done, spent = self.begun - 1, self.clock() - self._start
        words = f"run {self.begun} of {self.total}"
        if not done:
            return words
        left = spent / done * (self.total - done)
        return f"{words}, about {f'{left / 60:.0f} min' if left >= 90 else f'{left:.0f} s'} left"


def job(config: DictConfig, stop: Callable[[], bool], tally: Tally | None) -> float | None:
    """Do one run, or nothing where it is finished; its validation loss, for a sweeper.

    Without a tally it is one of several whose order nobody knows. Raises KeyboardInterrupt where
    the user stopped it.
    """
    if stop():
        raise KeyboardInterrupt
    hydra = HydraConfig.get()
    whole = OmegaConf.merge({"hydra": hydra}, config)
    assert isinstance(whole, DictConfig)
    settings, folder = plain(config), Path(hydra.runtime.output_dir)
    planned = PlannedRun(settings, identify(whole, settings), folder, stamp=stamp(folder))
    if planned.wanted():
        if tally and (words := tally.begin()):
            say(words)
        brief = tally is None or tally.total > 1
        result = run_in_foreground(planned, stop, brief=brief)
    else:
        result, _ = disk.read(folder)
        say(f"{planned.identity.name}: already {planned.status()}")
    return result.loss.validation if result else None
