"""What became of the runs of a command, in words: a table, what failed, and what to do next."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ablate.record import disk, lock
from ablate.run.summary import duration
from ablate.shell.stderr import say
from ablate.shell.terminal import in_columns
from ablate.sweep.arguments import Arguments
from ablate.sweep.plan import PlannedRun

NOT_STARTED = "not started"
UNFINISHED = ("failed", "interrupted", "running", NOT_STARTED)


@dataclass(frozen=True)
class EndedRun:
    """A run as it was left."""

    planned: PlannedRun
    status: str
    label: str
    loss: str
    seconds: str
    reason: str

    def cells(self) -> tuple[str, ...]:
        """The row of the table; the name last, as it may be long."""
        return self.status, self.label, self.loss, self.seconds, self.planned.identity.name


HEADING = ("status", "label", "val. loss", "time", "run")


def outcome(planned: PlannedRun, unrecorded: Mapping[str, str]) -> EndedRun:
    """Read what became of a run; `unrecorded` has failures that its record does not tell."""
    record, problem = disk.read(planned.directory)
    lost = unrecorded.get(planned.identity.name)
    if record is None or lost:
        status = "failed" if lost or planned.directory.exists() else NOT_STARTED
        return EndedRun(planned, status, "", "", "", lost or problem or "did not start")
    loss, seconds = record.loss.validation, record.timing.total_seconds
    killed = lock.was_killed(record.status, planned.directory)
    return EndedRun(
        planned,
        "interrupted" if killed else str(record.status),
        record.label or "",
        f"{loss:.3f}" if loss is not None else "",
        duration(seconds) if seconds is not None else "",
        record.error or "",
    )


def summarise(
    plan: Sequence[PlannedRun],
    arguments: Arguments,
    unrecorded: Mapping[str, str],
    *,
    interrupted: bool,
) -> int:
    """Say what became of each run and what to do next; the exit code."""
    outcomes = [outcome(planned, unrecorded) for planned in plan]
    failed = [o for o in outcomes if o.status == "failed"]
    unfinished = [o for o in outcomes if o.status in UNFINISHED]
    interrupted = interrupted and bool(unfinished)
    if len(plan) > 1:
        say("\n" + "\n".join(in_columns(HEADING, [o.cells() for o in outcomes])))
    if len(plan) > 1 or interrupted or unfinished:
        counts = count_statuses([o.status for o in outcomes])
        say(f"\n{len(plan)} run{'s' * (len(plan) > 1)}: {counts}")
    for run in failed:
        log = run.planned.directory / "run.log"
        say(f"  failed: {run.planned.identity.name}: {run.reason}\n    see {log}")
    if interrupted or unfinished:
        say(f"To go on from there: {arguments.to_go_on()}")
        if interrupted and any(planned.config["rerun"] for planned in plan):
            say("What was not begun again has kept its earlier result; rerun=true repeats all.")
    if len(plan) > 1 and not interrupted:
        studies = sorted({str(planned.directory.parent) for planned in plan})
        say(f"Next: ablate report {shlex.join(studies)}")
    if interrupted:
        return 130
    return 1 if unfinished else 0


def count_statuses(statuses: Sequence[str | None]) -> str:
    """Say how many there are of each.

    >>> count_statuses(["done", "failed", "done", None])
    '2 done, 1 failed, 1 not started'
    """
    words = [status or NOT_STARTED for status in statuses]
    return ", ".join(f"{words.count(word)} {word}" for word in sorted(set(words)))
