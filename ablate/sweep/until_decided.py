"""`ablate run --until-decided`: seeds are added at planned looks, to what is still open alone."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ablate.config.compose import Composer
from ablate.errors import UserError
from ablate.judge.looks import LEVELS, LOOKS, PlannedLook, going_on, next_look, open_arms
from ablate.judge.thresholds import MARGIN
from ablate.record import look_note
from ablate.record.look_note import LookNote
from ablate.report.inference.look_again import look_again
from ablate.report.runs.collect import load
from ablate.run.planned import FINISHED, PlannedRun
from ablate.run.stop import Stop
from ablate.shell.stderr import say
from ablate.sweep.arguments import Arguments
from ablate.sweep.outcome import summarise
from ablate.sweep.plan import compose_all
from ablate.sweep.pool.progress_rows import distinct
from ablate.sweep.study_plan import Asked, StudyRuns, asked_for

METRIC = "val_loss"
DoRuns = Callable[[Sequence[PlannedRun], str], dict[str, str]]
"""Does what is wanted of a plan, under a heading; what failed without a record, by name."""


def begin(asked: Asked, arguments: Arguments, composer: Composer) -> tuple[Asked, LookNote]:
    """What the command asks for with all seeds of its plan, and the plan, without arms yet.

    Raises UserError for a command that cannot be done so.
    """
    if not arguments.multirun and not arguments.study:
        raise UserError("--until-decided: adds seeds to the arms of a sweep; give -m or --study")
    own = asked.study.looks if isinstance(asked, StudyRuns) else None
    looks, levels = own or (LOOKS, LEVELS)
    plan = compose_all(asked.jobs(), composer)
    given = list(dict.fromkeys(planned.config["seed"] for planned in plan))
    if any(planned.config["rerun"] for planned in plan):
        raise UserError("--until-decided: rerun=true would undo its looks; give study=NAME instead")
    if len({planned.directory.parent for planned in plan}) > 1:
        raise UserError("--until-decided: has one plan a study, so study= takes one name")
    if len({planned.identity.arm for planned in plan}) < 2:
        raise UserError("--until-decided: one arm; there is nothing to compare it with")
    seeds = all_seeds(given, looks[-1])
    words = [word for word in arguments.overrides if not word.lstrip("+").startswith("seed=")]
    whole = replace(arguments, overrides=(*words, f"seed={','.join(map(str, seeds))}"))
    return asked_for(whole, composer), LookNote(seeds, looks, levels, (), METRIC, MARGIN)


def all_seeds(given: Sequence[int], last: int) -> tuple[int, ...]:
    """The seeds that a plan may need: those given, then the numbers that follow.

    Raises UserError where more are given than the last look is at.

    >>> all_seeds([0], 4), all_seeds([3, 5], 4)
    ((0, 1, 2, 3), (3, 5, 6, 7))
    """
    if len(given) > last:
        raise UserError(
            f"seed: {len(given)} seeds, and the last look is at {last}; give fewer, or looks: in a"
            " study file"
        )
    following = range(max(given) + 1, max(given) + 1 + last - len(given))
    return (*given, *following)


class Looks:
    """The plan of a study on disk, and its runs; another process may take the same looks."""

    def __init__(self, plan: Sequence[PlannedRun], note: LookNote) -> None:
        """Raises UserError where the study has another plan."""
        self.folder, self.root = plan[0].directory.parent, Path(plan[0].config["outputs"])
        self.runs = {(p.identity.arm, p.config["seed"]): p for p in plan}
        arms = tuple(dict.fromkeys(planned.identity.arm for planned in plan))
        asked = replace(note, arms=arms)
        before = self._read()
        if before and replace(before, against={}, decided=()) != asked:
            raise UserError(
                f"{self.folder / look_note.FILE}: this study has another plan of looks already:"
                f" {len(before.arms)} arms at {', '.join(map(str, before.looks))} seeds;"
                " study=NAME begins one of its own"
            )
        self.note = before or asked

    def _read(self) -> LookNote | None:
        try:
            return look_note.read(self.folder)
        except ValueError as error:
            raise UserError(f"{error}; study=NAME begins another plan") from error

    def needed(self, look: PlannedLook) -> list[PlannedRun]:
        """The runs of the arms that go on, of all seeds up to a look."""
        return self._of(going_on(self.note), look)

    def _of(self, arms: Sequence[str], look: PlannedLook) -> list[PlannedRun]:
        keys = ((arm, seed) for arm in arms for seed in look.seeds)
        return [self.runs[key] for key in keys if key in self.runs]  # a rule may leave out seeds

    def take(self) -> None:
        """Take the next look and note it, unless another process has."""
        known = self._read() or self.note
        if len(known.decided) == len(self.note.decided):
            runs = [load(run.directory, self.root) for run in self.runs.values() if run.status()]
            known = look_again(runs, known, self.folder)
            look_note.write(self.folder, known)
        self.note = known

    def told(self) -> str:
        """What the last look decided, and what is open."""
        arms = list(self.note.arms)
        names = dict(zip(arms, distinct(arms), strict=True))
        number, verdicts = len(self.note.decided), self.note.decided[-1]
        decided = ", ".join(f"{names[arm]} ({verdict})" for arm, verdict in verdicts.items())
        still = ", ".join(names[arm] for arm in open_arms(self.note))
        words = f"look {number} of {len(self.note.looks)}, {self.note.looks[number - 1]} seeds"
        return f"{words}: decided {decided or 'nothing'}; open: {still or 'nothing'}"

    def heading(self, look: PlannedLook) -> str:
        """How far it is, for the display of its runs."""
        words = f"look {look.number} of {look.of}, at {len(look.seeds)} seeds"
        if not self.note.decided:
            return words
        still, of = len(open_arms(self.note)), len(self.note.against)
        return f"{words}; {of - still} of {of} comparisons decided"

    def used(self) -> list[PlannedRun]:
        """The runs that the looks so far, and the next one, have asked for."""
        ahead = next_look(self.note)
        used: dict[Path, PlannedRun] = {}
        for taken in range(len(self.note.decided) + (ahead is not None)):
            then = replace(self.note, decided=self.note.decided[:taken])
            look = next_look(then)
            if look is not None:
                used |= {run.directory: run for run in self._of(going_on(then), look)}
        return list(used.values())


def follow(looks: Looks, arguments: Arguments, stop: Stop, do_runs: DoRuns) -> int:
    """Do the runs of each look, take it, and go on with what is open; the exit code."""
    unrecorded: dict[str, str] = {}
    complete = True
    while complete and (look := next_look(looks.note)):
        needed = looks.needed(look)
        if any(planned.wanted() for planned in needed):
            say(looks.heading(look))
            unrecorded |= do_runs(needed, looks.heading(look))
        complete = not stop() and all(run.status() in FINISHED for run in needed)
        if complete:
            looks.take()
            say(looks.told())
    used = looks.used()
    code = summarise(used, arguments, unrecorded, interrupted=stop.asked)
    if complete:
        say(f"{len(used)} runs in place of {len(looks.runs)} at {len(looks.note.seeds)} seeds each")
    return code
