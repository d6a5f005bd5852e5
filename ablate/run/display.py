"""What a person sees of a run while it trains: a live bar in a terminal, plain lines elsewhere."""

import atexit
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ablate.judge.labels import progress_label
from ablate.record.record import Record
from ablate.run.progress import Clock, CurveWatch, Headway, LabelRule
from ablate.run.summary import brief_lines, summary_lines
from ablate.train.listeners import Listener

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live as RichLive

HEARTBEAT = 30.0  # seconds of silence on a plain stream
REFRESH = 4  # pictures a second; more costs training time and reads no better
Telling = Callable[[Record, Path], list[str]]
MARK_EVERY = 0.1  # seconds between two positions of the bar


def display(
    directory: Path,
    stream: TextIO | None = None,
    clock: Clock = time.monotonic,
    label: LabelRule = progress_label,
    *,
    brief: bool = False,
) -> Listener:
    """Choose the display for `stream` (stderr when None): live in a terminal, else plain lines.

    `brief`: a finished run is told in a line, as one of many.
    """
    summary = brief_lines if brief else summary_lines
    stream = sys.stderr if stream is None else stream
    if directory.is_relative_to(Path.cwd()):  # as the user would type it
        directory = directory.relative_to(Path.cwd())
    if not stream.isatty():
        return Plain(directory, stream, clock, summary)
    from rich.console import Console

    console = Console(file=stream, highlight=False)
    if console.is_dumb_terminal:
        return Plain(directory, stream, clock, summary)
    return Live(directory, console, clock, label, summary)


class Plain(Listener):
    """A line when the run starts, one every half minute while it trains, and what it came to.

    No control codes and no colour: for files, pipes and batch systems. Each line of one of many
    names its run, as several may write to one stream; a single run is named once, above the rest.
    """

    _progress: Headway  # from the start of the run on

    def __init__(
        self,
        directory: Path,
        stream: TextIO,
        clock: Clock = time.monotonic,
        summary: Telling = summary_lines,
    ) -> None:
        self._directory = directory
        self._summary = summary
        self._stream = stream
        self._clock = clock
        self._spoken = clock()
        self._before = "  " if summary is summary_lines else f"{directory.name}: "

    def start(self, record: Record, resumed_at: int) -> None:
        """Say what starts."""
        self._progress = Headway(record, resumed_at, self._clock)
        if self._summary is summary_lines:
            print(self._directory.name, file=self._stream)
        self._say(f"started, {self._progress.size}")

    def step(self, step: int, loss: float) -> None:
        """Say how far it is, if nothing was said for a while."""
        if self._due():
            self._progress.mark(step)
            facts = [f"step {step:,} of {self._progress.steps:,}", f"loss {loss:.3f}"]
            self._say(", ".join(facts + self._progress.speed()))

    def message(self, text: str) -> None:
        """Say what is done beside training, if nothing was said for a while."""
        if self._due():
            self._say(text)

    def warn(self, text: str) -> None:
        """Say it whenever it comes."""
        self._say(f"warning: {text}")

    def finish(self, record: Record) -> None:
        """Say what came out."""
        for line in self._summary(record, self._directory):
            self._say(line)

    def _due(self) -> bool:
        return self._clock() - self._spoken >= HEARTBEAT

    def _say(self, text: str) -> None:
        self._spoken = self._clock()
        print(f"{self._before}{text}", file=self._stream, flush=True)


class Live(Listener):
    """A progress bar with the losses and the diagnosis so far, then a summary of the run."""

    _progress: Headway  # these two from the start of the run on
    _diagnosis: CurveWatch

    def __init__(
        self,
        directory: Path,
        console: "Console",
        clock: Clock = time.monotonic,
        label: LabelRule = progress_label,
        summary: Telling = summary_lines,
    ) -> None:
        self._directory = directory
        self._summary = summary
        self._console = console
        self._clock = clock
        self._label = label
        self._losses: dict[str, float] = {}
        self._message = ""
        self._marked = clock()
        self._picture: RichLive | None = None

    def start(self, record: Record, resumed_at: int) -> None:
        """Print what starts and show the bar."""
        from rich.live import Live as RichLive

        self._progress = Headway(record, resumed_at, self._clock)
        self._diagnosis = CurveWatch(record, self._clock, self._label)
        self._print(record.name or "", style="bold")
        self._print(f"  {self._progress.size}")
        # What others print to stderr appears above the bar; stdout is for data and left alone.
        self._picture = RichLive(
            get_renderable=self._render,
            console=self._console,
            refresh_per_second=REFRESH,
            transient=True,
            redirect_stdout=False,
        )
        self._picture.start()
        atexit.register(self._picture.stop)  # the cursor comes back even without a finish

    def step(self, step: int, loss: float) -> None:
        """Note the step; the bar is drawn by a clock of its own."""
        self._losses["loss"] = loss
        self._message = ""
        self._diagnosis.step(step, loss)
        now = self._clock()
        if now - self._marked >= MARK_EVERY or step == self._progress.steps:
            self._marked = now
            self._progress.mark(step)

    def validate(self, step: int, loss: float) -> None:
        """Note the validation loss."""
        self._losses["validation"] = loss

    def message(self, text: str) -> None:
        """Show what is done beside training, until the next step."""
        self._message = text
        if self._picture is None:  # still preparing
            self._print(f"  {text}", style="dim")

    def warn(self, text: str) -> None:
        """Print it above the bar, where it stays."""
        self._print(f"  ! {text}", style="yellow")

    def finish(self, record: Record) -> None:
        """Take the bar away and print what came out and where to look next."""
        if self._picture is not None:
            self._picture.stop()
            atexit.unregister(self._picture.stop)
            self._picture = None
        verdict, *facts = self._summary(record, self._directory)
        self._print(f"  {verdict}", style="bold")
        for fact in facts:
            self._print(f"  {fact}")
        if self._summary is summary_lines:
            self._print("  next: ablate report for the table, ablate board for the curves")

    def _print(self, text: str, style: str | None = None) -> None:
        # Soft wrapping leaves a path whole, so that it can be copied.
        self._console.print(text, style=style, soft_wrap=True, markup=False)

    def _render(self) -> "RenderableType":
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        progress = self._progress
        row = Table.grid(padding=(0, 2), expand=True)
        row.add_column(ratio=1)
        row.add_column(no_wrap=True)
        count = f"step {progress.step:,} of {progress.steps:,}"
        row.add_row(
            ProgressBar(total=progress.steps, completed=progress.step),
            Text("  ".join([count, *progress.speed()])),
        )
        facts = [f"{name} {value:.3f}" for name, value in self._losses.items()]
        facts += [self._message] if self._message else self._diagnosis.words()
        return Group(row, Text("  ·  ".join(facts), style="dim"))
