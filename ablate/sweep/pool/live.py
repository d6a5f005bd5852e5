"""What a person sees of a sweep while it goes on: a live table in a terminal, lines elsewhere."""

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

from ablate.run.display import HEARTBEAT, REFRESH
from ablate.run.progress import Clock
from ablate.run.summary import duration
from ablate.sweep.pool.progress_rows import (
    ELSEWHERE,
    RUNNING,
    WAITING,
    Began,
    RunRow,
    RunRows,
    Warned,
    distinct,
    sparkline,
)

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

NARROW = 80  # columns below which there is no room for bars
AROUND = 8  # lines of a terminal that the table leaves free
COLOURS = {"done": "green", "diverged": "yellow", "failed": "red", "interrupted": "yellow"}


class Lines:
    """A line for each run that starts or ends, and one every half minute; no control codes.

    A run is named by what sets it apart from the others of the sweep.
    """

    def __init__(self, rows: RunRows, stream: TextIO, clock: Clock = time.monotonic) -> None:
        self.rows, self._stream, self._clock = rows, stream, clock
        self._short = dict(zip(rows.rows, distinct(list(rows.rows)), strict=True))
        self._spoken = clock()

    def open(self) -> None:
        """Nothing to draw."""

    def say(self, text: str) -> None:
        """Print a line at once."""
        self._spoken = self._clock()
        print(text, file=self._stream, flush=True)

    def heard(self, row: RunRow, event: Any) -> None:
        """Say what a run begins with, and its warnings."""
        if isinstance(event, Began):
            self.say(f"{self._short[row.name]}: started, {event.size}")
        elif isinstance(event, Warned):
            self.say(f"{self._short[row.name]}: warning: {event.text}")

    def ended(self, row: RunRow, words: str) -> None:
        """Say what came of a run."""
        self.say(f"{self._short[row.name]}: {words}")

    def tick(self) -> None:
        """Say how far all are, if nothing was said for a while."""
        if self._clock() - self._spoken >= HEARTBEAT:
            going = [row for row in self.rows.rows.values() if row.state == RUNNING]
            steps = ", ".join(
                f"step {row.step:,} of {row.steps:,}" for row in going if row.steps > 0
            )
            self.say(f"{summary(self.rows)}{f' (running: {steps})' if steps else ''}")

    def close(self) -> None:
        """Nothing to take away."""


