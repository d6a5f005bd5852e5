"""The record of a run: this dataclass is the schema of record.json.

An attribute has the name of its key. Numbers are None where they were not measured, or were not
finite. A newly recorded quantity is a field here and a line where it is measured.

    record, problem = disk.read(directory)     # never raises
    record.loss.validation, record.extrapolation.accuracy
    record.instrument("stream_rms").first      # empty where it was not looked at

The parts `corpus`, `loss`, `gradients`, `extrapolation`, `learning`, `timing`, `environment` and
`curve` are always there, maybe empty; `position_probe` and `shuffle` are None unless asked for.
"""

from dataclasses import dataclass, field
from typing import Any

from ablate.record.evaluated import Evaluation, Extrapolation, Learning, PositionProbe, Shuffle
from ablate.record.fields import Reading, RecordPart, left_out, null

SCHEMA = 1
STATUSES = ("running", "done", "diverged", "failed", "interrupted")


@dataclass
class RecordedCorpus(RecordPart):
    """The text that a run learned from, or the generated task."""

    name: str | None = None
    sha256: str | None = None
    """Of its texts and of how they became tokens; runs with the same one saw the same tokens."""
    vocabulary: int | None = None
    """Tokens there are."""
    tokens_train: int | None = None
    """None where examples are drawn without end."""
    tokens_validation: int | None = None
    texts_validation: int | None = left_out()
    texts_repeated: int | None = left_out()
    """Validation texts that stand in training too, whole or nearly."""
    share_repeated: float | None = left_out()
    """What they make up of the validation text."""
    files: list[str] = left_out(list)
    """Whole paths of the files and folders that were asked for, of a text of the user's own."""


@dataclass
class Loss(RecordPart):
    """Cross-entropies, nats per token."""

    uniform: float | None = None
    """ln of the vocabulary."""
    unigram: float | None = None
    """Of a model that knows only frequencies, on the validation text."""
    unigram_train: float | None = None
    """The same on the training text."""
    unigram_windows: float | None = left_out()
    """The same on the validation windows that `validation` is measured on."""
    targets: int | None = None
    """Targets in a training batch."""
    repeats: float | None = None
    """Chance that two targets of a training batch are the same token, 0 to 1."""
    first: float | None = None
    """Of the first batch, before any update."""
    excess: float | None = None
    """first - uniform."""
    final: float | None = None
    """Training loss, mean of the last tenth of the steps."""
    validation: float | None = None
    """At the end."""
    best: float | None = None
    """The lowest validation loss seen."""
    spike_score: float | None = None
    """Share of the steps whose loss is far above its trend, 0 to 1."""
    spike_max: float | None = None
    """How far the highest stands above the trend, standard deviations."""


@dataclass
class Gradients(RecordPart):
    """Gradient norms (L2, before clipping) by block, that next to the embedding first.

    Over a block's parameters, and of the loss at its input: at step 1, on average over the logged
    steps and at the last of them. Slopes are those of the logarithm over depth, a block.
    """

    parameters_first: list[float | None] = null(list)
    parameters_mean: list[float | None] = null(list)
    parameters_last: list[float | None] = left_out(list)
    parameters_slope_first: float | None = left_out()
    parameters_slope_last: float | None = left_out()
    inputs_first: list[float | None] = null(list)
    inputs_mean: list[float | None] = null(list)
    inputs_last: list[float | None] = left_out(list)
    inputs_slope_first: float | None = left_out()
    inputs_slope_last: float | None = left_out()
    clip_fraction: float | None = None
    """Share of the steps whose gradient was clipped, 0 to 1."""


@dataclass
class Timing(RecordPart):
    """How long a run took."""

    seconds: float | None = None
    """On the clock since the first step, evaluation while training included."""
    tokens_per_second: float | None = None
    """In optimiser steps alone."""
    total_seconds: float | None = None
    """With building, evaluation and all, over all processes that worked at the run."""
    started: str | None = None
    """Date and time, ISO 8601, UTC; of the last process."""
    finished: str | None = None


@dataclass
class Environment(RecordPart):
    """Versions and machine, as far as numbers may depend on them."""

    python: str | None = None
    torch: str | None = None
    device: str | None = None
    threads: int | None = None
    git: str | None = None
    """The commit, with "+" where files differ from it; None outside of a checkout."""
    ablate: str | None = None
    processes: int | None = left_out()


