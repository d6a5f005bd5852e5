"""The verb `run`: check everything, then have the runs done: here, by the pool, or by Hydra."""

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ablate.config.compose import Composer
from ablate.errors import UserError
from ablate.record import record
from ablate.run.state import STOPPING, Tally, say
from ablate.run.stop import Stop
from ablate.sweep.arguments import Arguments, is_hydras, separate
from ablate.sweep.changed import changes
from ablate.sweep.help import help_text
from ablate.sweep.outcome import count_statuses, summarise
from ablate.sweep.plan import PlannedRun, Product
from ablate.sweep.pool.launch import launch, warm_up
from ablate.sweep.study_plan import StudyRuns


def main(arguments: Sequence[str]) -> int:
    """Run what the command line asks for; the exit code."""
    given = separate(arguments)
    if given.help:
        print(help_text(given.folders))
        return 0
    composer = Composer(given.folders)
    if given.asks_hydra:
        return show(given, composer)
    if names_sweeper(given):
        from ablate.sweep.search import search

        return search(given, composer)
    asked = StudyRuns(given, composer) if given.study else Product(given, composer)
    plan = asked.plan()
    wanted = [p for p in plan if p.wanted()]
    for line in changes(plan):
        say(line)
    if not wanted:
        return already_done(plan, given)
    pooled = is_pooled(given, plan)
    if pooled:
        warm_up()
    if len(wanted) > 1:
        say(f"{len(wanted)} runs to do; each arm is built once before any starts")
    plan = asked.settle(plan)
    if not any(planned.wanted() for planned in plan):  # a study left out the rest
        return already_done(plan, given)
    stop = Stop("" if pooled else STOPPING)
    unrecorded: dict[str, str] = {}
    with stop:
        try:
            if pooled:
                unrecorded = launch(plan, given.folders, stop)
            elif names_launcher(given):
                from ablate.sweep import cluster

                unrecorded = cluster.launch(plan, composer, stop)
            else:
                start(given, stop, Tally(len(wanted)))
        except KeyboardInterrupt:
            stop.asked = True
    return summarise(plan, given, unrecorded, interrupted=stop.asked)


def is_pooled(given: Arguments, plan: Sequence[PlannedRun]) -> bool:
    """Whether ablate's own pool does the runs, and not this process or a launcher of Hydra.

    Raises UserError where a launcher of Hydra would not heed run.timeout.
    """
    timed = any(planned.config["run"]["timeout"] is not None for planned in plan)
    if any(map(is_hydras, given.overrides)):
        if timed:
            raise UserError(
                "run.timeout: only ablate's own launcher heeds it; with hydra settings use the "
                "time limit of the launcher, such as hydra.launcher.timeout_min"
            )
        return False
    return timed or len(plan) > 1 or given.study is not None


def names_launcher(given: Arguments) -> bool:
    """Whether a launcher of Hydra is to do the runs, or a study whose runs are no product."""
    return given.study is not None or any(w.startswith("hydra/launcher=") for w in given.overrides)


def names_sweeper(given: Arguments) -> bool:
    """Whether a sweeper of Hydra is to choose the runs."""
    return any(word.startswith("hydra/sweeper=") for word in given.overrides)


def show(given: Arguments, composer: Composer) -> int:
    """Let Hydra print what --cfg, --info and the like ask for, after our checks."""
    jobs = composer.jobs(given.overrides, sweep=given.multirun)
    with composer.session():
        composer.one(jobs[0])
    # Hydra shows one config and refuses several values: of a sweep the first run is shown.
    return hand_to_hydra(replace(given, overrides=tuple(jobs[0])), lambda config: None)


def start(given: Arguments, stop: Stop, tally: Tally) -> None:
    """Do all runs through Hydra; raises KeyboardInterrupt where they were stopped."""
    from ablate.run.job import job

    hand_to_hydra(given, lambda config: job(config, stop, tally))


def hand_to_hydra(given: Arguments, task: Callable[[Any], Any]) -> int:
    """Call Hydra's main with the command line in the order that it can read."""
    import hydra

    from ablate.config.catalogue import config_folder

    def ablate(config: Any) -> Any:
        return task(config)

    # Hydra then raises what goes wrong outside a run instead of printing it and leaving.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    sys.argv = ["ablate run", *given.for_hydra()]
    hydra.main(str(config_folder()), "run", version_base="1.3")(ablate)()
    return 0


def already_done(plan: Sequence[PlannedRun], given: Arguments) -> int:
    """Say that there is nothing to do, and how to do it anyway."""
    if len(plan) == 1:
        from ablate.run.summary import summary_lines

        found, _ = record.read(plan[0].directory)
        # A finished record that someone cut or changed may lack what a summary tells.
        with contextlib.suppress(TypeError, ValueError, LookupError):
            say("\n".join(summary_lines(found or {}, plan[0].directory)))
    counts = count_statuses([p.status() for p in plan])
    say(f"Nothing to do: {counts}. Add rerun=true to run again.")
    return 1 if any(p.status() == "failed" for p in plan) else 0