class LiveTable:
    """A row for each run with its progress and its loss so far, drawn by the pool's ticks."""

    def __init__(self, rows: RunRows, console: "Console", clock: Clock = time.monotonic) -> None:
        from rich.live import Live

        self.rows, self._console, self._clock = rows, console, clock
        short = distinct(list(rows.rows))
        self._short = dict(zip(rows.rows, short, strict=True))
        self._drawn = clock()
        self._live = Live(
            get_renderable=self.picture,
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
        )

    def open(self) -> None:
        """Draw it."""
        self._live.start(refresh=True)

    def say(self, text: str) -> None:
        """Print a line above the table, where it stays."""
        self._console.print(text, soft_wrap=True, markup=False)

    def heard(self, row: RunRow, event: Any) -> None:
        """Say what looks wrong; the rest is in the table."""
        if isinstance(event, Warned):
            self.say(f"{self._short[row.name]}: ! {event.text}")

    def ended(self, row: RunRow, words: str) -> None:
        """Say what failed; of others the table and the end tell."""
        if row.state == "failed":
            self.say(f"{self._short[row.name]}: {words}")

    def tick(self) -> None:
        """Draw it anew, a few times a second."""
        now = self._clock()
        if now - self._drawn >= 1 / REFRESH:
            self._drawn = now
            self._live.refresh()

    def close(self) -> None:
        """Take it away."""
        self._live.stop()

    def picture(self) -> "RenderableType":
        """The table with a line on the whole sweep below it."""
        from rich.console import Group
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(box=None, pad_edge=False, expand=False)
        wide = self._console.width >= NARROW
        validated = any(row.validation is not None for row in self.rows.rows.values())
        columns: list[tuple[str, dict[str, Any]]] = [
            ("run", {"no_wrap": True, "overflow": "ellipsis", "ratio": 1}),
            ("progress", {"no_wrap": True, "justify": "right"}),
            ("smoothed\ntraining\nloss", {"justify": "right", "min_width": 8}),
            *([("val.\nloss", {"justify": "right", "min_width": 5})] if validated else []),
            *([("", {"no_wrap": True})] if wide else []),
            ("label", {"no_wrap": True, "max_width": max(10, self._console.width // 4)}),
        ]
        for name, more in columns:
            table.add_column(name, header_style="dim", **more)
        shown, hidden = fitting(list(self.rows.rows.values()), self._console.height - AROUND)
        for row in shown:
            cells = [self._short[row.name], progress(row)]
            cells.append(f"{row.losses[-1]:.3f}" if row.losses else "")
            if validated:
                cells.append("" if row.validation is None else f"{row.validation:.3f}")
            if wide:
                cells.append(sparkline(row.losses))
            words = row.doing or (f"{row.label} so far" if row.label else "")
            if row.state not in (RUNNING, WAITING):
                words = row.label or ""
            style = "dim" if row.state == WAITING else COLOURS.get(row.state, "")
            table.add_row(*cells, words, style=style)
        lines: list[RenderableType] = [table]
        if hidden:
            lines.append(Text(f"and {hidden} more", style="dim"))
        return Group(*lines, Text(summary(self.rows), style="bold"))


def progress(row: RunRow) -> str:
    """How far a run is, in a word or two."""
    if row.state == RUNNING and row.steps:
        return f"step {row.step:,} of {row.steps:,}"
    return row.state


def summary(rows: RunRows) -> str:
    """How far the sweep is.

    >>> rows = RunRows(["a", "b"], 1, clock=iter([0.0, 8.0, 8.0]).__next__)
    >>> _ = rows.start("a"), rows.end("a", "done", None)
    >>> summary(rows)
    '1 of 2 ended, 0 running, about 8 s left'
    """
    going = rows.count(RUNNING)
    open_ones = going + rows.count(WAITING) + rows.count(ELSEWHERE)
    facts = [f"{len(rows.rows) - open_ones} of {len(rows.rows)} ended", f"{going} running"]
    if failed := rows.count("failed"):
        facts.append(f"{failed} failed")
    if elsewhere := rows.count(ELSEWHERE):
        facts.append(f"{elsewhere} in the hands of other processes")
    if going + rows.count(WAITING) and (left := rows.left()) is not None:
        facts.append(f"about {duration(left)} left")
    return ", ".join(facts) + (f"; {rows.about}" if rows.about else "")


def fitting(rows: Sequence[RunRow], height: int) -> tuple[list[RunRow], int]:
    """The rows that fit, in order, and how many do not: running, then last ended, then next."""
    if len(rows) <= height:
        return list(rows), 0
    running = [row for row in rows if row.state == RUNNING]
    waiting = [row for row in rows if row.state == WAITING]
    others = [row for row in rows if row.state not in (RUNNING, WAITING)]
    room = max(height - 1, 1)
    chosen = [*running, *waiting[:2], *reversed(others), *waiting[2:]][:room]
    names = {row.name for row in chosen}
    return [row for row in rows if row.name in names], len(rows) - len(chosen)


def display(rows: RunRows, stream: TextIO | None = None) -> Lines | LiveTable:
    """The display for `stream` (stderr when None)."""
    stream = sys.stderr if stream is None else stream
    if stream.isatty():
        from rich.console import Console

        console = Console(file=stream, highlight=False)
        if not console.is_dumb_terminal:
            return LiveTable(rows, console)
    return Lines(rows, stream)
