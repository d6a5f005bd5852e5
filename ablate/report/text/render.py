"""A table as people read it: for a terminal, a pipe, and as markdown."""

from collections.abc import Iterable, Sequence

from rich.text import Text

from ablate.report.runs.tables import Table
from ablate.report.text.layout import lay_out, strips, wrapped
from ablate.report.words.heading import heading
from ablate.report.words.legend import legend, notes
from ablate.report.words.sections import Section
from ablate.report.words.troubles import outside, troubles

OUTSIDE, INSIDE = "Not in the table", "In the table, with a problem"


def as_table(table: Table, width: int | None, sections: Sequence[Section] = ()) -> Text:
    """Return the report for a terminal of a width, or with one line a row (None)."""
    parts = [_folded([heading(table).line], width, "bold")]
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
    lines = (f"- {line.text}" if line.is_item else line.text for line in section.lines)
    body = _folded(lines, width, "not bold")
    return Text(f"{section.title}\n", "bold") + body


def _named(listed: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{name}: {problem}" for name, problem in listed]


def _folded(lines: Iterable[str], width: int | None, style: str) -> Text:
    return Text("\n".join(part for line in lines for part in wrapped(line, width)), style)


def as_markdown(table: Table, sections: Sequence[Section] = ()) -> str:
    """Return the report as a markdown table, with its words as lists, for a pull request."""
    keys, measured = strips(table)
    columns = [*keys, *measured]
    lines = [f"**{_escaped(heading(table).line)}**"]
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
    in_list = False
    for line in section.lines:
        if not (line.is_item and in_list):
            lines.append("")
        lines.append(f"- {_escaped(line.text)}" if line.is_item else _escaped(line.text))
        in_list = line.is_item
    return lines


def _bar(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escaped(line: str) -> str:
    """Escape what markdown or HTML in it would take for markup."""
    for mark in "\\|*_`[<":
        line = line.replace(mark, f"\\{mark}")
    return line
