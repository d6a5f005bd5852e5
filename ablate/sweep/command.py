"""The verb `run`: check everything, then hand the runs to Hydra."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FrameType
from typing import Any

from ablate import record
from ablate.compose import Composer
from ablate.sweep.arguments import Arguments, separate
from ablate.sweep.changed import changes
from ablate.sweep.help import help_text
from ablate.sweep.plan import Planned, check_buildable, make_plan
from ablate.sweep.state import Tally, say


def main(arguments: Sequence[str]) -> int:
    """Run what the command line asks for; the exit code."""
    given = separate(arguments)
    if given.help:
        print(help_text(given.folders))
        return 0
    composer = Composer(given.folders)
    if given.asks_hydra:
        return show(given, composer)
    plan = make_plan(given, composer)
    wanted = [p for p in plan if p.wanted()]
    for line in changes(plan):
        say(line)
    if not wanted:
        return already_done(plan, given)
    if len(wanted) > 1:
        say(f"{len(wanted)} runs to do; each arm is built once before any starts")
    check_buildable(wanted)
    stop = Stop()
    with stop:
        interrupted = not start(given, stop, Tally(len(wanted)))
    return summarise(plan, given, interrupted=interrupted)


def show(given: Arguments, composer: Composer) -> int:
    """Let Hydra print what --cfg, --info and the like ask for, after our checks."""
    jobs = composer.jobs(given.overrides, sweep=given.multirun)
    with composer.session():
        composer.one(jobs[0])
    # Hydra shows one config and refuses several values: of a sweep the first run is shown.
    return hand_to_hydra(replace(given, overrides=tuple(jobs[0])), lambda config: None)


def start(given: Arguments, stop: "Stop", tally: Tally) -> bool:
    """Do all runs through Hydra; false where the user stopped them."""
    from ablate.sweep.job import job
    from ablate.train.loop import Stopped

    try:
        hand_to_hydra(given, lambda config: job(config, stop, tally))
    except (Stopped, KeyboardInterrupt):
        return False
    return True


def hand_to_hydra(given: Arguments, task: Callable[[Any], Any]) -> int:
    """Call Hydra's main with the command line in the order that it can read."""
    import hydra

    from ablate.catalogue import config_folder

    def ablate(config: Any) -> Any:
        return task(config)

    # Hydra then raises what goes wrong outside a run instead of printing it and leaving.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    sys.argv = ["ablate run", *given.for_hydra()]
    hydra.main(str(config_folder()), "run", version_base="1.3")(ablate)()
    return 0


def already_done(plan: Sequence[Planned], given: Arguments) -> int:
    """Say that there is nothing to do, and how to do it anyway."""
    if len(plan) == 1:
        from ablate.train.summary import summary_lines

        found, _ = record.read(plan[0].directory)
        # A finished record that someone cut or changed may lack what a summary tells.
        with contextlib.suppress(TypeError, ValueError, LookupError):
            say("\n".join(summary_lines(found or {}, plan[0].directory)))
    counts = count_statuses(plan)
    say(f"Nothing to do: {counts}. Add rerun=true to run again.")
    return 1 if any(p.status() == "failed" for p in plan) else 0


def summarise(plan: Sequence[Planned], given: Arguments, *, interrupted: bool) -> int:
    """Say what became of each run and what to do next; the exit code."""
    statuses = {p.identity.name: p.status() for p in plan}
    lost = ("failed",) if interrupted else ("failed", None)  # what was not begun has not failed
    failed = [p for p in plan if statuses[p.identity.name] in lost]
    studies = sorted({str(p.directory.parent) for p in plan})
    if len(plan) > 1 or interrupted or failed:
        say(f"\n{len(plan)} run{'s' * (len(plan) > 1)}: {count_statuses(plan)}")
    for planned in failed:
        found, problem = record.read(planned.directory)
        reason = (found or {}).get("error") or problem or "did not start"
        say(f"  failed: {planned.identity.name}: {reason}\n    see {planned.directory / 'run.log'}")
    if interrupted or failed:
        say(f"To go on from there: ablate run {given.as_typed()}")
    if len(plan) > 1 and not interrupted:
        say(f"Next: ablate report {' '.join(studies)}")
    if interrupted:
        return 130
    return 1 if failed else 0


def count_statuses(plan: Sequence[Planned]) -> str:
    """For example "3 done, 1 failed"."""
    statuses = [p.status() or "not started" for p in plan]
    return ", ".join(f"{statuses.count(s)} {s}" for s in sorted(set(statuses)))


class Stop:
    """Whether the user asked to stop: set by the first SIGINT or SIGTERM; a second one kills."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, Any] = {}

    def __call__(self) -> bool:
        return self.asked

    def __enter__(self) -> "Stop":
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        say("\nStopping after this step, with a checkpoint; once more stops at once.")
