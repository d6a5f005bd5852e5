"""`ablate report`: the command line of the report."""

import argparse
import difflib
import os
import sys
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from ablate.errors import UserError
from ablate.report.collect import collect
from ablate.report.columns import COLUMNS
from ablate.report.machine import as_csv, as_json
from ablate.report.render import as_markdown, as_table
from ablate.report.summary import outside
from ablate.report.tables import Table, build

FORMATS = ("table", "markdown", "csv", "json")
SUFFIXES = {".md": "markdown", ".csv": "csv", ".json": "json"}

DESCRIPTION = """\
A table of what came out: a row an arm (a configuration without its seed), mean and 95 % interval
over its seeds. Runs that failed, diverged or left no readable record are listed, never dropped."""

NOTES = """\
keys of --by, --where and --sort:
  settings, as on the command line: pos, norm, depth, lr, warmup.steps, ...
  of a run: study, arm, seed, name, status, label
columns, for --sort, csv and json (* in the table):
{columns}
  csv and json give X_mean, X_half_width (a factor around the geometric mean for the ratios) and
  X_n, the runs that the mean is over. With --runs csv gives X.

examples:
  ablate report                                     the newest study under outputs/
  ablate report outputs/scout --where pos=rope,alibi --where norm=pre
  ablate report outputs --by pos --sort -acc_8L     best at 8 times the train length first
  ablate report --runs --format csv --output runs.csv"""


def main(arguments: list[str]) -> int:
    """Run `ablate report` with its arguments and return the exit code: 0, or 2 for a usage error.

    Data go to stdout, notes to stderr.
    """
    try:
        _report(_parse(arguments))
    except SystemExit:  # --help has printed all that was asked for
        return 0
    except UserError as error:
        print(f"ablate report: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader (`| head`) has enough; what is still buffered must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _bind_descending(arguments: list[str]) -> list[str]:
    """Join `--sort -key`, which argparse would take for two options."""
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] == "--sort":
            joined[-1] = f"--sort={argument}"
        else:
            joined.append(argument)
    return joined


class _Parser(argparse.ArgumentParser):
    """A parser that tells a mistake like every other, in a line and without the usage."""

    def error(self, message: str) -> NoReturn:
        """Raise UserError with argparse's message."""
        raise UserError(f"{message} (see ablate report --help)")


def _parse(arguments: list[str]) -> argparse.Namespace:
    """Parse the arguments. Raises UserError, which names the nearest option for an unknown one."""
    parser = _parser()
    options, unknown = parser.parse_known_args(_bind_descending(arguments))
    if unknown:
        known = [name for action in parser._actions for name in action.option_strings]
        near = difflib.get_close_matches(unknown[0].partition("=")[0], known, n=1)
        hint = f"did you mean {near[0]}?" if near else "see ablate report --help"
        raise UserError(f"{unknown[0]}: no such option; {hint}")
    return options


def _parser() -> _Parser:
    width = max(len(column.key) for column in COLUMNS)
    columns = "\n".join(
        f"  {'*' if column.panel else ' '} {column.key:{width}}  {column.meaning}"
        for column in COLUMNS
    )
    parser = _Parser(
        "ablate report",
        description=DESCRIPTION,
        epilog=NOTES.format(columns=columns),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "paths",
        nargs="*",
        type=Path,
        metavar="PATHS",
        help="folders of runs, studies or whole outputs, or names of studies"
        " (default: the study whose records changed last)",
    )
    add("--outputs", type=Path, default=Path("outputs"), help="the outputs root (default: outputs)")
    add(
        "--by",
        type=_keys,
        default=[],
        metavar="KEY,KEY",
        help="a row for each combination of these keys, averaged over everything else: within each"
        " seed first, then over seeds (the unit of the interval); default: a row an arm",
    )
    add(
        "--where",
        action="extend",
        nargs="+",
        default=[],
        metavar="KEY=VALUE[,VALUE]",
        help="only runs whose KEY is one of the values; several conditions must all hold",
    )
    add(
        "--sort",
        type=_keys,
        default=[],
        metavar="KEY",
        help="sort by this key, -KEY descending, or by several; undefined comes last"
        " (default: val_loss)",
    )
    add("--runs", action="store_true", help="a row a run instead of a row an arm")
    add("--format", choices=FORMATS, help="default: table, or what --output's suffix says")
    add("--json", action="store_const", const="json", dest="format", help="same as --format json")
    add("-o", "--output", type=Path, metavar="FILE", help="write to a file instead of stdout")
    return parser


def _keys(argument: str) -> list[str]:
    return [key for key in argument.split(",") if key]


def _report(options: argparse.Namespace) -> None:
    if options.runs and options.by:
        raise UserError("--runs and --by: choose one; a row is a run or a group of runs")
    runs = collect(options.paths, options.outputs)
    table = build(
        runs, by=options.by, where=options.where, sort=options.sort, each_run=options.runs
    )
    suffix = "" if options.output is None else options.output.suffix.lower()
    format_name = options.format or SUFFIXES.get(suffix, "table")
    if options.output is None:
        _print(table, format_name)
    else:
        _save(table, format_name, options.output)
    told = options.output is None and format_name in ("table", "markdown")
    if table.left_out and not told:
        count = len(table.left_out)
        listed = ", ".join(name for name, _ in outside(table)[:3]) + (", ..." if count > 3 else "")
        print(f"ablate report: {count} without a readable record: {listed}", file=sys.stderr)


def _text(table: Table, format_name: str) -> str:
    """Return the report in a format, of full width and without colours."""
    if format_name == "table":
        return as_table(table, None).plain
    return {"markdown": as_markdown, "csv": as_csv, "json": as_json}[format_name](table)


def _print(table: Table, format_name: str) -> None:
    console = Console(soft_wrap=True, highlight=False)
    if format_name == "table" and (console.is_terminal or "COLUMNS" in os.environ):
        report = as_table(table, console.width)
        if console.is_terminal:
            console.print(report, end="")
            return
        text = report.plain
    else:
        text = _text(table, format_name)
    # A terminal or file of another encoding gets a question mark for a bar, not a traceback.
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()


def _save(table: Table, format_name: str, path: Path) -> None:
    try:
        path.write_text(_text(table, format_name), encoding="utf-8", newline="\n")
    except OSError as error:
        raise UserError(f"--output {path}: {error.strerror or error}") from None
    print(f"ablate report: wrote {path}", file=sys.stderr)
