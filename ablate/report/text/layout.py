"""Lay a table out for a width: one table if it fits, else parts one below the other; never cut.

A part holds columns that belong together and repeats the columns that tell the rows apart. Where
those are too wide to repeat, rows are numbered and the numbers are explained in the first part.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rich.cells import cell_len
from rich.text import Text

from ablate.judge.profile import bars
from ablate.report.runs.columns import LENGTH, OUTCOME, START, Missing
from ablate.report.runs.shown import columns_shown, facts
from ablate.report.runs.tables import Table
from ablate.report.words.cells import NONE, CellText, cell_text, key_text, labels, statuses
from ablate.report.words.length_sentences import length_cells
from ablate.shell.clean import clean

GAP = "  "
STYLES = {
    "diverged": "red",
    "failed": "red",
    "interrupted": "yellow",
    "running": "yellow",
    "stuck": "yellow",
    "unstable": "yellow",
}


WORDS = frozenset(reason.value for reason in Missing)


@dataclass(frozen=True)
class Strip:
    """A column ready to draw: heading lines and, by row, parts that may stand below another."""

    panel: str
    heading: list[str]
    cells: list[list[str]]
    right: bool = False
    kind: Literal["words", "numbers", "bars"] = "numbers"
    name: str = ""  # the heading in one line, if it is not its lines with spaces between

    def cleaned(self) -> "Strip":
        """The same without what would steer a terminal."""
        heading = [clean(line) for line in self.heading]
        return replace(self, heading=heading, cells=[[*map(clean, cell)] for cell in self.cells])

    def lines(self, row: int, stacked: bool) -> list[str]:
        """Return the lines of a row's cell."""
        return self.cells[row] if stacked else [" ".join(self.cells[row])]

    def width(self, stacked: bool) -> int:
        """Return the terminal cells that the widest line takes."""
        lines = [line for row in range(len(self.cells)) for line in self.lines(row, stacked)]
        return max(map(cell_len, [*self.heading, *lines]))


def strips(table: Table) -> tuple[list[Strip], list[Strip]]:
    """Return the columns that tell the rows apart, and the measured ones."""
    rows = table.rows
    keys = [_key_strip(table, key) for key in table.keys]
    words = (("status", statuses), ("label", labels))
    measured = [
        Strip(OUTCOME, [name], [[one.text for one in of(row)] for row in rows], kind="words")
        for name, of in words
    ]
    lengths = facts(table).train_lengths
    for column in columns_shown(table):
        cells = [cell_text(row.cells[column.key], column, len(row.runs)) for row in rows]
        heading, name = column.heading_lines, column.name
        if column.panel == LENGTH and column.factor == 1 and len(lengths) == 1:
            heading = [heading[0], f"L={lengths[0]:g}"]
            name = " ".join(heading)
        measured.append(Strip(column.panel or OUTCOME, heading, _aligned(cells), name=name))
        if column.key == "grad_ratio":
            profiles = [[bars(row.profile) or NONE] for row in rows]
            lines = ["grad. by block", "first to last"]
            measured.append(Strip(START, lines, profiles, kind="bars"))
    words_at_length = length_cells(rows)
    if words_at_length is not None:
        context, texts = words_at_length
        heading = ["against L", context]
        measured.append(Strip(LENGTH, heading, [[text] for text in texts], kind="words"))
    order = (OUTCOME, START, LENGTH)
    return keys, sorted(measured, key=lambda strip: order.index(strip.panel))


def _aligned(cells: list[CellText]) -> list[list[str]]:
    """Pad the numbers to one width: they are compared down the column."""
    width = max((len(cell.number) for cell in cells if cell.number not in WORDS), default=0)
    return [[" " * (width - len(cell.number)) + cell.parts[0], *cell.parts[1:]] for cell in cells]


def _key_strip(table: Table, key: str) -> Strip:
    cells = [[key_text(row, key)] for row in table.rows]
    return Strip("", _broken(key), cells, kind="words")


