"""The verb `check`: is a cell of the grid sane before it is trained?"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ablate.check.listed import help_lines
from ablate.config.compose import Composer
from ablate.errors import PartError, UserError
from ablate.shell.parser import Parser
from ablate.shell.stderr import say
from ablate.shell.terminal import columns, show, show_json

DESCRIPTION = """\
Look at a cell of the grid before it is trained: seconds, and nothing is written.

  ablate check pos=rope norm=pre depth=24
  ablate check norm=pre norm.final=false tied=true
  ablate check -m norm=pre,post,none depth=6,24     one table of a whole grid"""

EPILOG = """\
Built from its config and seed as `ablate run` would build it, a cell is asked for

{checks}

✓ as it should be; ! may be meant so but is risky, with what to try; ✗ a property that must hold
is broken. Exit codes: 0 nothing is broken, 1 something is, 2 the command or a config is wrong."""


@dataclass(frozen=True)
class PlannedCell:
    """A composed cell that is not built yet."""

    overrides: dict[str, str]
    config: dict[str, Any]
    name: str
    choices: dict[str, str]


def main(arguments: Sequence[str]) -> int:
    """Check the cells that the command line asks for; the exit code."""
    options = parser().parse(arguments)
    composer = Composer([Path(folder) for folder in options.config_dir])
    plan = make_plan(composer, options.overrides, sweep=options.multirun)
    from ablate.check.lines import cell_lines, grid_lines

    checked = check_all(plan, composer)
    if options.format == "json":
        show_json({"schema": 1, "cells": [cell.as_data() for cell in checked]})
    elif options.multirun:
        show(grid_lines(checked, columns()))
    else:
        show(cell_lines(checked[0], columns()))
    return 1 if any(cell.broken for cell in checked) else 0


def parser() -> Parser:
    """What the verb understands, and below the flags a line a check."""
    flags = Parser("ablate check", DESCRIPTION, EPILOG.format(checks=help_lines()))
    add = flags.add_argument
    add("overrides", nargs="*", metavar="KEY=VALUE", help="as for ablate run")
    add("-m", "--multirun", action="store_true", help="every combination of comma-separated values")
    add(
        "--config-dir",
        action="append",
        default=[],
        metavar="DIR",
        help="a folder of your own choices, laid out like configs/",
    )
    add("--format", choices=("table", "json"), default="table")
    add("--json", dest="format", action="store_const", const="json", help="same as --format json")
    return flags


def make_plan(composer: Composer, overrides: Sequence[str], *, sweep: bool) -> list[PlannedCell]:
    """Compose every cell; raises UserError for a mistake in any."""
    plan = []
    with composer.session():
        for job in composer.jobs(overrides, sweep=sweep):
            config, identity = composer.one(job)
            pairs = {k: in_yaml(v) for k, v in (word.split("=", 1) for word in job)}
            plan.append(PlannedCell(pairs, config, identity.name, identity.choices))
    return plan


def check_all(plan: Sequence[PlannedCell], composer: Composer) -> list[Any]:
    """Build and check one cell after the other; raises UserError before the first if one cannot."""
    from ablate import build
    from ablate.check.checks import check_cell
    from ablate.check.lines import Checked

    corpora: dict[str, Any] = {}
    for planned in plan:
        key = build.corpus_key(planned.config)
        with named(planned):
            if key not in corpora:
                corpora[key] = build.build_corpus(planned.config, progress=say)
            build.check(planned.config, corpora[key])
    checked = []
    for number, planned in enumerate(plan, 1):
        differs = differences(planned, plan)
        if len(plan) > 1:
            say(f"checking {number} of {len(plan)}: {typed(differs)}")
        cell = make_cell(planned, corpora[build.corpus_key(planned.config)], composer)
        checked.append(
            Checked(
                name=planned.name,
                title=typed(planned.overrides) or "the defaults",
                choices=planned.choices,
                differs=differs,
                config=planned.config,
                results=check_cell(cell),
            )
        )
    return checked


def make_cell(planned: PlannedCell, corpus: Any, composer: Composer) -> Any:
    """Build the objects of a cell, with what its files state."""
    import torch

    from ablate import build
    from ablate.check.cell import Cell

    config = planned.config
    if config["threads"]:
        torch.set_num_threads(config["threads"])
    chosen = {
        group: choice
        for group, name in planned.choices.items()
        if (choice := composer.catalogue.choice(group, name))
    }
    return Cell(
        build.build(config, corpus),
        facts={group: choice.facts for group, choice in chosen.items()},
        options=config["norm"],
        longest=round(max(config["evaluate"]["lengths"]) * config["seq_len"]),
    )


@contextmanager
def named(planned: PlannedCell) -> Iterator[None]:
    """Let a mistake in a part say which choice it is about."""
    try:
        yield
    except PartError as error:
        if error.key not in planned.choices:
            raise
        raise UserError(f"{error.key}={planned.choices[error.key]}: {error.reason}") from error


def differences(planned: PlannedCell, plan: Sequence[PlannedCell]) -> dict[str, str]:
    """The overrides that are not the same in all cells."""
    return {
        key: value
        for key, value in planned.overrides.items()
        if len({other.overrides.get(key) for other in plan}) > 1
    }


def in_yaml(value: str) -> str:
    """A value as typed; Hydra's own rendering writes True for true."""
    return {"True": "true", "False": "false", "None": "null"}.get(value, value)


def typed(overrides: dict[str, str]) -> str:
    """Overrides as typed."""
    return " ".join(f"{key}={value}" for key, value in overrides.items())
