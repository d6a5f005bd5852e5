"""The runs of a plan by a launcher of Hydra: submitit on Slurm, Ray, or another plugin.

Workers must see the folder in which the command is given under the same path. That no two of them
share a run rests on flock, which NFS 4 and Lustre (mounted with -o flock) carry between machines,
and where there is none on a file that one process alone can create.
"""

import time
from collections.abc import Callable, Sequence

from hydra._internal.callbacks import Callbacks
from hydra.core.global_hydra import GlobalHydra
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import HydraException
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, RunMode

from ablate.config.compose import Composer
from ablate.config.mistakes import EXTRAS
from ablate.errors import UserError, in_a_line
from ablate.record import lock
from ablate.shell.stderr import say
from ablate.sweep.arguments import is_hydras
from ablate.sweep.plan import PlannedRun
from ablate.sweep.remote import here

TRIES = 2
POLL = 0.5  # seconds between two looks at runs that other workers hold


def launch(
    plan: Sequence[PlannedRun], composer: Composer, stop: Callable[[], bool]
) -> dict[str, str]:
    """Do what is wanted of a plan; what failed without a record, by name, with the reason.

    `jobs=N` hands over N runs at a time and waits for them; else all at once, and how many of them
    start is the launcher's business. Runs whose worker is lost are handed over once more, and then
    recorded as failed.
    """
    unrecorded: dict[str, str] = {}
    waiting = [planned for planned in plan if planned.wanted()]
    with composer.session():
        launcher = make_launcher(waiting[0], composer, stop)
        for _ in range(TRIES):
            size = waiting[0].config["jobs"] or len(waiting)
            for first in range(0, len(waiting), size):
                if not stop():
                    unrecorded |= hand_over(launcher, waiting[first : first + size], first)
            wait_for(waiting, stop)
            waiting = [p for p in waiting if lost(p) and p.identity.name not in unrecorded]
            if stop() or not waiting:
                return unrecorded
    for planned in waiting:
        if planned.status():
            give_up(planned)
    return unrecorded


def make_launcher(first: PlannedRun, composer: Composer, stop: Callable[[], bool]) -> Launcher:
    """The launcher that the overrides of a run name; its own files go to that run's study."""
    hydra = GlobalHydra.instance().hydra
    assert hydra is not None
    config = hydra.compose_config(
        config_name="run",
        overrides=first.overrides,
        run_mode=RunMode.MULTIRUN,
        with_log_configuration=False,
    )
    context = HydraContext(config_loader=hydra.config_loader, callbacks=Callbacks(config))
    try:
        return Plugins.instance().instantiate_launcher(
            hydra_context=context, task_function=here(stop), config=config
        )
    except (HydraException, RuntimeError) as error:  # RuntimeError: the plugin is not installed
        chosen = config.hydra.runtime.choices["hydra/launcher"]
        raise UserError(f"hydra/launcher={chosen}: {in_a_line(error)}. {EXTRAS}") from error


def hand_over(launcher: Launcher, batch: Sequence[PlannedRun], first: int) -> dict[str, str]:
    """Launch some runs and wait for them; failures outside of a run, by name.

    A launcher raises where it cannot start, and as soon as it finds one of its workers gone. Raises
    UserError where none of the runs has begun.
    """
    jobs = [[o for o in p.overrides if not is_hydras(o)] for p in batch]
    try:
        returned = launcher.launch(jobs, first)
    except Exception as error:
        if not any(planned.status() for planned in batch):
            raise UserError(f"the launcher does not begin: {in_a_line(error)}") from error
        say(f"the launcher says: {in_a_line(error)}")
        return {}
    ended = zip(batch, returned, strict=True)
    return {p.identity.name: in_a_line(job._return_value) for p, job in ended if broke(job)}


def broke(returned: JobReturn) -> bool:
    """Whether a job raised, which a run that has begun does not."""
    return returned.status is JobStatus.FAILED


def wait_for(plan: Sequence[PlannedRun], stop: Callable[[], bool]) -> None:
    """Wait until no process holds any of the runs: others go on where one worker is lost."""
    while not stop() and any(lock.is_held(planned.directory) for planned in plan):
        time.sleep(POLL)


def lost(planned: PlannedRun) -> bool:
    """Whether a run came to no end, where nobody is at it any more.

    One that is still in a queue is handed over again with those: whichever job comes second finds
    the run done or held.
    """
    return planned.status() in ("running", None)


def give_up(planned: PlannedRun) -> None:
    """Record that the workers of a run were lost."""
    from ablate.run.recording import close_record

    why = f"the worker that ran it was lost, {TRIES} times"
    close_record(planned.config, planned.identity, planned.directory, "failed", why)
