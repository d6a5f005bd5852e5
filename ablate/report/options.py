"""The options of `ablate report`."""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

from ablate.judge.thresholds import MARGIN
from ablate.report.runs.columns import COLUMNS
from ablate.shell.parser import Parser

FORMATS = ("table", "markdown", "csv", "json", "html", "latex")
SUFFIXES = {
    ".md": "markdown",
    ".csv": "csv",
    ".json": "json",
    ".html": "html",
    ".htm": "html",
    ".tex": "latex",
}

DESCRIPTION = """\
A table of what came out: a row an arm (a configuration without its seed), mean and 95 % interval
over its seeds, and what it says: what mattered, what did not, what is undecided. Runs that failed,
diverged or left no readable record are listed, never dropped."""

NOTES = """\
keys of --by, --where and --sort:
  settings, as on the command line: pos, norm, depth, lr, warmup.steps, ...
  of a run: study, arm, seed, name, status, label
columns, for --sort, csv and json (* in the table):
{columns}
  csv and json give X_mean, X_half_width (a factor around the geometric mean for the ratios) and
  X_n, the runs that the mean is over. With --runs csv gives X.

verdicts on a difference over seeds, by Holm within its family, as strict as the interval beside it:
  better, worse          by more than --margin
  equivalent             by less than --margin, in either direction
  undecided              there is a difference; whether it exceeds --margin is open, as it is where
                         other runs of the better side diverged
  not distinguishable    from no difference; "after correction" where it would be alone
  no effect              all runs of both sides are the same, number by number
  depends                on another factor, so that an average describes none: see simple effects
  diverges more, less    so many runs of one side diverged that a mean says nothing
  neither learned        most runs of both sides know no more than how often tokens occur

examples:
  ablate report                                     the newest study under outputs/
  ablate report outputs/scout --where pos=rope,alibi --where norm=pre
  ablate report outputs --by pos --sort -acc_8L     best at 8 times the train length first
  ablate report scout --baseline pos=rope,norm=pre --metric acc_8L --ledger
  ablate report scout --within norm=post,lr=0.003   what each other factor does there
  ablate report scout --choose lr --selection-seeds 0,1   each arm at its best, told on other seeds
  ablate report --runs --format csv --output runs.csv
  ablate report scout -o report.html                one page with figures, that needs no network
  ablate report scout --figures figures/            the figures alone, as PNG, SVG and PDF"""


def _bind_descending(arguments: Sequence[str]) -> list[str]:
    """Join `--sort -key`, which argparse would take for two options."""
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] == "--sort":
            joined[-1] = f"--sort={argument}"
        else:
            joined.append(argument)
    return joined


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments. Raises UserError, which names the nearest option for an unknown one."""
    return _parser().parse(_bind_descending(arguments))


def _parser() -> Parser:
    width = max(len(column.key) for column in COLUMNS)
    columns = "\n".join(
        f"  {'*' if column.panel else ' '} {column.key:{width}}  {column.meaning}"
        for column in COLUMNS
    )
    parser = Parser("ablate report", DESCRIPTION, NOTES.format(columns=columns))
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
    add(
        "--baseline",
        metavar="KEY=VALUE,...",
        help="the arm that each other is compared with, paired by seed, as pos=rope,norm=pre"
        " (default: the arm nearest to the defaults)",
    )
    add(
        "--within",
        metavar="KEY=VALUE,...",
        help="also tell what each other factor does within these levels, as norm=post,lr=0.003",
    )
    add(
        "--metric",
        default="val_loss",
        metavar="COLUMN",
        help="what arms are judged by: a loss, acc_, exact_, nll_ or ret_ column"
        " (default: val_loss)",
    )
    add(
        "--margin",
        type=_margin,
        default=MARGIN,
        metavar="SIZE",
        help="a difference below this does not matter, in nats or as a share (default:"
        f" {MARGIN:g})",
    )
    add(
        "--choose",
        metavar="KEY",
        help="choose this key, lr say, for each arm by its validation loss on the selection seeds,"
        " and report the other seeds alone",
    )
    add(
        "--selection-seeds",
        type=_keys,
        default=[],
        metavar="SEED,SEED",
        help="the seeds that --choose chooses on (default: the first third)",
    )
    add(
        "--ledger", action="store_true", help="what each arm was given: parameters, tokens, lr, ..."
    )
    add("--all", action="store_true", help="every list of what it says in full, none cut short")
    add("--runs", action="store_true", help="a row a run instead of a row an arm")
    add("--format", choices=FORMATS, help="default: table, or what --output's suffix says")
    add("--json", action="store_const", const="json", dest="format", help="same as --format json")
    add(
        "--figures",
        type=Path,
        metavar="DIR",
        help="also draw the figures into this folder, as PNG, SVG and PDF for a paper",
    )
    add("-o", "--output", type=Path, metavar="FILE", help="write to a file instead of stdout")
    return parser


def _margin(argument: str) -> float:
    """Parse a margin."""
    try:
        margin = float(argument)
    except ValueError:
        margin = math.nan
    if not 0 < margin < math.inf:
        raise argparse.ArgumentTypeError(f"{argument}: must be a number above 0")
    return margin


def _keys(argument: str) -> list[str]:
    return [key for key in argument.split(",") if key]