@dataclass
class ThinnedCurve(RecordPart):
    """The training loss at about 200 steps."""

    steps: list[int | None] = field(default_factory=list)
    loss: list[float | None] = field(default_factory=list)
    """Nats per token; None where it was not finite."""

    def points(self) -> list[tuple[int, float]]:
        """The steps that have a loss, each with it."""
        pairs = zip(self.steps, self.loss, strict=False)
        return [(step, loss) for step, loss in pairs if step is not None and loss is not None]


@dataclass
class DepthProfile(RecordPart):
    """What an instrument saw at the first logged step, on average and at the last.

    The units are told by the instruments themselves. Slopes are those of the logarithm over depth,
    a block, where a block has one number.
    """

    first: Reading = None
    mean: Reading = None
    last: Reading = None
    slope_first: float | None = left_out()
    slope_last: float | None = left_out()


@dataclass
class Remedy(RecordPart):
    """Something to try, in words, and the change of a setting that it is, if it is one."""

    words: str = ""
    key: str | None = left_out()
    value: str | None = left_out()
    """What the setting would be, as it is typed."""
    way: str | None = left_out()
    """lower, higher or other, where there is no one value; evaluate for what is no new run."""


@dataclass
class Signature(RecordPart):
    """What is the matter with a run: the numbers that show it, its likely cause, what to try."""

    name: str = ""
    evidence: str = ""
    cause: str = ""
    advice: str = ""
    numbers: dict[str, Any] | None = left_out()
    """The parts of the evidence, by what they are: numbers and words."""
    remedies: list[Remedy] | None = left_out()
    """The parts of the advice; None in records of before they were kept."""
    spoils: str | None = left_out()
    """What it would make worse, and a remedy better: loss, length or start."""
    only_if_behind: bool | None = left_out()
    """Whether it is no fault in the best arm of a study."""


@dataclass
class Record(RecordPart):
    """What is known of a run; every key of record.json."""

    schema: int = SCHEMA
    run_id: str | None = None
    """study/name."""
    study: str | None = None
    name: str | None = None
    arm: str | None = None
    """The configuration without its seed, by name."""
    seed: int | None = None
    status: str | None = None
    """One of STATUSES."""
    label: str | None = None
    """What became of the training: healthy, undecided, unstable, stuck, diverged.

    None of a run that did not end, or did not get past its warmup.
    """
    error: str | None = None
    choices: dict[str, Any] = field(default_factory=dict)
    """The name of each group's choice."""
    config: dict[str, Any] = field(default_factory=dict)
    """The resolved config."""
    depth: int | None = None
    """Blocks."""
    width: int | None = None
    heads: int | None = None
    seq_len: int | None = None
    """Tokens of a training sequence; L."""
    batch_size: int | None = None
    """Sequences."""
    steps: int | None = None
    """Planned optimiser steps."""
    steps_done: int | None = None
    parameters: int | None = None
    flops_per_token: float | None = None
    """Of a forward and a backward pass."""
    tokens: int | None = None
    """Trained on; repeats and padding count."""
    corpus: RecordedCorpus = null(RecordedCorpus)
    loss: Loss = field(default_factory=Loss)
    gradients: Gradients = field(default_factory=Gradients)
    extrapolation: Extrapolation = null(Extrapolation)
    learning: Learning = left_out(Learning)
    timing: Timing = field(default_factory=Timing)
    environment: Environment = field(default_factory=Environment)
    evaluations: list[Evaluation] = left_out(list)
    facts: dict[str, list[str]] | None = left_out()
    """What the chosen classes state of themselves, by group (`build.facts`)."""
    curve: ThinnedCurve = left_out(ThinnedCurve)
    instruments: dict[str, DepthProfile] | None = left_out()
    position_probe: PositionProbe | None = left_out()
    shuffle: Shuffle | None = left_out()
    diagnosis: list[Signature] | None = left_out()

    def instrument(self, quantity: str) -> DepthProfile:
        """What an instrument saw; empty where it was not there."""
        return (self.instruments or {}).get(quantity) or DepthProfile()
