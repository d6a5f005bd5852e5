"""A run's curves, settings and pictures for TensorBoard, in the run's own directory."""

import math
import struct
from collections.abc import Iterator
from pathlib import Path

from tensorboard.compat.proto.summary_pb2 import Summary
from torch.utils.tensorboard import SummaryWriter

from ablate.train import pictures
from ablate.train.hyperparameters import (
    ACCURACY,
    EXCESS,
    FIRST_LOSS,
    FIRST_RATIO,
    VALIDATION,
    session_end,
    session_start,
)
from ablate.train.listeners import Listener, read_curves
from ablate.train.summary import block_ratio, context, summary_lines

EVENTS = "events.out.tfevents.*"
END_SUFFIX = ".end"
FLUSH_EVERY = 5  # seconds until an event can be seen, as often as the page reloads

BLOCKS = "per-block gradients"
BY_DEPTH = f"{BLOCKS}/by depth"
OVER_TRAINING = f"{BLOCKS}/over training"

# Charts that the Custom Scalars page draws from several tags.
LAYOUT = {
    "loss": {
        "loss, unigram loss and ln V": [
            "Multiline",
            ["loss/train", "loss/validation", "reference/unigram loss", "reference/ln V"],
        ]
    },
    BLOCKS: {kind: ["Multiline", [f"{BLOCKS} {kind}/.*"]] for kind in ("parameters", "inputs")},
}


class TensorBoard(Listener):
    """Writes one tag per quantity and block; a line of curves.jsonl becomes one event.

    TensorBoard sorts the groups by name and unfolds the first two: loss and optimizer by these
    names. Under "results" the charts "by context tokens" have the context length as their x axis.

    What the end of a run brings stands in an event file of its own. TensorBoard keeps the first
    end it reads, so a run that goes on after an interruption takes the old one away.
    """

    _record: dict  # these from the start of the run on
    _profiles: list[dict]

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._writer: SummaryWriter | None = None

    def start(self, record: dict, resumed_at: int) -> None:
        """Open the event file; what lies beyond `resumed_at` is hidden, or removed when fresh."""
        stale = EVENTS if resumed_at == 0 else EVENTS + END_SUFFIX
        for path in self._directory.glob(stale):
            path.unlink()
        curves = read_curves(self._directory / "curves.jsonl")
        done = [line for line in curves if line["step"] <= resumed_at]
        self._profiles = [line for line in done if has_profile(line)]
        self._record = record
        # A purge counts only after a first session start, so a fresh run writes one as well.
        purge_step = resumed_at + 1 if resumed_at else 0
        self._writer = SummaryWriter(
            str(self._directory), purge_step=purge_step, max_queue=100, flush_secs=FLUSH_EVERY
        )
        if resumed_at == 0:
            for summary in session_start(record):
                self._add(summary, 0)
            self._writer.add_custom_scalars(LAYOUT)
        self._writer.flush()

    def step(self, step: int, loss: float) -> None:
        """Keep the loss before any update."""
        if step == 1:
            excess = loss - self._record["loss"]["uniform"]
            self._scalars({FIRST_LOSS: loss, EXCESS: excess}, step)

    def log(self, line: dict) -> None:
        """Write one event with all quantities of the step."""
        step = line["step"]
        scalars = dict(quantities(line))
        scalars["reference/ln V"] = self._record["loss"]["uniform"]
        scalars["reference/unigram loss"] = self._record["loss"]["unigram"]
        if has_profile(line):
            self._profiles.append({"step": step, "gradients": line["gradients"]})
            if step == 1:
                scalars[FIRST_RATIO] = block_ratio(line["gradients"]["parameters"])
                self._image(BY_DEPTH, pictures.profile(line["gradients"], step), step)
        self._scalars(scalars, step)

    def validate(self, step: int, loss: float) -> None:
        """Write the validation loss."""
        self._scalars({VALIDATION: loss}, step)

    def finish(self, record: dict) -> None:
        """Write the results, the pictures and how the run ended."""
        if self._writer is None:
            return
        self._writer.close()
        self._writer = SummaryWriter(str(self._directory), filename_suffix=END_SUFFIX)
        step = record["steps_done"]
        self._results(record, step)
        if record["status"] in ("done", "diverged") and len(self._profiles) > 1:
            last = self._profiles[-1]
            self._image(BY_DEPTH, pictures.profile(last["gradients"], last["step"]), last["step"])
            self._image(OVER_TRAINING, pictures.over_training(self._profiles), step)
        text = "\n".join(f"- {line}" for line in summary_lines(record, self._directory))
        self._writer.add_text("run/summary", text, step)
        self._add(session_end(record["status"]), 0)
        self._writer.close()
        self._writer = None

    def _results(self, record: dict, step: int) -> None:
        extrapolation = record.get("extrapolation") or {"lengths": []}
        for i, length in enumerate(extrapolation["lengths"]):
            accuracy, nll = extrapolation["accuracy"][i], extrapolation["nll"][i]
            if accuracy is not None:
                name = context(length, extrapolation["train_length"])
                self._scalars({ACCURACY.format(name): accuracy}, step)
                self._scalars({"results/accuracy by context tokens": accuracy}, length)
            if nll is not None:
                self._scalars({"results/loss by context tokens": nll}, length)
        for i, exact in enumerate(extrapolation.get("exact", [])):
            if exact is not None:
                length = extrapolation["lengths"][i]
                self._scalars({"results/exact match by tokens": exact}, length)

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
        if self._writer is None or self._writer.file_writer is None:
            raise RuntimeError("TensorBoard heard of an event outside of a run")
        self._writer.file_writer.add_summary(summary, step)


def has_profile(line: dict) -> bool:
    """Whether a line brings the gradient norms by block; one for a validation loss may not."""
    return "gradients" in line and len(line["gradients"]["parameters"]) > 0


def quantities(line: dict) -> Iterator[tuple[str, float | None]]:
    """List the numbers of a logged line under their tags, blocks in an order that sorts."""
    yield "loss/train", line["loss"]
    yield "optimizer/lr", line["lr"]
    yield "optimizer/grad_norm", line["grad_norm"]
    yield "optimizer/clipped", float(line["clipped"])
    yield "speed/tokens_per_second", line["tokens_per_second"]
    if not has_profile(line):
        return
    for kind, norms in line["gradients"].items():
        yield f"{BLOCKS}/first over last block, {kind}", block_ratio(norms)
        digits = max(2, len(str(len(norms))))
        for block, norm in enumerate(norms, start=1):
            yield f"{BLOCKS} {kind}/block {block:0{digits}d}", norm
