"""Every run of a command, composed and checked before any starts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ablate.config.compose import Composer
from ablate.config.identity import Identity
from ablate.errors import UserError
from ablate.run.state import is_wanted, say, status_on_disk
from ablate.sweep.arguments import Arguments


@dataclass(frozen=True)
class PlannedRun:
    """A checked run that has not started yet."""

    overrides: list[str]
    config: dict[str, Any]
    identity: Identity
    directory: Path

    def status(self) -> str | None:
        """The status on disk, None without a readable record."""
        return status_on_disk(self.directory)

    def wanted(self) -> bool:
        """Whether there is still something to do."""
        return is_wanted(self.status(), self.config)


@dataclass(frozen=True)
class Product:
    """Every combination of the values on a command line."""

    given: Arguments
    composer: Composer

    def plan(self) -> list[PlannedRun]:
        """Compose and check every run; equal runs appear once."""
        jobs = self.composer.jobs(self.given.overrides, sweep=self.given.multirun)
        return compose_all(jobs, self.composer)

    def settle(self, plan: list[PlannedRun]) -> list[PlannedRun]:
        """Raise UserError for a run whose objects cannot be made, before any folder is."""
        for _, error in refused([planned for planned in plan if planned.wanted()]):
            raise error
        return plan


def compose_all(jobs: Sequence[list[str]], composer: Composer) -> list[PlannedRun]:
    """Compose and check runs; equal ones appear once."""
    plan: dict[Path, PlannedRun] = {}
    with composer.session():
        for job in jobs:
            config, identity = composer.one(job)
            directory = Path(config["outputs"]) / config["study"] / identity.name
            plan.setdefault(directory, PlannedRun(job, config, identity, directory))
    return list(plan.values())


def refused(plan: Sequence[PlannedRun]) -> Iterator[tuple[str, UserError]]:
    """The arms whose objects cannot be made, and why; raises UserError for a faulty corpus."""
    from ablate import build
    from ablate.evaluate.lengths import check_lengths

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
