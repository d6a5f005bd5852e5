"""Text for whoever reads stdout: a terminal of some width, a pipe, a file."""

import io
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ablate.shell.clean import as_json, clean

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


def columns() -> int | None:
    """The width to lay text out for: a terminal's or $COLUMNS; None in a pipe or a file."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return max(20, shutil.get_terminal_size().columns)
    return None


def fold(text: str, width: int | None, first: str = "", later: str = "") -> list[str]:
    """`text` after `first` in lines of `width` with `later` before all but the first.

    Nothing is cut: a word longer than a line stands out, and without a width there is one line.

    >>> fold("to be or not", 8, "- ", "  ")
    ['- to be', '  or not']
    """
    if width is None:
        return [first + text]
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines or [first.rstrip()]


def laid_out(table: "Table", width: int | None) -> list["Text"]:
    """A rich table in lines of `width`, or in as many columns as it takes without one.

    Nothing is cut: columns that may not be folded, and words longer than a line, stand out.
    """
    from rich.console import Console
    from rich.measure import Measurement
    from rich.text import Text

    console = Console(file=io.StringIO(), width=sys.maxsize, force_terminal=False)
    for column in table.columns:
        if column.no_wrap:
            cells = (column.header, *column.cells)
            column.min_width = max(
                Measurement.get(console, console.options, cell).maximum for cell in cells
            )
    needed = Measurement.get(console, console.options, table)
    options = console.options.update(width=max(width or needed.maximum, needed.minimum))
    lines = console.render_lines(table, options, pad=False)
    texts = [Text.assemble(*((s.text, s.style or "") for s in line)) for line in lines]
    for text in texts:
        text.rstrip()
    return texts


def in_columns(
    heading: Sequence[str], rows: Sequence[Sequence[str]], *, right: bool = False
) -> list[str]:
    """Lines of aligned columns under a heading, two spaces apart and as wide as they need to be.

    >>> in_columns(["status", "run"], [["done", "pos=rope"]])
    ['status  run', 'done    pos=rope']
    """
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in heading:
        table.add_column(no_wrap=True, justify="right" if right else "left")
    for row in (heading, *rows):
        table.add_row(*map(Text, row))
    return list(map(str, laid_out(table, None)))


def show(lines: Iterable["str | Text"]) -> None:
    """Print lines to stdout, in colour where it is a terminal that wants it."""
    if sys.stdout.isatty():
        from rich.console import Console

        console = Console(soft_wrap=True, highlight=False, markup=False)
        for line in lines:
            same = clean(str(line)) == str(line)
            console.print(line if same else clean(str(line)))
        return
    for line in lines:
        print(clean(str(line)).rstrip())


def show_json(data: Any) -> None:
    """Print plain data as JSON; numbers that JSON does not have become null."""
    utf8 = (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
    print(as_json(data, ascii_only=not utf8))


def styled(*parts: "str | tuple[str, str]") -> Any:
    """Text made of words and (words, style) pairs."""
    from rich.text import Text

    return Text.assemble(*parts)