def _broken(key: str) -> list[str]:
    """Break a dotted key's heading after its group."""
    group, dot, option = key.rpartition(".")
    return [group + dot, option] if dot else [key]


def lay_out(table: Table, width: int | None) -> Text:
    """Return the table's rows for a width in terminal cells, on one line each without a width."""
    keys, measured = strips(table)
    if width is None:
        return draw([*keys, *measured], False)
    for stacked in (False, True):
        if _width([*keys, *measured], stacked) <= width:
            return draw([*keys, *measured], stacked)
    numbers = [Strip("", ["#"], [[str(row + 1)] for row in range(len(table.rows))], right=True)]
    panels = [
        [strip for strip in measured if strip.panel == panel]
        for panel in dict.fromkeys(strip.panel for strip in measured)
    ]
    if all(_width([*keys, *panel], True) <= width for panel in panels):
        parts = _parts(keys, keys, panels, width)
    elif _width([*numbers, *keys], False) <= width:
        parts = _parts([*numbers, *keys], numbers, panels, width)
    else:
        parts = [_spelled(table, width), *_parts(numbers, numbers, panels, width)]
    return Text("\n\n").join(parts)


def _parts(
    first: list[Strip], later: list[Strip], panels: list[list[Strip]], width: int
) -> list[Text]:
    """Fill parts with whole panels while they fit, with single columns where one is too wide."""
    parts = [first]
    for panel in panels:
        whole = _width([*later, *panel], True) <= width
        for piece in [panel] if whole else [[strip] for strip in panel]:
            joined = [*parts[-1], *piece]
            # Parts are joined only while no cell needs a second line for it.
            if _width(joined, stacked=parts == [first]) <= width:
                parts[-1] = joined
            else:
                parts.append([*later, *piece])
    return [draw(part, _width(part, False) > width) for part in parts]


def _width(columns: Sequence[Strip], stacked: bool) -> int:
    return sum(strip.width(stacked) for strip in columns) + len(GAP) * (len(columns) - 1)


def _spelled(table: Table, width: int) -> Text:
    """Say what each row number stands for, wrapped."""
    lines: list[str] = []
    for place, row in enumerate(table.rows, 1):
        settings = " ".join(f"{key}={key_text(row, key)}" for key in table.keys)
        lines += wrapped(f"#{place}  {settings}", width)
    return Text("\n".join(lines))


def wrapped(line: str, width: int | None) -> list[str]:
    """Wrap a line at a width with a hanging indent; None does not wrap."""
    if width is None:
        return [line]
    return textwrap.wrap(line, max(width, 20), subsequent_indent="    ", break_on_hyphens=False)


def draw(columns: Sequence[Strip], stacked: bool) -> Text:
    """Draw columns side by side, aligned, under their headings and a rule."""
    columns = [strip.cleaned() for strip in columns]
    widths = [strip.width(stacked) for strip in columns]
    text = Text()
    height = max(len(strip.heading) for strip in columns)
    for line in range(height):
        heads = [([""] * (height - len(strip.heading)) + strip.heading)[line] for strip in columns]
        text.append(_line(columns, heads, widths) + "\n", "bold")
    text.append("─" * (sum(widths) + len(GAP) * (len(widths) - 1)), "dim")
    for row in range(len(columns[0].cells)):
        cells = [strip.lines(row, stacked) for strip in columns]
        for line in range(max(map(len, cells))):
            text.append("\n")
            parts = [cell[line] if line < len(cell) else "" for cell in cells]
            text.append(_line(columns, parts, widths))
    for word, style in STYLES.items():
        text.highlight_words([word], style)
    return text


def _line(columns: Sequence[Strip], parts: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        " " * (width - cell_len(part)) + part
        if strip.right
        else part + " " * (width - cell_len(part))
        for strip, part, width in zip(columns, parts, widths, strict=True)
    ]
    return GAP.join(padded).rstrip()
