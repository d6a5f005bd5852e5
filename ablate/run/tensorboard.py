"""A run's curves, settings and pictures for TensorBoard, in the run's own directory."""

import math
import struct
from pathlib import Path

from tensorboard.compat.proto.summary_pb2 import Summary
from torch.utils.tensorboard.summary import custom_scalars, text

from ablate.judge.labels import LABELS
from ablate.judge.profile import first_over_last
from ablate.record.curves import read_lines
from ablate.record.record import Record
from ablate.run import pictures
from ablate.run.board_tags import (
    BY_CONTEXT,
    BY_DEPTH,
    LAYOUT,
    OVER_TRAINING,
    diagnosis,
    has_profile,
    quantities,
)
from ablate.run.event_file import EventFile
from ablate.run.hyperparameters import (
    ACCURACY,
    EXCESS,
    FINAL,
    FIRST_LOSS,
    FIRST_RATIO,
    LABEL,
    RETENTION,
    SPIKES,
    VALIDATION,
    session_end,
    session_start,
)
from ablate.run.summary import context, summary_lines
from ablate.train.listeners import Listener

EVENTS = "events.out.tfevents.*"
END_SUFFIX = ".end"


class TensorBoard(Listener):
    """Writes one tag per quantity and block; a line of curves.jsonl becomes one event.

    TensorBoard sorts the groups by name and unfolds the first two: loss and optimizer by these
    names. Under "results" the charts "by context tokens" have the context length as their x axis.

    What the end of a run brings stands in an event file of its own. TensorBoard keeps the first
    end it reads, so a run that goes on after an interruption takes the old one away.
    """

    _record: Record  # these from the start of the run on
    _profiles: list[dict]

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file: EventFile | None = None

    def start(self, record: Record, resumed_at: int) -> None:
        """Open the event file; what lies beyond `resumed_at` is hidden, or removed when fresh."""
        stale = EVENTS if resumed_at == 0 else EVENTS + END_SUFFIX
        for path in self._directory.glob(stale):
            path.unlink()
        curves = read_lines(self._directory)
        done = [line for line in curves if line["step"] <= resumed_at]
        self._profiles = [line for line in done if has_profile(line)]
        self._record = record
        # A purge counts only after a first session start, so a fresh run writes one as well.
        purge_step = resumed_at + 1 if resumed_at else 0
        self._file = EventFile(self._directory, purge_step=purge_step)
        if resumed_at == 0:
            for summary in session_start(record):
                self._add(summary, 0)
            self._add(custom_scalars(LAYOUT), 0)
        self._file.flush()

    def step(self, step: int, loss: float) -> None:
        """Keep the loss before any update."""
        if step == 1:
            excess = loss - (self._record.loss.uniform or 0.0)
            self._scalars({FIRST_LOSS: loss, EXCESS: excess}, step)

    def log(self, line: dict) -> None:
        """Write one event with all quantities of the step."""
        step = line["step"]
        scalars = dict(quantities(line))
        scalars["reference/ln V"] = self._record.loss.uniform
        scalars["reference/unigram loss"] = self._record.loss.unigram
        if has_profile(line):
            self._profiles.append({"step": step, "gradients": line["gradients"]})
            if step == 1:
                scalars[FIRST_RATIO] = first_over_last(line["gradients"]["parameters"])
                self._image(BY_DEPTH, pictures.profile(line["gradients"], step), step)
        self._scalars(scalars, step)

    def validate(self, step: int, loss: float) -> None:
        """Write the validation loss."""
        self._scalars({VALIDATION: loss}, step)

    def finish(self, record: Record) -> None:
        """Write the results, the pictures and how the run ended."""
        if self._file is None:
            return
        self._file.close()
        self._file = EventFile(self._directory, END_SUFFIX)
        step = record.steps_done or 0
        self._results(record, step)
        if record.status in ("done", "diverged") and len(self._profiles) > 1:
            last = self._profiles[-1]
            self._image(BY_DEPTH, pictures.profile(last["gradients"], last["step"]), last["step"])
            self._image(OVER_TRAINING, pictures.over_training(self._profiles), step)
        came_to = "\n".join(f"- {line}" for line in summary_lines(record, self._directory))
        self._add(text("run/summary", came_to), step)
        self._add(text("run/diagnosis", diagnosis(record)), step)
        self._add(session_end(record.status or "failed"), 0)
        self._file.close()
        self._file = None

    def _results(self, record: Record, step: int) -> None:
        scalars = {FINAL: record.loss.final, SPIKES: record.loss.spike_score}
        if record.label is not None:
            scalars[LABEL] = LABELS.index(record.label)
        self._scalars({tag: v for tag, v in scalars.items() if v is not None}, step)
        measured = record.extrapolation
        for i, length in enumerate(measured.lengths):
            name = context(length, measured.train_length or length)
            for tag, values, place in (
                (ACCURACY.format(name), measured.accuracy, step),
                (RETENTION.format(name), measured.retention, step),
                (BY_CONTEXT.format("accuracy"), measured.accuracy, length),
                (BY_CONTEXT.format("exact match"), measured.exact, length),
                (BY_CONTEXT.format("loss"), measured.nll, length),
            ):
                if values and values[i] is not None:
                    self._scalars({tag: values[i]}, place)

    def _scalars(self, scalars: dict[str, float | None], step: int) -> None:
        summary = Summary()
        for tag, value in scalars.items():
            summary.value.add(tag=tag, simple_value=math.nan if value is None else value)
        self._add(summary, step)

    def _image(self, tag: str, png: bytes, step: int) -> None:
        width, height = struct.unpack(">II", png[16:24])  # of the PNG header
        image = Summary.Image(width=width, height=height, colorspace=4, encoded_image_string=png)
        self._add(Summary(value=[Summary.Value(tag=tag, image=image)]), step)

    def _add(self, summary: Summary, step: int) -> None:
        # Not add_scalar: an event per tag costs ten times what one event with all tags does.
        if self._file is None:
            raise RuntimeError("TensorBoard heard of an event outside of a run")
        self._file.add(summary, step)
