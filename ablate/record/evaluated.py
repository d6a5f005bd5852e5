"""The parts of a record about a trained model: at other lengths, position, order of the input."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from ablate.record.fields import RecordPart, left_out

Bounds = list[float]
"""The low and the high end of an interval."""


@dataclass
class PositionCurve(RecordPart):
    """Means over windows and a few neighbouring positions of the longest context, by position."""

    along: ClassVar[str | None] = "position"
    position: list[int] = field(default_factory=list)
    """Tokens of context at the end of each bucket."""
    nll: list[float | None] = field(default_factory=list)
    """Nats per token."""
    accuracy: list[float | None] = field(default_factory=list)
    """Share of the targets, 0 to 1."""


@dataclass
class PositionBuckets(RecordPart):
    """Means over positions of the longest context between neighbouring lengths."""

    along: ClassVar[str | None] = "from_"
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
class LengthIntervals(RecordPart):
    """Intervals at each length, of a value and of its difference to that at the train length.

    By leaving each document out in turn, or in older records by `draws` of whole documents. None in
    a list where the values are not finite, or there are too few documents for an interval.
    """

    level: float | None = None
    """0 to 1."""
    draws: int | None = None
    over: str | None = None
    """documents, examples; in older records also blocks."""
    groups: int | None = None
    """How many of them there are."""
    accuracy: list[Bounds | None] = left_out(list)
    accuracy_difference: list[Bounds | None] = left_out(list)
    exact: list[Bounds | None] = left_out(list)
    exact_difference: list[Bounds | None] = left_out(list)
    nll: list[Bounds | None] = left_out(list)
    nll_difference: list[Bounds | None] = left_out(list)


@dataclass
class DocumentScores(RecordPart):
    """What was scored at each length, added up by document: [lengths][documents].

    Of a generated task the "documents" are examples, or a few together. A length that the scheme
    cannot do, or whose numbers are not finite, has None.
    """

    over: str | None = None
    """documents, or examples."""
    windows: int | None = None
    """Windows of text, or examples, in all."""
    places: list[int] = field(default_factory=list)
    """First and last token of the text that ends a group of targets, and targets in a group."""
    counts: list[list[int] | None] = field(default_factory=list)
    """Targets."""
    correct: list[list[float] | None] = field(default_factory=list)
    """Targets whose token is the likeliest."""
    nll: list[list[float] | None] = field(default_factory=list)
    """Cross-entropy, nats."""
    frequent: list[float] = field(default_factory=list)
    """Targets at the train length that guessing the most frequent token gets right, by document."""
    unigram: list[float] = field(default_factory=list)
    """Cross-entropy of guessing by frequencies at the train length, nats, by document."""
    exact: list[list[float] | None] = left_out(list)
    """Examples whose whole answer is right."""
    examples: list[list[int] | None] = left_out(list)
    """Examples."""
    guessed: list[float] = left_out(list)
    """Examples at the train length that guessing is to get right as a whole."""


@dataclass
class Learning(RecordPart):
    """Whether a run learned more than frequencies (`judge.learning`).

    Of a text: nats a target of the model less those of a model that knows only frequencies, on the
    same validation targets. Of a generated task: the share of examples at the train length whose
    whole answer is right, and what guessing gets.
    """

    word: str | None = None
    """learned, stuck or undecided; None where the loss is not finite."""
    measure: str | None = None
    """nats below unigram: "nll difference"; share of examples: "exact match"."""
    value: float | None = None
    interval: Bounds | None = None
    """95 %; None where there are too few documents."""
    guessing: float | None = None
    """Of exact match, 0 to 1."""
    over: str | None = None
    """documents, blocks (stretches of a text of too few documents) or examples."""
    units: int | None = None
    """How many of them."""
    effective: float | None = None
    """As how many of one length they count."""
    largest: float | None = None
    """Share of the targets that the largest has, 0 to 1."""
    windows: int | None = None
    """Windows, or examples, in all."""


@dataclass
class ProtocolResult(RecordPart):
    """Accuracy and nll by another protocol than that of the fixed targets."""

    along: ClassVar[str | None] = "lengths"
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

    along: ClassVar[str | None] = "lengths"
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
    exact_unigram: float | None = left_out()
    """What guessing the most frequent token gets of whole answers, 0 to 1."""
    interval: LengthIntervals = left_out(LengthIntervals)
    documents: DocumentScores = left_out(DocumentScores)
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
    files: list[str] = left_out(list)
    """Whole paths of the files and folders that were asked for, of a text of the user's own."""


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
