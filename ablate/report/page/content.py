"""What the page says, in its order, from a table and its analysis."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ablate.report.figures.every import drawings
from ablate.report.figures.view import view_of
from ablate.report.inference.analysis import Analysis
from ablate.report.inference.findings import ArmFinding
from ablate.report.inference.ledger import Flag
from ablate.report.page.commands import config_folders, overrides, sweeps
from ablate.report.page.differences import differences, tests
from ablate.report.page.fairness import ledger
from ablate.report.page.grid import Grid, menus
from ablate.report.page.results import results
from ablate.report.page.runs import SHOWN, Fold, folds
from ablate.report.page.svg import inline
from ablate.report.page.versions import versions
from ablate.report.runs.columns import BY_KEY
from ablate.report.runs.skipped import skipped
from ablate.report.runs.tables import Table, distinct
from ablate.report.words.heading import first_line, legend, notes, outside, troubles
from ablate.report.words.verdicts import Sentence
from ablate.shell.clean import clean

VERDICTS = (
    ("mattered", "What mattered"),
    ("no difference", "What made no difference"),
    ("undecided", "What is undecided"),
)
EMPTY = {
    "mattered": "Nothing that these runs could show.",
    "no difference": "No two are shown to be equivalent; that takes more seeds than a difference.",
    "undecided": "Nothing.",
}
NO_CLAIM = frozenset(("and", "against", "×"))
CROSSED = re.compile(r"[\w.]+ × [\w.]+")
COMMANDS = 40  # of the sweeps; every run has its own in its fold


@dataclass(frozen=True)
class Answer:
    """A column of the first screen: claims, each with its evidence."""

    kind: str
    title: str
    claims: list[tuple[str, str]]
    empty: str


@dataclass(frozen=True)
class Illustration:
    """A figure as an SVG element, with its words."""

    name: str
    title: str
    caption: str
    svg: str


@dataclass(frozen=True)
class DiagnosisRow:
    """A finding with the arms that have it: (arm, how many of its runs, evidence)."""

    name: str
    cause: str
    advice: str
    arms: list[tuple[str, str, str]]


@dataclass(frozen=True)
class Content:
    """Everything of the page; texts are not yet escaped, SVG elements are trusted."""

    title: str
    facts: list[str]
    question: str
    answers: list[Answer]
    cautions: list[str]
    figures: list[Illustration]
    results: Grid
    notes: list[str]
    differences: list[Grid]
    diagnoses: list[DiagnosisRow]
    flags: tuple[Flag, ...]
    ledger: Grid
    run_keys: list[str]
    run_numbers: list[str]
    folds: list[Fold]
    problems: list[tuple[str, str]]
    commands: list[str]
    more_commands: int
    versions: list[tuple[str, str]]

    @property
    def run_menus(self) -> list[tuple[int, str, list[str]]]:
        """Return (column, heading, values) of the menus that runs are filtered by."""
        rows = [[*fold.keys, fold.status, fold.label] for fold in self.folds]
        heads = [*self.run_keys, "status", "label"]
        return menus(list(zip(heads, zip(*rows, strict=True), strict=True)))


def content(table: Table, arms: Table, analysis: Analysis, report_command: str) -> Content:
    """Return the content of the page: `table` is listed, `arms` are drawn."""
    runs = [run for row in table.rows for run in row.runs]
    every = [*runs, *table.left_out]
    typed = {run.directory: overrides(run) for run in every}
    folders = config_folders(every)
    studies = distinct(run.study for run in (runs or table.runs))
    first, *facts = first_line(table).split("; ")
    lines = sweeps(list(typed.values()), folders)
    keys = [key for key in arms.keys if key != "seed"]
    return Content(
        title=clean(", ".join(studies[:4]) + (", …" if len(studies) > 4 else "")),
        facts=[first.partition(": ")[2] or first, *facts],
        question=_question(analysis),
        answers=answers(analysis.sentences) if len(analysis.arms) > 1 else [],
        cautions=[
            *(one.text for one in analysis.sentences if one.kind == "caution"),
            *(one.line for one in skipped(table.runs)),
        ],
        figures=[
            Illustration(one.name, one.title, clean(one.caption), inline(one))
            for one in drawings(view_of(arms), analysis)
        ],
        results=results(table),
        notes=[*legend(table), *notes(table)] if table.rows else [],
        differences=[*differences(analysis), *tests(analysis)],
        diagnoses=diagnoses(analysis.findings),
        flags=analysis.flags,
        ledger=ledger(analysis),
        run_keys=[*keys, "seed"],
        run_numbers=[BY_KEY[key].heading.replace("\n", " ") for key in SHOWN],
        folds=folds(every, [*keys, "seed"], typed, folders),
        problems=[*outside(table), *troubles(table)],
        commands=[*lines[:COMMANDS], report_command],
        more_commands=max(0, len(lines) - COMMANDS),
        versions=versions(runs),
    )


def _question(analysis: Analysis) -> str:
    factors = [key for key in analysis.factors if "." not in key] or list(analysis.factors)
    if len(analysis.arms) < 2:
        return "One configuration: there is nothing to compare it with yet."
    if not factors:
        return "Arms of different names whose settings do not differ."
    named = factors[0] if len(factors) == 1 else f"{', '.join(factors[:-1])} and {factors[-1]}"
    verb = "does" if len(factors) == 1 else "do"
    return (
        f"How much {verb} {named} matter to the {analysis.meaning}?"
        f" Differences below {analysis.margin:g} {analysis.unit} count as none."
    )


def answers(sentences: Sequence[Sentence]) -> list[Answer]:
    """Sort the sentences into columns, claim and evidence apart."""
    found = []
    for kind, title in VERDICTS:
        claims = [_claim(clean(one.text)) for one in sentences if one.kind == kind]
        found.append(Answer(kind.replace(" ", "-"), title, claims, EMPTY[kind]))
    return found


def _claim(sentence: str) -> tuple[str, str]:
    """Split a sentence into its claim and its evidence.

    >>> _claim("a is worse than b by 0.2 nats [0.1, 0.3]: 3 seeds paired")
    ('a is worse than b by 0.2 nats', '[0.1, 0.3]; 3 seeds paired')
    >>> _claim("a=1 and a=2: neither learned; 3 seeds")
    ('a=1 and a=2: neither learned', '3 seeds')
    >>> _claim("a × b: the difference is lower by 0.1 nats [0.0, 0.2] with b=1: 3 seeds")
    ('a × b: the difference is lower by 0.1 nats with b=1', '[0.0, 0.2]; 3 seeds')
    """
    claim, _, evidence = sentence.partition(": ")
    if CROSSED.fullmatch(claim):
        said, _, evidence = evidence.partition(": ")
        claim = f"{claim}: {said}"
    elif all(word in NO_CLAIM or "=" in word for word in claim.replace(",", " ").split()):
        # Only what is compared stands before the colon; what is said of it comes after.
        said, _, evidence = evidence.partition("; ")
        return f"{claim}: {said}", evidence
    interval = re.search(r"\s*(\[[^\]]*\]|\(Fisher[^)]*\))", claim)
    if interval:
        claim = claim[: interval.start()] + claim[interval.end() :]
        evidence = "; ".join(filter(None, (interval[1], evidence)))
    return claim, evidence


def diagnoses(findings: Sequence[ArmFinding]) -> list[DiagnosisRow]:
    """Gather what several arms share; what most runs have comes first."""
    found: dict[tuple[str, str, str], list[ArmFinding]] = {}
    for one in findings:
        found.setdefault((one.name, one.cause, one.advice), []).append(one)
    ordered = sorted(found.items(), key=lambda item: -sum(one.count for one in item[1]))
    return [
        DiagnosisRow(
            *words, [(one.arm, f"{one.count} of {one.of}", one.evidence) for one in gathered]
        )
        for words, gathered in ordered
    ]
