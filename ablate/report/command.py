"""`ablate report`: the command line of the report."""

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from ablate.errors import UserError
from ablate.record import look_note, study_note
from ablate.record.replaced import save
from ablate.report.inference.analysis import Analysis, analyse
from ablate.report.options import SUFFIXES, parse
from ablate.report.runs.collect import Run, collect
from ablate.report.runs.shown import shown
from ablate.report.runs.tables import Table, build
from ablate.report.text.machine import as_csv, as_json
from ablate.report.text.render import as_markdown, as_table
from ablate.report.words.sections import Section, sections
from ablate.report.words.troubles import outside


@dataclass(frozen=True)
class Report:
    """A table with what it says, and the command that makes it. `arms` has no row a run."""

    table: Table
    arms: Table
    analysis: Analysis
    sections: list[Section]
    command: str


def _html(report: Report) -> str:
    from ablate.report.page.write import as_html

    return as_html(report.table, report.arms, report.analysis, report.command)


def _latex(report: Report) -> str:
    from ablate.report.text.latex import as_latex

    return as_latex(report.table)


TEXTS: dict[str, Callable[[Report], str]] = {
    "table": lambda report: as_table(report.table, None, report.sections).plain,
    "markdown": lambda report: as_markdown(report.table, report.sections),
    "csv": lambda report: as_csv(report.table),
    "json": lambda report: as_json(report.table, report.analysis),
    "html": _html,
    "latex": _latex,
}
"""The report in each format, of full width and without colours."""


def main(arguments: Sequence[str]) -> int:
    """Print or save a report; the exit code. Raises UserError.

    Data go to stdout, notes to stderr.
    """
    options = parse(arguments)
    if options.runs and options.by:
        raise UserError("--runs and --by: choose one; a row is a run or a group of runs")
    if options.selection_seeds and not options.choose:
        raise UserError("--selection-seeds: needs --choose KEY, which is chosen on these seeds")
    runs = collect(options.paths, options.outputs)
    table = _table(runs, options)
    plans, faulty = look_note.read_all(run.directory.parent for run in runs)
    analysis = analyse(
        shown(table),
        by=options.by,
        baseline=options.baseline,
        metric=options.metric,
        margin=options.margin,
        choose_key=options.choose,
        selection_seeds=options.selection_seeds,
        within=options.within,
        plans=plans,
    )
    if analysis.choices:  # the table too is of the runs that nothing was chosen on
        reported = {name for arm in analysis.arms for name in arm.runs}
        kept = [
            run for run in runs if run.readable is None or f"{run.study}/{run.name}" in reported
        ]
        table = _table(kept, options)
    arms = build(shown(table)) if options.runs else table
    report = Report(
        table,
        arms,
        analysis,
        sections(
            analysis,
            options.ledger,
            skipped=study_note.read(run.directory for run in runs),
            arm_by_arm=options.baseline is not None,
            in_full=options.all,
        ),
        _command(runs, options, arguments),
    )
    suffix = "" if options.output is None else options.output.suffix.lower()
    format_name = options.format or SUFFIXES.get(suffix, "table")
    if format_name == "html" and options.output is None and sys.stdout.isatty():
        raise UserError("--format html: a page is not for a terminal; give -o report.html")
    if options.figures is not None:
        _draw(report, options.figures)
    if options.output is None:
        _print(report, format_name)
    else:
        _save(report, format_name, options.output)
    listed_there = options.output is None and format_name in ("table", "markdown")
    for problem in faulty:
        print(f"ablate report: {problem}; its looks are not heeded", file=sys.stderr)
    if table.left_out and not listed_there:
        count = len(table.left_out)
        listed = ", ".join(name for name, _ in outside(table)[:3]) + (", ..." if count > 3 else "")
        print(f"ablate report: {count} without a readable record: {listed}", file=sys.stderr)
    return 0


def _command(runs: Sequence[Run], options: argparse.Namespace, arguments: Sequence[str]) -> str:
    """Return what was typed; the newest study by its name, since another may be newest later."""
    studies = [] if options.paths else dict.fromkeys(str(run.directory.parent) for run in runs)
    return shlex.join(["ablate", "report", *studies, *arguments])


def _table(runs: Sequence[Run], options: argparse.Namespace) -> Table:
    return build(runs, by=options.by, where=options.where, sort=options.sort, each_run=options.runs)


def _print(report: Report, format_name: str) -> None:
    console = Console(soft_wrap=True, highlight=False)
    if format_name == "table" and (console.is_terminal or "COLUMNS" in os.environ):
        sized = as_table(report.table, console.width, report.sections)
        if console.is_terminal:
            console.print(sized, end="")
            return
        text = sized.plain
    else:
        text = TEXTS[format_name](report)
    if format_name == "html":  # which has a way of its own to write what a stream cannot
        encoding = sys.stdout.encoding or "utf-8"
        text = text.encode(encoding, "xmlcharrefreplace").decode(encoding)
    sys.stdout.write(text)
    sys.stdout.flush()


def _draw(report: Report, directory: Path) -> None:
    from ablate.report.figures.every import drawings, save_all
    from ablate.report.figures.view import view_of

    files = save_all(drawings(view_of(report.arms), report.analysis), directory)
    print(f"ablate report: wrote {len(files)} files to {directory}", file=sys.stderr)


def _save(report: Report, format_name: str, path: Path) -> None:
    try:
        save(path, TEXTS[format_name](report))
    except OSError as error:
        raise UserError(f"--output {path}: {error.strerror or error}") from None
    print(f"ablate report: wrote {path}", file=sys.stderr)
