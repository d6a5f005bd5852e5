"""The verb `list`: what there is to ablate."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ablate.config.catalogue import PRESETS, STUDIES, Catalogue, Choice, nearest
from ablate.config.values import write
from ablate.errors import UserError
from ablate.shell.parser import Parser
from ablate.shell.terminal import columns, fold, show, show_json, styled

DESCRIPTION = """\
What there is to ablate.

  ablate list              every choice of every group, a line each
  ablate list pos norm     a table of each group with formulas, limits and papers
  ablate list pos=yarn     one choice in full, with its options and their defaults
  ablate list study        lists of runs that are ready to be made"""

TELL_THEMSELVES = ("what it is", "formula", "paper")
"""Headings that need no label where they stand under a row."""

Row = dict[str, str]


def main(arguments: Sequence[str]) -> int:
    """Print the choices of all groups, of one, or one choice in full; the exit code."""
    given = parser().parse(arguments)
    for folder in given.config_dir:
        if not folder.is_dir():
            raise UserError(f"--config-dir {folder}: no such folder")
    catalogue = Catalogue(given.config_dir)
    chosen = [c for what in given.what or catalogue.groups() for c in select(catalogue, what)]
    if given.format == "json":
        show_json([as_json(choice, catalogue) for choice in chosen])
    elif given.what and all("=" in what for what in given.what):
        show([line for choice in chosen for line in in_full(choice, columns())])
    else:
        show(tables(chosen, catalogue, columns(), brief=not given.what))
    return 0


def parser() -> Parser:
    """What the verb understands."""
    made = Parser("ablate list", DESCRIPTION)
    made.add_argument(
        "what", nargs="*", metavar="GROUP[=NAME]", help="groups (pos) or single choices (pos=rope)"
    )
    made.add_argument(
        "--config-dir",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="a folder of your own choices, laid out like configs/",
    )
    made.add_argument("--format", choices=("table", "json"), default="table")
    made.add_argument(
        "--json", dest="format", action="store_const", const="json", help="same as --format json"
    )
    return made


def select(catalogue: Catalogue, what: str) -> list[Choice]:
    """The choices that a word like "pos" or "pos=rope" names; UserError for an unknown one."""
    word, equals, name = what.partition("=")
    group = STUDIES if word == "study" else word
    if group not in (*catalogue.groups(), STUDIES):
        raise UserError(f"{group}: no such group; {known_groups(catalogue, group)}")
    names = catalogue.names(group)
    if equals and name not in names:
        raise UserError(
            f"{what}: no such choice; choices are {', '.join(names)}.{nearest(name, names)}"
        )
    found = [catalogue.choice(group, n) for n in ([name] if name else names)]
    return [choice for choice in found if choice]


def known_groups(catalogue: Catalogue, word: str) -> str:
    """The groups there are, after the choices that are called `word` or nearly so."""
    groups = catalogue.groups()
    owners = [f"{g}={word}" for g in groups if word in catalogue.names(g)]
    owners += [f"study={word}"] if word in catalogue.names(STUDIES) else []
    if owners:
        told = " or ".join([f"`ablate list {owners[0]}`", *owners[1:]])
        return f"groups are {', '.join(groups)}. Did you mean {told}?"
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


def tables(
    choices: Sequence[Choice], catalogue: Catalogue, width: int | None, *, brief: bool
) -> list[Any]:
    """One table a group; `brief` tells of each choice what it is and no more."""
    defaults = catalogue.default_choices()
    lines: list[Any] = []
    for group in dict.fromkeys(choice.group for choice in choices):
        of_group = [choice for choice in choices if choice.group == group]
        mark = defaults.get(group)
        rows = [row_of(c, "*" * (c.name == mark), brief=brief) for c in of_group]
        lines += [styled((group, "bold")), *table(rows, width, brief=brief), ""]
    more = "ablate list GROUP tells more of a group, GROUP=NAME all of a choice with its options."
    if all(choice.group == STUDIES for choice in choices):
        return [*lines, *fold("ablate run --study NAME makes the runs of one.", width)]
    return [*lines, *fold(f"* the default. {more}", width)]


def row_of(choice: Choice, mark: str, *, brief: bool) -> Row:
    """The cells of a choice by heading, the name first and empty ones left out."""
    row = {"name": choice.name + mark, "what it is": choice.summary}
    if not brief:
        row |= {"formula": choice.formula, **choice.facts, "paper": choice.paper}
    return {heading: cell for heading, cell in row.items() if cell}


def table(rows: Sequence[Row], width: int | None, *, brief: bool) -> list[Any]:
    """Rows in aligned columns, as many of them as fit `width`, the narrowest first.

    What has no column stands under its row, folded.
    """
    headings = list(dict.fromkeys(heading for row in rows for heading in row))
    headings.sort(key=lambda heading: heading == "paper")
    sizes = {h: max(len(h), *(len(row.get(h, "")) for row in rows)) for h in headings}
    if brief:
        return [line for row in rows for line in in_brief(row, sizes["name"], width)]
    chosen = {h: sizes[h] for h in fitting(sizes, width)}
    lines: list[Any] = [head(chosen)]
    alone = len(chosen) == len(sizes)
    for row in rows:
        lines.append(aligned(row, chosen) if alone else styled((aligned(row, chosen), "bold")))
        for heading in [h for h in row if h not in chosen]:
            label = "" if heading in TELL_THEMSELVES else f"{heading}: "
            lines += fold(label + row[heading], width, "    ", "      ")
    return lines


def fitting(sizes: dict[str, int], width: int | None) -> list[str]:
    """The headings that get a column, in their order; the name always does.

    >>> fitting({"name": 5, "formula": 40, "kind": 8}, 30)
    ['name', 'kind']
    """
    used, chosen = sizes["name"] + 2, {"name"}
    for heading in sorted(sizes.keys() - chosen, key=lambda h: (sizes[h], h)):
        used += sizes[heading] + 2
        if width is None or used <= width:
            chosen.add(heading)
    return [heading for heading in sizes if heading in chosen]


def in_brief(row: Row, size: int, width: int | None) -> list[str]:
    """A name and what it is."""
    first = f"  {row['name']:{size}}  "
    return fold(row.get("what it is", ""), width, first, " " * len(first))


def head(sizes: dict[str, int]) -> Any:
    """The line of headings."""
    return styled((aligned({h: h for h in sizes}, sizes), "dim"))


def aligned(row: Row, sizes: dict[str, int]) -> str:
    """The cells of a row under their headings."""
    return "  " + "  ".join(f"{row.get(h, ''):{size}}" for h, size in sizes.items()).rstrip()


def in_full(choice: Choice, width: int | None) -> list[Any]:
    """A choice with everything that its file says, and a command that takes it."""
    if choice.group == STUDIES:
        return study_in_full(choice, width)
    title = fold(choice.summary, width, f"{choice.group}={choice.name}: ", "    ")
    lines: list[Any] = [styled((title[0], "bold")), *title[1:]]
    rows = {
        "formula": choice.formula,
        **choice.facts,
        "paper": choice.paper,
        "file": str(choice.path),
    }
    size = max(map(len, rows))
    for key, value in rows.items():
        if value:
            lines += fold(value, width, f"  {key:{size}}  ", " " * (size + 4))
    # A preset sets plain keys; any other choice has options of its own.
    prefix = "" if choice.group in PRESETS else f"{choice.group}."
    typed_options = {o: f"{prefix}{o}={write(v)}" for o, v in choice.options.items()}
    # What is chosen by the defaults list of the file is an option as well.
    typed_options |= {
        o: f"{choice.group}.{o}" for o in choice.option_help if o not in choice.options
    }
    if typed_options:
        lines.append("  options, with their defaults:" if prefix else "  sets")
        size = max(map(len, typed_options.values()))
    for option, text in typed_options.items():
        told = choice.option_help.get(option, "")
        lines += fold(told, width, f"    {text:{size}}  ", " " * (size + 6))
    return [*lines, ""]


def study_in_full(choice: Choice, width: int | None) -> list[Any]:
    """A study as its file has it, and the command that makes its runs."""
    lines: list[Any] = [styled((line, "bold")) for line in fold(choice.summary, width)]
    for told in (choice.formula, choice.paper, *(f"{k}: {v}" for k, v in choice.facts.items())):
        lines += fold(told, width, "  ", "    ") if told else []
    lines += ["", f"  ablate run --study {choice.name}", ""]
    text = choice.path.read_text(encoding="utf-8")
    return [*lines, *(f"  {line}" for line in text.splitlines() if line[:1] != "#"), ""]
