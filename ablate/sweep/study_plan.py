"""Which runs of a study are done, and which are left out for what reason."""

from collections.abc import Collection, Sequence

from ablate.config.catalogue import nearest
from ablate.config.compose import Composer
from ablate.config.values import brief
from ablate.errors import UserError
from ablate.record import study_note
from ablate.record.study_note import LeftOut
from ablate.run.planned import PlannedRun
from ablate.shell.stderr import say
from ablate.sweep.arguments import Arguments
from ablate.sweep.plan import Product, compose_all, named_runs, refused
from ablate.sweep.study import Study, keyed, same, settings_of
from ablate.sweep.study_file import find, read

Skipped = dict[str, list[PlannedRun]]
"""Reason → the runs that are left out for it."""


class StudyRuns:
    """The runs that a study file asks for; raises UserError for a file that is none."""

    def __init__(self, arguments: Arguments, composer: Composer) -> None:
        self.arguments, self.composer = arguments, composer
        self.study = read(find(arguments.study or "", composer.catalogue))

    def jobs(self) -> list[list[str]]:
        """The overrides of every run, those that a rule leaves out too."""
        return self.study.jobs(self.composer, self.arguments.overrides)

    def plan(self) -> list[PlannedRun]:
        """Compose and check every run that no rule leaves out; equal runs appear once.

        A rule that leaves out nothing is told: no run has all of its values.
        """
        everything = compose_all(self.jobs(), self.composer)
        typed = keyed(self.arguments.overrides, "")
        kept, self.by_rule = divide(self.study, everything, typed)
        for rule in self.study.rules:
            if rule.because not in self.by_rule:
                say(f"{self.study.path}: skip: no run has {rule}")
        return kept

    def settle(self, plan: list[PlannedRun], *, note: bool = True) -> list[PlannedRun]:
        """Leave out what cannot be built, say what is left out, and note it beside the runs."""
        fitting, unfit = leave_out(plan)
        skipped = {
            because: [*self.by_rule.get(because, ()), *unfit.get(because, ())]
            for because in {**self.by_rule, **unfit}
        }
        for because, runs in skipped.items():
            say(f"left out: {named_runs([p.identity.name for p in runs], most=3)}: {because}")
        if note:
            self._note(fitting, skipped)
        return fitting

    def _note(self, plan: Sequence[PlannedRun], skipped: Skipped) -> None:
        about = {
            "file": str(self.study.path),
            "question": self.study.question,
            "command": f"ablate run {self.arguments.as_typed()}",
        }
        names = [planned.identity.name for planned in plan]
        for folder in sorted({planned.directory.parent for planned in plan}):
            reasons = [
                LeftOut(folder.name, because, tuple(p.identity.name for p in runs))
                for because, runs in skipped.items()
            ]
            study_note.write(folder, about, names, reasons)


Asked = Product | StudyRuns
"""What a command line asks for."""


def asked_for(arguments: Arguments, composer: Composer) -> Asked:
    """The runs of a study file, or else of the command line alone."""
    return StudyRuns(arguments, composer) if arguments.study else Product(arguments, composer)


def divide(
    study: Study, everything: Sequence[PlannedRun], typed: Collection[str] = ()
) -> tuple[list[PlannedRun], Skipped]:
    """The runs of a study, and those that its rules leave out.

    Raises UserError where a rule names a key that no run has, or a value of a key that is not
    among those `typed` on the command line in place of the file's; and where nothing is left.
    """
    settings = [settings_of(p.config, p.identity) for p in everything]
    known = {key for row in settings for key in row}
    for rule in study.rules:
        for key, wanted in rule.when.items():
            if key not in known:
                raise UserError(
                    f"{study.path}: skip: {key}: no run has this key.{nearest(key, known)}"
                )
            there = {brief(row[key]): row[key] for row in settings if key in row}
            for text in wanted if key not in typed else ():
                if not any(same(value, text) for value in there.values()):
                    raise UserError(
                        f"{study.path}: skip: {key}={text}: no run has this value; there is "
                        f"{', '.join(list(there)[:12])}.{nearest(text, there)}"
                    )
    planned_runs: list[PlannedRun] = []
    skipped: Skipped = {}
    for planned in everything:
        because = next(
            (r.because for r in study.rules if r.holds(planned.config, planned.identity)), None
        )
        if because is not None:
            skipped.setdefault(because, []).append(planned)
        else:
            planned_runs.append(planned)
    if not planned_runs:
        raise UserError(f"{study.path}: its skip rules leave no run")
    return planned_runs, skipped


def leave_out(plan: Sequence[PlannedRun]) -> tuple[list[PlannedRun], Skipped]:
    """The runs that can be built, and those whose parts do not go together, with the reason.

    A run is left out only where each of its settings is built in another run of the plan: then none
    of them is wrong by itself. Raises UserError for a setting that no run can be built with.
    """
    wanted = [planned for planned in plan if planned.wanted()]
    errors = dict(refused(wanted))
    good = [p for p in plan if p.identity.arm not in errors]
    built = {text for planned in good for text in planned.overrides}
    skipped: Skipped = {}
    for planned in plan:
        if error := errors.get(planned.identity.arm):
            if not set(planned.overrides) <= built:
                raise error
            skipped.setdefault(str(error), []).append(planned)
    return good, skipped
