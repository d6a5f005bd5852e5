"""What hears of a run while it trains, and the one that keeps its curves."""

from contextlib import suppress
from pathlib import Path
from typing import TextIO

from ablate.record import run_files
from ablate.record.curves import FILE, LARGEST, as_text, lines_of
from ablate.record.record import Record
from ablate.record.replaced import replace_file


class Listener:
    """Events of one run, each a no-op here; a listener overrides those it wants.

    The training loop sends start, warn, then any number of step, log, validate and message, then
    finish; finish comes whatever became of the run.
    """

    def start(self, record: Record, resumed_at: int) -> None:
        """Before the first step; `resumed_at` steps are already done (0 in a fresh run)."""

    def step(self, step: int, loss: float) -> None:
        """After every optimiser step (1-based), with its training loss in nats."""

    def log(self, line: dict) -> None:
        """Every log.every steps, with the line that curves.jsonl gets."""

    def validate(self, step: int, loss: float) -> None:
        """After a validation pass, with its mean loss in nats."""

    def message(self, text: str) -> None:
        """What the loop is doing beside training, such as "evaluating at 8L"."""

    def warn(self, text: str) -> None:
        """Something that looks wrong before the first step, with what to try."""

    def finish(self, record: Record) -> None:
        """After the last event of the run, with its final record."""


class Curves(Listener):
    """Appends each logged line to curves.jsonl, on disk before the next step begins.

    A resumed run first drops the lines beyond the step it goes on from (all of them in a fresh
    run), and a last line that a killed process left half written, so steps never repeat.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE
        self._file: TextIO | None = None

    def start(self, record: Record, resumed_at: int) -> None:
        """Bring the file back to `resumed_at` and open it for more.

        Raises OSError where there is a file that cannot be read, before it is changed.
        """
        before = b""
        if resumed_at:
            with suppress(FileNotFoundError):
                before = run_files.read(self.path, LARGEST)
        kept = [line for line in lines_of(before) if line["step"] <= resumed_at]
        replace_file(self.path, "".join(map(as_text, kept)))
        self._file = run_files.append(self.path)

    def log(self, line: dict) -> None:
        """Append one line and flush it."""
        if self._file is None:
            raise RuntimeError("Curves heard of a line before the start of the run")
        self._file.write(as_text(line))
        self._file.flush()

    def finish(self, record: Record) -> None:
        """Close the file."""
        if self._file is not None:
            with suppress(OSError):  # of a line that could not be written, which has ended the run
                self._file.close()
            self._file = None
