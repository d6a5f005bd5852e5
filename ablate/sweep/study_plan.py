"""Which runs of a study are done, and which are left out for what reason."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from ablate.config.catalogue import nearest
from ablate.config.compose import Composer
from ablate.config.schema import flatten
from ablate.errors import UserError
from ablate.shell.stderr import say
from ablate.sweep.arguments import Arguments
from ablate.sweep.plan import PlannedRun, compose_all, refused
from ablate.sweep.study import Study, find, read

FILE = "study.yaml"


@dataclass(frozen=True)
class LeftOutRun:
    """A run that is left out."""

    planned: PlannedRun
    because: str


class StudyRuns:
    """The runs that a study file asks for; raises UserError for a file that is none."""

    def __init__(self, given: Arguments, composer: Composer) -> None:
        self.given, self.composer = given, composer
        self.study = read(find(given.study or "", composer.catalogue))

    def plan(self) -> list[PlannedRun]:
        """Compose and check every run that no rule leaves out; equal runs appear once.

        A rule that leaves out nothing is told: its value may be misspelt.
        """
        kept, self.by_rule = divide(self.study, self._everything())
        used = {one.because for one in self.by_rule}
        for rule in self.study.rules:
            if rule.because not in used:
                say(f"{self.study.path}: skip: no run has {rule}")
        return kept

    def settle(self, plan: list[PlannedRun]) -> list[PlannedRun]:
        """Leave out what cannot be built, say what is left out, and note it beside the runs."""
        left, unfit = leave_out(plan)
        skipped = [*self.by_rule, *unfit]
        tell(skipped)
        note(self.study, self.given, left, skipped)
        return left

    def _everything(self) -> list[PlannedRun]:
        return compose_all(self.study.jobs(self.composer, self.given.overrides), self.composer)


def divide(
    study: Study, everything: Sequence[PlannedRun]
) -> tuple[list[PlannedRun], list[LeftOutRun]]:
    """The runs of a study, and those that its rules leave out.

    Raises UserError where a rule names a key that no run has, or where nothing is left.
    """
    known = {key for p in everything for key in (*flatten(p.config), *p.identity.choices)}
    if unknown := [key for rule in study.rules for key in rule.when if key not in known]:
        raise UserError(
            f"{study.path}: skip: {unknown[0]}: no run has this key.{nearest(unknown[0], known)}"
        )
    kept: list[PlannedRun] = []
    skipped: list[LeftOutRun] = []
    for planned in everything:
        rule = next((r for r in study.rules if r.holds(planned.config, planned.identity)), None)
        if rule:
            skipped.append(LeftOutRun(planned, rule.because))
        else:
            kept.append(planned)
    if not kept:
        raise UserError(f"{study.path}: its skip rules leave no run")
    return kept, skipped


def leave_out(plan: Sequence[PlannedRun]) -> tuple[list[PlannedRun], list[LeftOutRun]]:
    """The runs that can be built, and those whose parts do not go together, with the reason.

    A run is left out only where each of its settings is built in another run of the plan: then none
    of them is wrong by itself. Raises UserError for a setting that no run can be built with.
    """
    wanted = [planned for planned in plan if planned.wanted()]
    errors = dict(refused(wanted))
    good = [p for p in plan if p.identity.arm not in errors]
    built = {text for planned in good for text in planned.overrides}
    skipped: list[LeftOutRun] = []
    for planned in plan:
        if error := errors.get(planned.identity.arm):
            if not set(planned.overrides) <= built:
                raise error
            skipped.append(LeftOutRun(planned, str(error)))
    return good, skipped


def tell(skipped: Sequence[LeftOutRun]) -> None:
    """Say what is left out and why, a line a reason."""
    for because, names in by_reason(skipped).items():
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        runs = f"{len(names)} run{'s' * (len(names) > 1)}"
        say(f"left out: {runs} ({', '.join(names[:3])}{more}): {because}")


def by_reason(skipped: Sequence[LeftOutRun]) -> dict[str, list[str]]:
    """The names of the runs that are left out, by reason."""
    found: dict[str, list[str]] = {}
    for one in skipped:
        found.setdefault(one.because, []).append(one.planned.identity.name)
    return found


def note(
    study: Study, given: Arguments, plan: Sequence[PlannedRun], skipped: Sequence[LeftOutRun]
) -> None:
    """Note in the study's folder what was asked, of which runs, and what was left out and why."""
    content: dict[str, Any] = {
        "file": str(study.path),
        "question": study.question,
        "command": f"ablate run {given.as_typed()}",
        "runs": [planned.identity.name for planned in plan],
        "skipped": [
            {"because": because, "runs": names} for because, names in by_reason(skipped).items()
        ],
    }
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    for folder in sorted({planned.directory.parent for planned in plan}):
        folder.mkdir(parents=True, exist_ok=True)
        new = folder / f".{FILE}.{os.getpid()}"
        new.write_text(text, encoding="utf-8")
        new.replace(folder / FILE)
