"""The two sides of a difference: found by a word, with their settings, curves and numbers."""

import difflib
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ablate.diff.parting import Curve
from ablate.errors import UserError
from ablate.judge.intervals import Interval, over_seeds
from ablate.judge.thresholds import MARGIN
from ablate.record.curves import losses, read_lines
from ablate.report.inference.ledger_fields import FIELDS
from ablate.report.inference.outcomes import ABSENT, Outcome, cells, matched, outcomes
from ablate.report.inference.testing import Difference, difference
from ablate.report.runs.collect import Run, collect, load, newest_study
from ablate.report.runs.columns import COLUMNS, Column, Missing
from ablate.report.runs.settings import IDENTITY, matches, settings, text
from ablate.report.runs.tables import distinct

MORE = ("train_loss", "parameters", "seconds")  # columns beside those of the report's table


@dataclass(frozen=True)
class Side:
    """One run, or the runs of one arm."""

    runs: list[Run]

    @property
    def name(self) -> str:
        """The run's name, or the arm's."""
        first = self.runs[0]
        own = first.name if len(self.runs) == 1 else first.arm
        return f"{first.study}/{own}"

    @property
    def seeds(self) -> list[Any]:
        """The seeds of its runs."""
        return distinct(run.record.seed for run in self.runs)


def find_side(word: str, outputs: Path) -> Side:
    """Return the run or arm that a word names.

    A word is a folder, an arm's name, the beginning of a run's name, or KEY=VALUE,..., the last
    three with or without STUDY/ before them; they are looked for in the newest study first, then in
    all. Raises UserError where none or several fit.
    """
    path = Path(word)
    if path.exists() or (outputs / path).is_dir():
        return _one_arm(word, collect([path], outputs))
    newest = [load(directory, outputs) for directory in newest_study(outputs)]
    for runs in (newest, collect([outputs], outputs)):
        fitting = _fitting(word, runs)
        if fitting:
            return _one_arm(word, fitting)
    names = [run.name for run in newest]
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.3)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names[:3])}"
    raise UserError(f"{word}: no folder, no run that begins so and no settings of one; {hint}")


def _fitting(word: str, runs: Sequence[Run]) -> list[Run]:
    within = [(run, word.removeprefix(f"{run.study}/")) for run in runs]
    fits = (_is_arm, lambda run, name: run.name.startswith(name), _has_settings)
    fitting = ([run for run, name in within if fit(run, name)] for fit in fits)
    return next((runs for runs in fitting if runs), [])


def _is_arm(run: Run, name: str) -> bool:
    return run.readable is not None and run.arm == name


def _has_settings(run: Run, words: str) -> bool:
    pairs = [part.partition("=") for part in words.split(",")]
    if run.readable is None or not all(equals for _, equals, _ in pairs):
        return False
    row = settings(run)
    return all(key in row and matches(row[key], [value]) for key, _, value in pairs)


def _one_arm(word: str, runs: Sequence[Run]) -> Side:
    usable = [run for run in runs if run.readable is not None]
    if not usable:
        raise UserError(f"{word}: {runs[0].problem}")
    arms = dict.fromkeys((run.study, run.arm) for run in usable)
    if len(arms) > 1:
        # Apart by a word and quoted: a comma at its end would be pasted with a name.
        shown = " or ".join(shlex.quote(f"{study}/{arm}") for study, arm in list(arms)[:3])
        more = f" and {len(arms) - 3} more" if len(arms) > 3 else ""
        raise UserError(f"{word}: fits {len(arms)} arms: {shown}{more}; say which")
    return Side(usable)


def settings_that_differ(first: Side, second: Side) -> list[tuple[str, str, str]]:
    """Return (key, first's value, second's) of settings and of what runs were given; – for none."""
    one, two = settings(first.runs[0]), settings(second.runs[0])
    texts = {
        key: tuple(text(row[key]) if key in row else ABSENT for row in (one, two))
        for key in dict.fromkeys([*one, *two])
        if key not in IDENTITY
    }
    for field in FIELDS:
        texts.setdefault(field.key, (_given(first, field.read), _given(second, field.read)))
    return [(key, a, b) for key, (a, b) in texts.items() if a != b]


def _given(side: Side, read: Callable[[Outcome], Any]) -> str:
    values = [read(outcome) for outcome in outcomes(side.runs, COLUMNS[0])]
    known = distinct(text(value) for value in values if value is not None)
    return " and ".join(known) or ABSENT


def curves(first: Side, second: Side) -> tuple[list[tuple[Curve, Curve]], list[Any]]:
    """Return the pairs of training curves, and the seeds that they share.

    Without a shared seed every curve of one side stands beside one of the other, and none is equal
    to the bit but by chance.
    """
    by_seed = [{run.record.seed: run for run in side.runs} for side in (first, second)]
    shared = [seed for seed in first.seeds if seed is not None and seed in by_seed[1]]
    if shared:
        runs = [(by_seed[0][seed], by_seed[1][seed]) for seed in shared]
    else:
        runs = list(zip(first.runs, second.runs, strict=False))
    return [(_curve(a), _curve(b)) for a, b in runs], shared


def _curve(run: Run) -> Curve:
    """Loss by logged step, of curves.jsonl or else of the record, which is thinned."""
    logged = losses(read_lines(run.directory))
    if logged:
        return logged
    curve = run.record.curve
    pairs = zip(curve.steps, curve.loss, strict=False)
    return {step: loss for step, loss in pairs if step is not None}


@dataclass(frozen=True)
class Number:
    """A measured column on both sides, and second less first over the seeds they share.

    `undefined` tells of each side whether its scheme cannot do what is measured.
    """

    column: Column
    undefined: tuple[bool, bool]
    first: Interval
    second: Interval
    difference: Difference


def numbers(first: Side, second: Side) -> list[Number]:
    """Return every column of the report's table, and a few more, that a side has a number in."""
    measured = []
    for column in COLUMNS:
        if not column.panel and column.key not in MORE:
            continue
        means = [_mean(side, column) for side in (first, second)]
        sides = [cells(outcomes(side.runs, column), []) for side in (first, second)]
        match = matched((-1, 1), sides)
        test = difference(match.values if column.scale == "linear" else [], MARGIN)
        if means[0].n or means[1].n:
            undefined = _undefined(first, second, column)
            measured.append(Number(column, undefined, means[0], means[1], test))
    return measured


def _undefined(first: Side, second: Side, column: Column) -> tuple[bool, bool]:
    values = [[column.extract(run.record) for run in side.runs] for side in (first, second)]
    one, two = (all(value is Missing.UNDEFINED for value in side) for side in values)
    return one, two


def _mean(side: Side, column: Column) -> Interval:
    """Mean over finished runs; of a single run what it measured, whatever became of it."""
    alone = len(side.runs) == 1
    usable = [
        (run.record.seed, column.extract(run.record))
        for run in side.runs
        if alone or not column.trained or run.record.status == "done"
    ]
    values = [(seed, "", value) for seed, value in usable if not isinstance(value, Missing)]
    return over_seeds(values, column.scale)
