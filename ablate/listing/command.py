"""The verb `list`: what there is to ablate."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ablate.config.catalogue import STUDIES, Catalogue, Choice, nearest
from ablate.errors import UserError
from ablate.listing.pages import in_brief, in_full, tables
from ablate.shell.parser import Parser
from ablate.shell.terminal import columns, show, show_json

DESCRIPTION = """\
What there is to ablate.

  ablate list              every choice of every group, a line each
  ablate list pos norm     a table of each group with formulas, limits and papers
  ablate list pos=yarn     one choice in full, with its options and their defaults
  ablate list study        lists of runs that are ready to be made"""


def main(arguments: Sequence[str]) -> int:
    """Print the choices of all groups, of one, or one choice in full; the exit code."""
    options = parser().parse(arguments)
    for folder in options.config_dir:
        if not folder.is_dir():
            raise UserError(f"--config-dir {folder}: no such folder")
    catalogue = Catalogue(options.config_dir)
    words = options.what or catalogue.groups()
    choices = [choice for word in words for choice in select(catalogue, word)]
    if options.format == "json":
        show_json([as_json(choice, catalogue) for choice in choices])
    elif not options.what:
        show(in_brief(choices, catalogue, columns()))
    elif all("=" in word for word in words):
        show([line for choice in choices for line in in_full(choice, columns())])
    else:
        show(tables(choices, catalogue, columns()))
    return 0


def parser() -> Parser:
    """What the verb understands."""
    parser = Parser("ablate list", DESCRIPTION)
    parser.add_argument(
        "what", nargs="*", metavar="GROUP[=NAME]", help="groups (pos) or single choices (pos=rope)"
    )
    parser.add_argument(
        "--config-dir",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="a folder of your own choices, laid out like configs/",
    )
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument(
        "--json", dest="format", action="store_const", const="json", help="same as --format json"
    )
    return parser


def select(catalogue: Catalogue, word: str) -> list[Choice]:
    """The choices that a word like "pos" or "pos=rope" names; UserError for an unknown one."""
    group, equals, name = word.partition("=")
    group = STUDIES if group == "study" else group
    if group not in (*catalogue.groups(), STUDIES):
        raise UserError(f"{group}: no such group; {known_groups(catalogue, group)}")
    names = catalogue.names(group)
    if equals and name not in names:
        raise UserError(
            f"{word}: no such choice; choices are {', '.join(names)}.{nearest(name, names)}"
        )
    choices = [catalogue.choice(group, n) for n in ([name] if name else names)]
    return [choice for choice in choices if choice]


def known_groups(catalogue: Catalogue, word: str) -> str:
    """The groups there are, after the choices that are called `word` or nearly so."""
    groups = catalogue.groups()
    owners = [f"{g}={word}" for g in groups if word in catalogue.names(g)]
    owners += [f"study={word}"] if word in catalogue.names(STUDIES) else []
    if owners:
        near = " or ".join([f"`ablate list {owners[0]}`", *owners[1:]])
        return f"groups are {', '.join(groups)}. Did you mean {near}?"
    return f"groups are {', '.join(groups)}.{nearest(word, groups)}"


def as_json(choice: Choice, catalogue: Catalogue) -> dict[str, Any]:
    """A choice as plain data."""
    return {
        "group": choice.group,
        "name": choice.name,
        "default": catalogue.default_choices().get(choice.group) == choice.name,
        "summary": choice.summary,
        "formula": choice.formula,
        "paper": choice.paper,
        **choice.facts,
        "options": choice.options,
        "option_help": choice.option_help,
    }
