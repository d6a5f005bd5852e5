"""The parts of a record about a trained model: at other lengths, position, order of the input."""

from dataclasses import dataclass, field
from typing import Literal

from ablate.record.fields import RecordPart, left_out

Bounds = list[float]
"""The low and the high end of an interval."""
FlagWord = str
"""yes, no or undecided; see the `definition` beside it."""


@dataclass
class PositionCurve(RecordPart):
    """Means over windows and a few neighbouring positions of the longest context, by position."""

    position: list[int] = field(default_factory=list)
    """Tokens of context at the end of each bucket."""
    nll: list[float | None] = field(default_factory=list)
    """Nats per token."""
    accuracy: list[float | None] = field(default_factory=list)
    """Share of the targets, 0 to 1."""


@dataclass
class PositionBuckets(RecordPart):
    """Means over positions of the longest context between neighbouring lengths."""

    from_: list[int] = field(default_factory=list)
    """First token of context of each bucket."""
    to: list[int] = field(default_factory=list)
    """The token after its last."""
    targets: int | None = None
    """In each bucket."""
    nll: list[float | None] = field(default_factory=list)
    """Nats per token; None where a bucket reaches beyond the windows."""
    accuracy: list[float | None] = field(default_factory=list)
    """Share of the targets, 0 to 1."""


@dataclass
class BootstrapIntervals(RecordPart):
    """Intervals at each length, of a value and of its difference to that at the train length.

    None in a list where the values are not finite, or there is but one group to draw from.
    """

    level: float | None = None
    """Share of the draws inside, 0 to 1."""
    draws: int | None = None
    over: str | None = None
    """What is drawn: documents, stretches, examples."""
    groups: int | None = None
    """How many of them there are."""
    accuracy: list[Bounds | None] = left_out(list)
    accuracy_difference: list[Bounds | None] = left_out(list)
    exact: list[Bounds | None] = left_out(list)
    exact_difference: list[Bounds | None] = left_out(list)
    nll: list[Bounds | None] = left_out(list)
    nll_difference: list[Bounds | None] = left_out(list)


@dataclass
class LengthFlags(RecordPart):
    """What one measure says of each length; None up to the train length and without an interval."""

    tolerates: list[FlagWord | None] = field(default_factory=list)
    extrapolates: list[FlagWord | None] = field(default_factory=list)


@dataclass
class ToleranceFlags(RecordPart):
    """Whether a run tolerates, or gains from, contexts beyond its train length, by measure."""

    margin: float | None = None
    """In accuracy, and in nats."""
    definition: str | None = None
    accuracy: LengthFlags | None = left_out()
    exact: LengthFlags | None = left_out()
    nll: LengthFlags | None = left_out()


@dataclass
class ProtocolResult(RecordPart):
    """Accuracy and nll by another protocol than that of the fixed targets."""

    definition: str | None = None
    lengths: list[int] = field(default_factory=list)
    """Tokens of context."""
    accuracy: list[float | None] = field(default_factory=list)
    """Share of the targets, 0 to 1."""
    nll: list[float | None] = field(default_factory=list)
    """Nats per token."""
    targets: list[int | None] = field(default_factory=list)
    """How many were scored."""


@dataclass
class Extrapolation(RecordPart):
    """What a trained model can do at contexts shorter and longer than trained.

    All lists have one value a length; None where the scheme cannot do it ("undefined", never 0).
    """

    protocol: str | None = None
    """fixed-target (a text) or exact-match (a generated task)."""
    train_length: int | None = None
    """Tokens; L."""
    lengths: list[int] = field(default_factory=list)
    """Tokens of context."""
    accuracy: list[float | None] = field(default_factory=list)
    """Share of the targets whose token is the likeliest, 0 to 1."""
    exact: list[float | None] = left_out(list)
    """Share of a generated task's examples whose whole answer is right, 0 to 1."""
    nll: list[float | None] = field(default_factory=list)
    """Cross-entropy, nats per token."""
    retention: list[float | None] = field(default_factory=list)
    """(accuracy - unigram's) / (accuracy at L - unigram's)."""
    accuracy_unigram: float | None = None
    """What guessing the most frequent token gets, 0 to 1."""
    targets: int | None = None
    """How many were scored at each length."""
    examples: int | None = left_out()
    """Of a generated task, at each length."""
    curve: PositionCurve | None = left_out()
    buckets: PositionBuckets | None = left_out()
    interval: BootstrapIntervals = left_out(BootstrapIntervals)
    flags: ToleranceFlags = left_out(ToleranceFlags)
    protocols: dict[str, ProtocolResult] | None = left_out()


@dataclass
class ProbeFit(RecordPart):
    """How well one probe tells the place of a token, by layer; None without finite states."""

    r2: list[float | None] = field(default_factory=list)
    """Share of the variance of the place that it explains; below 0 is worse than the mean."""
    mae: list[float | None] = field(default_factory=list)
    """Mean absolute error, tokens."""


ProbeKind = Literal["ridge", "ridge_control", "network", "network_control"]


@dataclass
class PositionProbe(RecordPart):
    """Where in a model the absolute position can be read; empty with too few sequences for it.

    The controls are the same probes on shuffled places.
    """

    where: str | None = None
    """What the layers of the lists are."""
    length: int | None = None
    """Tokens of a sequence."""
    sequences: int | None = None
    mae_of_mean: float | None = None
    """Mean absolute error of guessing the mean place, tokens."""
    ridge: ProbeFit = field(default_factory=ProbeFit)
    ridge_control: ProbeFit = field(default_factory=ProbeFit)
    network: ProbeFit = field(default_factory=ProbeFit)
    network_control: ProbeFit = field(default_factory=ProbeFit)


@dataclass
class Shuffle(RecordPart):
    """How much the loss depends on the order of the input."""

    definition: str | None = None
    causal: bool | None = None
    """Whether the model is a decoder."""
    targets: int | None = None
    sequences: int | None = None
    draws: int | None = None
    loss: float | None = None
    """In order; nats per target."""
    loss_shuffled: float | None = None
    """Out of order; nats per target."""
    change: float | None = None
    """loss_shuffled - loss, nats."""
    interval: Bounds | None = None
    """Of the change, 95 %, over sequences; None with one alone."""


@dataclass
class EvaluatedText(RecordPart):
    """Which text a trained run was measured on."""

    name: str | None = None
    sha256: str | None = None


@dataclass
class Evaluation(RecordPart):
    """What `ablate evaluate` measured on a trained run."""

    overrides: list[str] = field(default_factory=list)
    """As they were typed."""
    steps_done: int | None = None
    corpus: EvaluatedText = field(default_factory=EvaluatedText)
    extrapolation: Extrapolation = field(default_factory=Extrapolation)
    position_probe: PositionProbe | None = left_out()
    shuffle: Shuffle | None = left_out()
    finished: str | None = None
    """Date and time, ISO 8601, UTC."""
