"""The verb `list`: what there is to ablate."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ablate.catalogue import Catalogue, Choice, nearest
from ablate.errors import UserError


def main(arguments: Sequence[str]) -> int:
    """Print the choices of all groups, of one, or one choice in full; the exit code."""
    parser = argparse.ArgumentParser(
        prog="ablate list",
        description="What there is to ablate: `ablate list`, `ablate list pos`, "
        "`ablate list pos=rope`.",
    )
    parser.add_argument("what", nargs="*", help="a group (pos) or one of its choices (pos=rope)")
    parser.add_argument("--config-dir", action="append", default=[], help="your own configs")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--json", dest="format", action="store_const", const="json")
    given = parser.parse_args(list(arguments))
    catalogue = Catalogue([Path(folder) for folder in given.config_dir])
    chosen = [c for what in given.what or catalogue.groups() for c in select(catalogue, what)]
    if given.format == "json":
        print(json.dumps([as_json(choice) for choice in chosen], indent=2, ensure_ascii=False))
        return 0
    in_full = bool(given.what) and all("=" in what for what in given.what)
    print_in_full(chosen) if in_full else print_tables(chosen, catalogue)
    return 0


def select(catalogue: Catalogue, what: str) -> list[Choice]:
    """The choices that a word like "pos" or "pos=rope" names; UserError for an unknown one."""
    group, _, name = what.partition("=")
    if group not in catalogue.groups():
        known = ", ".join(catalogue.groups())
        raise UserError(
            f"{group}: no such group; groups are {known}.{nearest(group, catalogue.groups())}"
        )
    names = catalogue.names(group)
    if name and name not in names:
        raise UserError(
            f"{what}: no such choice; choices are {', '.join(names)}.{nearest(name, names)}"
        )
    found = [catalogue.choice(group, n) for n in ([name] if name else names)]
    return [choice for choice in found if choice]


def as_json(choice: Choice) -> dict[str, Any]:
    """A choice as plain data."""
    return {
        "group": choice.group,
        "name": choice.name,
        "summary": choice.summary,
        "formula": choice.formula,
        "paper": choice.paper,
        **choice.facts,
        "options": choice.options,
        "option_help": choice.option_help,
    }


def print_tables(choices: Sequence[Choice], catalogue: Catalogue) -> None:
    """One table a group."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=200)
    defaults = catalogue.default_choices()
    for group in dict.fromkeys(c.group for c in choices):
        rows = [c for c in choices if c.group == group]
        facts = list(dict.fromkeys(f for c in rows for f in c.facts))
        table = Table(
            title=group, title_justify="left", title_style="bold", box=None, pad_edge=False
        )
        for heading in ("name", "what it is", "formula", *facts, "paper"):
            table.add_column(heading, overflow="fold")
        for c in rows:
            mark = "*" if defaults.get(group) == c.name else ""
            cells = (c.name + mark, c.summary, c.formula, *(c.facts.get(f, "") for f in facts))
            table.add_row(*map(escape, (*cells, c.paper)))
        console.print(table)
        console.print()
    console.print("* the default. `ablate list GROUP=NAME` shows one choice with its options.")


def print_in_full(choices: Sequence[Choice]) -> None:
    """Each choice with everything that its file says."""
    for choice in choices:
        print(f"{choice.group}={choice.name}: {choice.summary}")
        rows = {"formula": choice.formula, **choice.facts, "paper": choice.paper}
        for key, value in rows.items():
            if value:
                print(f"  {key:<12}{value}")
        for option, value in choice.options.items():
            text = choice.option_help.get(option, "")
            print(f"  {choice.group}.{option}={json.dumps(value)}  {text}".rstrip())
        print(f"  {'file':<12}{choice.path}\n")
