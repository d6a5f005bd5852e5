"""What the page says, in its order, from a table and its analysis."""

from collections.abc import Sequence
from dataclasses import dataclass

from ablate.errors import in_a_line
from ablate.record import study_note
from ablate.report.figures.every import drawings
from ablate.report.figures.view import Drawing, view_of
from ablate.report.inference.analysis import Analysis
from ablate.report.inference.findings import ArmFinding, over_arms
from ablate.report.page.commands import config_folders, overrides, sweeps
from ablate.report.page.counts import failures
from ablate.report.page.differences import differences, tests
from ablate.report.page.fairness import ledger, versions
from ablate.report.page.grid import Grid, menus
from ablate.report.page.results import results
from ablate.report.page.runs import SHOWN, Fold, folds
from ablate.report.page.svg import inline
from ablate.report.runs.columns import BY_KEY
from ablate.report.runs.tables import Table, distinct
from ablate.report.words.cautions import caution
from ablate.report.words.heading import heading, question
from ablate.report.words.legend import legend, notes
from ablate.report.words.length_sentences import length_sentence
from ablate.report.words.statements import VERDICTS, Statement, statements
from ablate.report.words.tried_text import tried_text
from ablate.report.words.troubles import left_out, outside, troubles
from ablate.shell.clean import clean
from ablate.shell.stderr import say

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
class Notice:
    """A difference between arms beyond the factors; an unfair one can make a verdict."""

    text: str
    unfair: bool


@dataclass(frozen=True)
class Content:
    """Everything of the page; texts are not yet escaped, SVG elements are trusted."""

    title: str
    facts: list[str]
    question: str
    answers: list[Answer]
    cautions: list[str]
    lengths: list[str]
    figures: list[Illustration]
    results: Grid
    notes: list[str]
    differences: list[Grid]
    diagnoses: list[DiagnosisRow]
    flags: list[Notice]
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


def illustration(figure: Drawing) -> Illustration:
    """A figure of the page; where it cannot be drawn, its caption and a line on stderr say so."""
    caption = clean(figure.caption)
    try:
        return Illustration(figure.name, figure.title, caption, inline(figure))
    except Exception as error:  # a page without a figure is better than none
        say(f"ablate report: {figure.name} is not drawn: {in_a_line(error)}")
        why = f"{caption} It could not be drawn: {clean(in_a_line(error))}."
        return Illustration(figure.name, figure.title, why, "")


def content(table: Table, arms: Table, analysis: Analysis, report_command: str) -> Content:
    """Return the content of the page: `table` is listed, `arms` are drawn."""
    runs = [run for row in table.rows for run in row.runs]
    every = [*runs, *table.left_out]
    typed = {run.directory: overrides(run) for run in every}
    folders = config_folders(every)
    studies = distinct(run.study for run in (runs or table.runs))
    said = statements(analysis)
    lines = sweeps(list(typed.values()), folders)
    keys = [key for key in arms.keys if key != "seed"]
    return Content(
        title=clean(", ".join(studies[:4]) + (", …" if len(studies) > 4 else "")),
        facts=heading(table).facts,
        question=question(analysis),
        answers=answers(said, alone=len(analysis.arms) < 2),
        cautions=[
            *(statement.text for statement in said if statement.kind == "caution"),
            *map(left_out, study_note.read(run.directory for run in table.runs)),
        ],
        lengths=[clean(length_sentence(fact).text) for fact in analysis.lengths],
        figures=[illustration(figure) for figure in drawings(view_of(arms), analysis)],
        results=results(table),
        notes=[*legend(table), *notes(table)] if table.rows else [],
        differences=[*differences(analysis), *failures(analysis), *tests(analysis)],
        diagnoses=diagnoses(analysis.findings),
        flags=[Notice(caution(flag), flag.unfair) for flag in analysis.flags],
        ledger=ledger(analysis),
        run_keys=[*keys, "seed"],
        run_numbers=[BY_KEY[key].name for key in SHOWN],
        folds=folds(every, [*keys, "seed"], typed, folders),
        problems=[*outside(table), *troubles(table)],
        commands=[*lines[:COMMANDS], report_command],
        more_commands=max(0, len(lines) - COMMANDS),
        versions=versions(runs),
    )


def answers(said: Sequence[Statement], *, alone: bool = False) -> list[Answer]:
    """Sort the statements into columns, claim and evidence apart; `alone` is one arm of its own."""
    columns = []
    for verdicts in VERDICTS:
        if alone and verdicts.kind != "start":
            continue
        sentences = [one.sentence for one in said if one.kind == verdicts.kind]
        claims = [(clean(sentence.claim), clean(sentence.support)) for sentence in sentences]
        columns.append(Answer(verdicts.kind, verdicts.heading, claims, verdicts.none))
    return columns


def diagnoses(findings: Sequence[ArmFinding]) -> list[DiagnosisRow]:
    """Gather what several arms share; what most runs have comes first."""
    groups = over_arms(findings, lambda finding: finding.shared)
    return [
        DiagnosisRow(
            name=group[0].name,
            cause=group[0].cause,
            advice=group[0].advice,
            arms=[(one.arm, f"{one.count} of {one.of}", _shown(one)) for one in group],
        )
        for group in groups
    ]


def _shown(finding: ArmFinding) -> str:
    """The evidence, and what became of the arms that tried a remedy."""
    return "; ".join(filter(None, (finding.evidence, clean(tried_text(finding)))))
