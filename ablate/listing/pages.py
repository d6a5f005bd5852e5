"""What `ablate list` shows a person: all choices in brief, tables of groups, one choice in full."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from ablate.config.catalogue import PRESETS, STUDIES, Catalogue, Choice
from ablate.config.values import write
from ablate.shell.terminal import fold, laid_out, styled

PLAIN_HEADINGS = ("what it is", "formula", "paper")
"""Headings that need no label where they stand under a row."""

Row = dict[str, str]


def tables(choices: Sequence[Choice], catalogue: Catalogue, width: int | None) -> list[Any]:
    """A table of each group, with all that is known of its choices but their options."""
    lines: list[Any] = []
    for group, of_group in by_group(choices).items():
        mark = catalogue.default_choices().get(group)
        rows = [row_of(choice, "*" * (choice.name == mark)) for choice in of_group]
        lines += [styled((group, "bold")), *table(rows, width), ""]
    return [*lines, *hint(choices, width)]


def in_brief(choices: Sequence[Choice], catalogue: Catalogue, width: int | None) -> list[Any]:
    """Every choice and what it is, group by group."""
    lines: list[Any] = []
    for group, of_group in by_group(choices).items():
        mark = catalogue.default_choices().get(group)
        summaries = {c.name + "*" * (c.name == mark): c.summary for c in of_group}
        lines += [styled((group, "bold")), *definitions(summaries, width, "  "), ""]
    return [*lines, *hint(choices, width)]


def by_group(choices: Sequence[Choice]) -> dict[str, list[Choice]]:
    """Choices by their group, in order."""
    groups: dict[str, list[Choice]] = {}
    for choice in choices:
        groups.setdefault(choice.group, []).append(choice)
    return groups


def hint(choices: Sequence[Choice], width: int | None) -> list[str]:
    """What to type next, below tables."""
    if all(choice.group == STUDIES for choice in choices):
        return fold("ablate run --study NAME makes the runs of one.", width)
    more = "ablate list GROUP tells more of a group, GROUP=NAME all of a choice with its options."
    return fold(f"* the default. {more}", width)


def row_of(choice: Choice, mark: str) -> Row:
    """The cells of a choice by heading, the name first and empty ones left out."""
    row = {"name": choice.name + mark, "what it is": choice.summary, "formula": choice.formula}
    row |= {**choice.facts, "paper": choice.paper}
    return {heading: cell for heading, cell in row.items() if cell}


def table(rows: Sequence[Row], width: int | None) -> list[Any]:
    """Rows in aligned columns, as many of them as fit `width`, the narrowest first.

    What has no column stands under its row, folded.
    """
    headings = list(dict.fromkeys(heading for row in rows for heading in row))
    headings.sort(key=lambda heading: heading == "paper")
    sizes = {h: max(len(h), *(len(row.get(h, "")) for row in rows)) for h in headings}
    first, *others = fitting(sizes, width)
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in (f"  {first}", *others):
        grid.add_column(heading, no_wrap=True)
    for row in rows:
        grid.add_row(Text(f"  {row[first]}"), *(Text(row.get(h, "")) for h in others))
    head, *cells = laid_out(grid, width)
    lines: list[Any] = [head]
    for row, line in zip(rows, cells, strict=True):
        under = [heading for heading in row if heading not in (first, *others)]
        if len(others) + 1 < len(sizes):
            line.stylize("bold")  # it stands over what has no column
        lines.append(line)
        for heading in under:
            label = "" if heading in PLAIN_HEADINGS else f"{heading}: "
            lines += fold(label + row[heading], width, "    ", "      ")
    return lines


def fitting(sizes: dict[str, int], width: int | None) -> list[str]:
    """The headings that get a column, in their order; the name always does.

    >>> fitting({"name": 5, "formula": 40, "kind": 8}, 30)
    ['name', 'kind']
    """
    used, columns = sizes["name"] + 2, {"name"}
    for heading in sorted(sizes.keys() - columns, key=lambda h: (sizes[h], h)):
        used += sizes[heading] + 2
        if width is None or used <= width:
            columns.add(heading)
    return [heading for heading in sizes if heading in columns]


def definitions(meanings: Mapping[str, str], width: int | None, indent: str) -> list[str]:
    """Words with what they mean beside them, folded there.

    Not a table of rich, which makes all lines as wide as the longest word that stands out.
    """
    size = max(map(len, meanings), default=0)
    later = " " * (len(indent) + size + 2)
    return [
        line
        for word, meaning in meanings.items()
        for line in fold(meaning, width, f"{indent}{word:{size}}  ", later)
    ]


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
    known = {key: value for key, value in rows.items() if value}
    lines += definitions(known, width, "  ")
    # A preset sets plain keys; any other choice has options of its own.
    prefix = "" if choice.group in PRESETS else f"{choice.group}."
    options = {
        f"{prefix}{option}={write(value)}": choice.option_help.get(option, "")
        for option, value in choice.options.items()
    }
    # What is chosen by the defaults list of the file is an option as well.
    options |= {
        f"{choice.group}.{option}": meaning
        for option, meaning in choice.option_help.items()
        if option not in choice.options
    }
    if options:
        lines.append("  options, with their defaults:" if prefix else "  sets")
        lines += definitions(options, width, "    ")
    return [*lines, ""]


def study_in_full(choice: Choice, width: int | None) -> list[Any]:
    """A study as its file has it, and the command that makes its runs."""
    lines: list[Any] = [styled((line, "bold")) for line in fold(choice.summary, width)]
    facts = (f"{name}: {fact}" for name, fact in choice.facts.items())
    for line in filter(None, (choice.formula, choice.paper, *facts)):
        lines += fold(line, width, "  ", "    ")
    lines += ["", f"  ablate run --study {choice.name}", ""]
    text = choice.path.read_text(encoding="utf-8")
    return [*lines, *(f"  {line}" for line in text.splitlines() if line[:1] != "#"), ""]
