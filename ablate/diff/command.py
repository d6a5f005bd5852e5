"""`ablate diff A B`: what differs between two runs or arms, and where their curves part."""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ablate.diff.parting import FEWEST, Points, average, last_equal, parting
from ablate.diff.side_by_side import Comparison, as_text
from ablate.diff.sides import Number, Side, curves, find_side, numbers, settings_that_differ
from ablate.errors import UserError
from ablate.shell.finite import finite
from ablate.shell.parser import Parser

DESCRIPTION = """\
What differs between two runs, or two arms over the seeds that both have: settings, training curves
side by side, the step from which they part, and the numbers at the end."""

NOTES = """\
A and B are a run's folder, an arm's name, the beginning of a run's name, or settings that only one
arm has; the last three with or without STUDY/ before them.

examples:
  ablate diff pos=rope,norm=pre pos=alibi,norm=pre
  ablate diff scout/pos=rope again/pos=rope
  ablate diff outputs/scout/pos=rope,... outputs/again/pos=rope,... --json"""


def main(arguments: Sequence[str]) -> int:
    """Print what differs between two sides; the exit code. Raises UserError."""
    _diff(_parse(arguments))
    return 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = Parser("ablate diff", DESCRIPTION, NOTES)
    parser.add_argument("first", metavar="A", help="a run or an arm")
    parser.add_argument("second", metavar="B", help="another")
    parser.add_argument(
        "--outputs", type=Path, default=Path("outputs"), help="the outputs root (default: outputs)"
    )
    parser.add_argument("--json", action="store_true", help="for a program")
    return parser.parse(arguments)


def compare(first: Side, second: Side) -> Comparison:
    """Return all that `ablate diff` tells of two sides."""
    pairs, shared = curves(first, second)
    points = average(pairs)
    equal, unequal = last_equal(pairs) if shared else (None, None)
    return Comparison(
        first=first,
        second=second,
        settings=settings_that_differ(first, second),
        points=points,
        seeds=shared,
        equal_until=equal,
        unequal_at=unequal,
        parts_at=parting(points),
        numbers=numbers(first, second),
    )


def _diff(options: argparse.Namespace) -> None:
    sides = [find_side(word, options.outputs) for word in (options.first, options.second)]
    if {run.directory for run in sides[0].runs} == {run.directory for run in sides[1].runs}:
        raise UserError(f"{options.first} and {options.second}: the same runs, {sides[0].name}")
    comparison = compare(*sides)
    if options.json:
        print(json.dumps(finite(as_data(comparison)), indent=2, allow_nan=False))
        return
    sized = sys.stdout.isatty() or "COLUMNS" in os.environ
    text = as_text(comparison, shutil.get_terminal_size().columns if sized else None)
    print(text)


def as_data(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as plain data."""
    return {
        "a": _side(comparison.first),
        "b": _side(comparison.second),
        "settings": [{"key": key, "a": a, "b": b} for key, a, b in comparison.settings],
        "seeds": comparison.seeds,
        "curve": _curve(comparison.points),
        "parting": {
            "equal_until": comparison.equal_until,
            "unequal_at": comparison.unequal_at,
            "beyond_noise_from": comparison.parts_at,
            "fewest_steps": FEWEST,
        },
        "numbers": {number.column.key: _number(number) for number in comparison.numbers},
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "name": side.name,
        "runs": [str(run.directory) for run in side.runs],
        "seeds": side.seeds,
        "status": [run.record.status for run in side.runs],
        "label": [run.label for run in side.runs],
    }


def _curve(points: Points) -> dict[str, Any]:
    return {"steps": points.steps, "a": points.first, "b": points.second}


def _number(number: Number) -> dict[str, Any]:
    test = number.difference
    return {
        "a": number.first.mean,
        "b": number.second.mean,
        "a_undefined": number.undefined[0],
        "b_undefined": number.undefined[1],
        "difference": test.mean,
        "low": test.low,
        "high": test.high,
        "seeds": test.n,
        "p": test.p,
    }
