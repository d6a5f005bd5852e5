"""A table as people read it: for a terminal, a pipe, and as markdown."""

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.text import Text

from ablate.report.runs.tables import Table
from ablate.report.text.layout import Strip, draw, lay_out, strips, wrapped
from ablate.report.words.heading import heading
from ablate.report.words.legend import legend, notes
from ablate.report.words.sections import Section
from ablate.report.words.troubles import outside, troubles
from ablate.shell.clean import clean

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
    parts = [_folded(lines, width, "not bold")] if section.lines else []
    parts += [_columns(section.rows, width)] if section.rows else []
    return Text(f"{section.title}\n", "bold") + Text("\n").join(parts)


def _columns(rows: Sequence[Sequence[str]], width: int | None) -> Text:
    """Draw rows in columns under their heads; too wide for them, each on lines of its own."""
    columns = [
        Strip("", [head], [[row[place]] for row in rows[1:]]) for place, head in enumerate(rows[0])
    ]
    text = draw(columns, stacked=False)
    if width is None or max(map(cell_len, text.plain.splitlines())) <= width:
        return text
    pairs = (zip(rows[0], row, strict=True) for row in rows[1:])
    return _folded(
        ("; ".join(f"{head} {value}" for head, value in row) for row in pairs), width, "not bold"
    )


def _named(listed: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{name}: {problem}" for name, problem in listed]


def _folded(lines: Iterable[str], width: int | None, style: str) -> Text:
    return Text("\n".join(part for line in lines for part in wrapped(clean(line), width)), style)


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
    if section.rows:
        heads, *rows = section.rows
        lines += ["", _bar(map(_escaped, heads)), _bar(":--" for _ in heads)]
        lines += [_bar(map(_escaped, row)) for row in rows]
    return lines


def _bar(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escaped(line: str) -> str:
    """Escape what markdown or HTML in it would take for markup, also where it begins a line."""
    line = re.sub(r"([\\|*_`\[\]<~]|&(?=#?\w+;)|(?<=[a-z]):(?=//))", r"\\\1", clean(line))
    line = re.sub(r"\bwww\.", r"www\\.", line)
    return re.sub(r"^(\s*)([#>=+-]|\d+(?=[.)]\s))", _begun, line)


def _begun(beginning: "re.Match[str]") -> str:
    """A line's beginning that would make it a heading, a quote or a list."""
    space, mark = beginning.groups()
    return f"{space}{mark}\\" if mark.isdigit() else f"{space}\\{mark}"
