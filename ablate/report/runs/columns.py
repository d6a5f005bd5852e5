"""The measured columns: stable key, heading, meaning with its unit, and where the record has it.

A new column is a row in `COLUMNS`; tables, sorting, formats and the help read nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ablate.judge.intervals import Scale
from ablate.record.evaluated import Extrapolation
from ablate.record.record import Record
from ablate.report.runs.extract import Missing as Missing
from ablate.report.runs.extract import (
    Numbers,
    Value,
    at_context,
    first_over_last,
    number,
)

Better = Literal["", "lower", "higher"]


@dataclass(frozen=True)
class Column:
    """A number of a run and how it is told. `panel` is the part of the table that it stands in."""

    key: str
    heading: str  # lines are split where a narrow column may break
    meaning: str
    extract: Callable[[Record], Value]
    panel: str = ""  # "" stands in no table, only in csv, json and --sort
    optional: bool = False  # stands in a table only where one of its runs measures it
    scale: Scale = "linear"
    decimals: int = 3
    signed: bool = False
    # The value belongs to a finished training: runs that did not end as "done" are not averaged in.
    trained: bool = False
    better: Better = ""  # "": neither; arms are not judged by it
    unit: str = ""
    quantity: str = ""  # of the columns at a context length: "acc", "exact", "nll" or "ret"
    factor: float | None = None  # and the length, in train lengths

    @property
    def heading_lines(self) -> list[str]:
        """The lines of its heading."""
        return self.heading.split("\n")

    @property
    def name(self) -> str:
        """The heading in one line."""
        return self.heading.replace("-\n", "").replace("\n", " ")


FACTORS: dict[str, float] = {"halfL": 0.5, "L": 1, "2L": 2, "4L": 4, "8L": 8}
OUTCOME, START, LENGTH = "outcome", "first step", "length"
CONTEXTS: tuple[tuple[str, Callable[[Extrapolation], Numbers], str, Better, str], ...] = (
    (
        "acc",
        lambda measured: measured.accuracy,
        "share of the targets predicted right",
        "higher",
        "accuracy",
    ),
    (
        "exact",
        lambda measured: measured.exact,
        "share of a generated task's examples whose whole answer is right",
        "higher",
        "exact match",
    ),
    (
        "nll",
        lambda measured: measured.nll,
        "cross-entropy of the targets, nats per token",
        "lower",
        "nats",
    ),
    (
        "ret",
        lambda measured: measured.retention,
        "(accuracy - unigram's) / (accuracy at L - unigram's)",
        "higher",
        "retention",
    ),
)


def _contexts() -> list[Column]:
    """One column for each quantity and context.

    The table shows accuracy at L, 2L, 4L and 8L, and exact match where there is any.
    """
    return [
        Column(
            key=f"{short}_{name}",
            heading=f"{'acc.' if short == 'acc' else short} at\n{name}",
            meaning=f"{meaning} with {name} tokens of context",
            extract=at_context(read, factor, of_what_was_learned=short == "ret"),
            panel=LENGTH if short in ("acc", "exact") and name != "halfL" else "",
            optional=short == "exact",
            trained=True,
            better=better,
            unit=unit,
            quantity=short,
            factor=factor,
        )
        for short, read, meaning, better, unit in CONTEXTS
        for name, factor in FACTORS.items()
    ]


COLUMNS: tuple[Column, ...] = (
    Column(
        "val_loss",
        "val.\nloss",
        "cross-entropy on held-out text at the end, nats per token",
        number(lambda record: record.loss.validation),
        OUTCOME,
        trained=True,
        better="lower",
        unit="nats",
    ),
    Column(
        "first_loss",
        "first\nloss",
        "cross-entropy of the first batch before any update, nats per token",
        number(lambda record: record.loss.first),
        START,
    ),
    Column(
        "excess",
        "over\nln V",
        "first loss - ln V (V = vocabulary), nats",
        number(lambda record: record.loss.excess),
        START,
        signed=True,
    ),
    Column(
        "grad_ratio",
        "grad.\nfirst/last",
        "gradient norm over the parameters of the first block / of the last block, at step 1",
        first_over_last(lambda gradients: gradients.parameters_first),
        START,
        scale="log",
    ),
    *_contexts(),
    Column(
        "input_ratio",
        "dL/dx\nfirst/last",
        "norm of dLoss/dx at the first block's input / at the last block's, at step 1",
        first_over_last(lambda gradients: gradients.inputs_first),
        scale="log",
    ),
    Column(
        "train_loss",
        "train\nloss",
        "training loss, mean of the last tenth of the steps, nats per token",
        number(lambda record: record.loss.final),
        trained=True,
        better="lower",
        unit="nats",
    ),
    Column(
        "best_loss",
        "best\nval. loss",
        "lowest validation loss seen while training, nats per token",
        number(lambda record: record.loss.best),
        trained=True,
        better="lower",
        unit="nats",
    ),
    Column(
        "unigram",
        "unigram\nloss",
        "loss of a model that knows only frequencies, nats per token",
        number(lambda record: record.loss.unigram),
    ),
    Column(
        "clip_fraction",
        "clipped",
        "share of the steps whose gradient was clipped",
        number(lambda record: record.gradients.clip_fraction),
        trained=True,
    ),
    Column(
        "parameters",
        "para-\nmeters",
        "trained parameters",
        number(lambda record: record.parameters),
        decimals=0,
    ),
    Column(
        "tokens",
        "tokens",
        "tokens trained on, repeats and padding counted",
        number(lambda record: record.tokens),
        decimals=0,
        trained=True,
    ),
    Column(
        "seconds",
        "time, s",
        "wall time of the run, seconds",
        number(lambda record: record.timing.seconds),
        decimals=1,
        trained=True,
    ),
    Column(
        "tokens_per_second",
        "tokens/s",
        "training speed, tokens per second",
        number(lambda record: record.timing.tokens_per_second),
        decimals=0,
        trained=True,
    ),
)
BY_KEY = {column.key: column for column in COLUMNS}
