"""The verb `run`: check everything, then have the runs done: here, by the pool, or by Hydra."""

from collections.abc import Sequence
from dataclasses import replace

from ablate.config.compose import Composer
from ablate.errors import in_a_line
from ablate.record import disk
from ablate.run.planned import PlannedRun
from ablate.run.stop import STOPPING, Stop
from ablate.shell.stderr import say
from ablate.sweep.arguments import Arguments, separate
from ablate.sweep.changed import changes
from ablate.sweep.help import help_text
from ablate.sweep.outcome import count_statuses, summarise
from ablate.sweep.plan import is_timed, refuse_time_limit, tell
from ablate.sweep.pool.launch import launch, warm_up
from ablate.sweep.study_plan import asked_for


def main(words: Sequence[str]) -> int:
    """Run what the command line asks for; the exit code."""
    arguments = separate(words)
    if arguments.help:
        print(help_text(arguments.folders))
        return 0
    composer = Composer(arguments.folders)
    arguments = replace(arguments, overrides=composer.spelled(arguments.overrides))
    if arguments.asks_hydra:
        from ablate.sweep.by_hydra import show

        return show(arguments, composer)
    if arguments.names_sweeper:
        from ablate.sweep.search import search

        return search(arguments, composer)
    note = None
    request = asked_for(arguments, composer)
    if arguments.until_decided:
        from ablate.sweep.until_decided import Looks, begin, follow

        request, note = begin(request, arguments, composer)
    plan = request.plan()
    if arguments.asks_plan:
        return tell(request.settle(plan, note=False))
    wanted = [planned for planned in plan if planned.wanted()]
    for line in changes(plan):
        say(line)
    if not wanted and not note:
        return already_done(plan)
    pooled = is_pooled(arguments, plan)
    if pooled:
        warm_up()
    if len(wanted) > 1:
        most = "at most " if note else ""
        say(f"{most}{len(wanted)} runs to do; each arm is built once before any starts")
    plan = request.settle(plan)
    if not note and not any(planned.wanted() for planned in plan):  # a study left out the rest
        return already_done(plan)
    stop = Stop("" if pooled else STOPPING)

    def do(some: Sequence[PlannedRun], about: str = "") -> dict[str, str]:
        try:
            return do_runs(some, arguments, composer, stop, about)
        except KeyboardInterrupt:
            stop.asked = True
            return {}

    with stop:
        if note:
            return follow(Looks(plan, note), arguments, stop, do)
        unrecorded = do(plan)
    return summarise(plan, arguments, unrecorded, interrupted=stop.asked)


def do_runs(
    plan: Sequence[PlannedRun],
    arguments: Arguments,
    composer: Composer,
    stop: Stop,
    about: str = "",
) -> dict[str, str]:
    """Do what is wanted of a plan; what failed and could not be recorded, by name, with the reason.

    The display says what it is `about`. Raises KeyboardInterrupt where the user does not wait for
    the runs to stop.
    """
    if is_pooled(arguments, plan):
        return launch(plan, stop, about)
    if not arguments.sets_hydra:
        from ablate.run.foreground import run_in_foreground

        try:
            run_in_foreground(plan[0], stop)  # more than one are the pool's
        except OSError as error:  # a full disk, no permission: its record cannot tell
            return {plan[0].identity.name: in_a_line(error)}
        return {}
    if arguments.names_launcher:
        from ablate.sweep import cluster

        return cluster.launch(plan, composer, stop)
    from ablate.sweep.by_hydra import start

    return start(arguments, stop, plan)


def is_pooled(arguments: Arguments, plan: Sequence[PlannedRun]) -> bool:
    """Whether ablate's own pool does the runs, and not this process or a launcher of Hydra.

    Raises UserError where a launcher of Hydra would not heed run.timeout.
    """
    if arguments.sets_hydra:
        refuse_time_limit(plan)
        return False
    return is_timed(plan) or len(plan) > 1 or arguments.study is not None


def already_done(plan: Sequence[PlannedRun]) -> int:
    """Say that there is nothing to do, and how to do it anyway."""
    if len(plan) == 1:
        from ablate.run.summary import summary_lines

        finished, _ = disk.read(plan[0].directory)
        if finished and finished.steps is not None:  # else someone cut it
            say("\n".join(summary_lines(finished, plan[0].directory)))
    counts = count_statuses([planned.status() for planned in plan])
    say(f"Nothing to do: {counts}. Add rerun=true to run again.")
    return 1 if any(planned.status() == "failed" for planned in plan) else 0
