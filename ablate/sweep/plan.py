"""Every run of a command, composed and checked before any starts."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ablate.config.compose import Composer
from ablate.errors import UserError
from ablate.run.planned import PlannedRun
from ablate.shell.stderr import say
from ablate.sweep.arguments import Arguments

MANY = 500
"""Runs whose plan takes seconds, so that it is told."""


@dataclass(frozen=True)
class Product:
    """Every combination of the values on a command line."""

    arguments: Arguments
    composer: Composer

    def jobs(self) -> list[list[str]]:
        """The overrides of every run."""
        return self.composer.jobs(self.arguments.overrides, sweep=self.arguments.multirun)

    def plan(self) -> list[PlannedRun]:
        """Compose and check every run; equal runs appear once."""
        return compose_all(self.jobs(), self.composer, of_many=self.arguments.multirun)

    def settle(self, plan: list[PlannedRun], *, note: bool = True) -> list[PlannedRun]:
        """Raise UserError for a run whose objects cannot be made, before any folder is."""
        for _, error in refused([planned for planned in plan if planned.wanted()]):
            raise error
        return plan


def compose_all(
    jobs: Sequence[list[str]], composer: Composer, *, of_many: bool = True
) -> list[PlannedRun]:
    """Compose and check runs; equal ones appear once."""
    plan: dict[Path, PlannedRun] = {}
    if len(jobs) >= MANY:
        say(f"planning {len(jobs):,} runs")
    with composer.session():
        for job in jobs:
            planned = PlannedRun.of(composer.whole(job, of_many=of_many))
            plan.setdefault(planned.directory, planned)
    return list(plan.values())


def tell(plan: Sequence[PlannedRun]) -> int:
    """Print what would be done of a plan, and what not and why; the exit code."""
    rows = [(_state(planned), planned.identity.name) for planned in plan]
    print("\n".join(f"{state:<{max(len(s) for s, _ in rows)}}  {name}" for state, name in rows))
    kinds = Counter(state for state, _ in rows)
    counts = ", ".join(f"{count} {state}" for state, count in kinds.items())
    print(f"{len(plan)} run{'s' * (len(plan) > 1)}: {counts}")
    return 0


def _state(planned: PlannedRun) -> str:
    """What a run is to be done for, or why it is skipped."""
    status = planned.status()
    if planned.wanted():
        again = "again (rerun=true)" if planned.config["rerun"] else f"to do, was {status}"
        return again if status else "to do"
    return f"skipped, is {status}" + (" (retry=false)" if status == "failed" else "")


def refuse_time_limit(plan: Sequence[PlannedRun]) -> None:
    """Raise UserError where a run has a time limit, which a launcher of Hydra would not heed."""
    if is_timed(plan):
        raise UserError(
            "run.timeout: only ablate's own launcher heeds it; with hydra settings use the "
            "time limit of the launcher, such as hydra.launcher.timeout_min"
        )


def is_timed(plan: Sequence[PlannedRun]) -> bool:
    """Whether any run has a time limit."""
    return any(planned.config["run"]["timeout"] is not None for planned in plan)


def refused(plan: Sequence[PlannedRun]) -> Iterator[tuple[str, UserError]]:
    """The arms whose objects cannot be made, and why; raises UserError for a faulty corpus."""
    from ablate import build
    from ablate.evaluate.trained import check_lengths

    corpora: dict[str, Any] = {}
    checked: set[str] = set()
    for planned in plan:
        config = planned.config
        key = build.corpus_key(config)
        if key not in corpora:
            corpora[key] = build.build_corpus(config, progress=lambda text: say(text))
        if planned.identity.arm in checked:
            continue
        checked.add(planned.identity.arm)
        try:
            check_lengths(build.check(config, corpora[key]), config)
        except UserError as error:
            group, _colon, rest = str(error).partition(": ")
            name = planned.identity.choices.get(group)
            yield planned.identity.arm, UserError(f"{group}={name}: {rest}" if name else str(error))


def named_runs(names: Sequence[str], *, most: int) -> str:
    """How many runs, and the names of the first.

    >>> named_runs(["a", "b", "c"], most=2), named_runs(["a"], most=2)
    ('3 runs (a, b and 1 more)', '1 run (a)')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{len(names)} run{'s' * (len(names) > 1)} ({', '.join(names[:most])}{more})"
