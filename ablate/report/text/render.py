"""A table as people read it: for a terminal, a pipe, and as markdown."""

from collections.abc import Iterable, Sequence

from rich.text import Text

from ablate.report.runs.tables import Table
from ablate.report.text.layout import lay_out, strips, wrapped
from ablate.report.words.heading import first_line, legend, notes, outside, troubles
from ablate.report.words.says import Section

OUTSIDE, INSIDE = "Not in the table", "In the table, with a problem"


def as_table(table: Table, width: int | None, sections: Sequence[Section] = ()) -> Text:
    """Return the report for a terminal of a width, or with one line a row (None)."""
    parts = [_folded([first_line(table)], width, "bold")]
    parts += [_section(section, width) for section in sections if section.leads]
    if table.rows:
        parts.append(lay_out(table, width))
        parts.append(_folded(legend(table) + notes(table), width, "dim"))
    parts += [_section(section, width) for section in sections if not section.leads]
    for title, listed in ((OUTSIDE, outside(table)), (INSIDE, troubles(table))):
        if listed:
            title_line = Text(f"{title}:\n", "bold")
            parts.append(title_line + _folded(_named(listed), width, "not bold"))
    return Text("\n\n").join(parts).append("\n")


def _section(section: Section, width: int | None) -> Text:
    body = _folded(section.lines, width, "not bold")
    return Text(f"{section.title}\n", "bold") + body


def _named(listed: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{name}: {problem}" for name, problem in listed]


def _folded(lines: Iterable[str], width: int | None, style: str) -> Text:
    return Text("\n".join(part for line in lines for part in wrapped(line, width)), style)


def as_markdown(table: Table, sections: Sequence[Section] = ()) -> str:
    """Return the report as a markdown table, with its words as lists, for a pull request."""
    keys, measured = strips(table)
    columns = [*keys, *measured]
    lines = [f"**{_escaped(first_line(table))}**"]
    lines += [line for section in sections if section.leads for line in _listed(section)]
    if table.rows:
        lines.append("")
        lines.append(_bar(_escaped(" ".join(column.heading)) for column in columns))
        lines.append(_bar("--:" if column.right else ":--" for column in columns))
        for row in range(len(table.rows)):
            lines.append(_bar(_escaped(column.lines(row, False)[0].strip()) for column in columns))
        lines += ["", *(f"- {_escaped(line)}" for line in legend(table) + notes(table))]
    lines += [line for section in sections if not section.leads for line in _listed(section)]
    for title, listed in ((OUTSIDE, outside(table)), (INSIDE, troubles(table))):
        if listed:
            lines += ["", f"{title}:", "", *(f"- {_escaped(line)}" for line in _named(listed))]
    return "\n".join(lines) + "\n"


def _listed(section: Section) -> list[str]:
    """Return a section as markdown, its lists apart from its other lines."""
    lines = ["", f"**{section.title}**"]
    for before, line in zip(["", *section.lines], section.lines, strict=False):
        item = line.startswith("- ")
        if not (item and before.startswith("- ")):
            lines.append("")
        lines.append(f"- {_escaped(line[2:])}" if item else _escaped(line))
    return lines


def _bar(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escaped(line: str) -> str:
    """Escape what markdown or HTML in it would take for markup."""
    for mark in "\\|*_`[<":
        line = line.replace(mark, f"\\{mark}")
    return line
