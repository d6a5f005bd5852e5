"""An entry of `ablate evaluate` as text for the terminal."""

import math
from collections.abc import Sequence

from ablate.judge.at_length import has_documents, kept, same_targets
from ablate.judge.keeping import MARGINS, KeepingWord, Measure
from ablate.record.evaluated import EvaluatedText, Evaluation, Extrapolation, PositionProbe, Shuffle
from ablate.record.record import Record, RecordedCorpus
from ablate.shell.terminal import in_columns


def lines(entry: Evaluation, record: Record) -> list[str]:
    """The lines of all tables; what is as trained is of the same targets of the same text."""
    measured, before = entry.extrapolation, record.extrapolation
    same_text = entry.corpus.sha256 == record.corpus.sha256
    text = [*contexts(measured, before, same_text), *protocols(measured), *buckets(measured)]
    if not same_text:
        then, now = text_name(record.corpus), text_name(entry.corpus)
        text.append(f"trained and measured on {then}; now measured on another text, {now}")
    if entry.position_probe is not None:
        text += ["", *probe(entry.position_probe)]
    if entry.shuffle is not None:
        text += ["", shuffled(entry.shuffle)]
    return text


def contexts(measured: Extrapolation, before: Extrapolation, same_text: bool) -> list[str]:
    """Accuracy, exact match of a generated task, nll, retention and words by length of context.

    `before` was measured right after training; it is shown where it is of the same targets, since
    a difference of targets would look like one of the model.
    """
    columns = {"accuracy": (measured.accuracy, before.accuracy)}
    if measured.exact:
        columns["exact"] = (measured.exact, before.exact)
    columns |= {"nll": (measured.nll, []), "retention": (measured.retention, [])}
    shared = [c for c in measured.lengths if same_text and same_targets(measured, before, c)]
    heading, rows = ["context"], [[str(length)] for length in measured.lengths]
    for column, (values, values_before) in columns.items():
        heading.append(column)
        for row, value in zip(rows, values, strict=True):
            row.append(cell(value))
        if values_before and shared:
            heading.append("as trained")
            value_before = dict(zip(before.lengths, values_before, strict=False))
            for row, length in zip(rows, measured.lengths, strict=True):
                row.append(cell(value_before[length]) if length in shared else "")
    note = f"tokens of context; {measured.targets} targets; nll in nats a token"
    if has_documents(measured):
        differences = measured.interval.exact_difference or measured.interval.accuracy_difference
        measures: tuple[Measure, ...] = ("exact" if measured.exact else "accuracy", "nll")
        heading += ["against L", *(f"in {measure}" for measure in measures)]
        for row, length, difference in zip(rows, measured.lengths, differences, strict=True):
            row += [bounds(difference), *(word(measured, measure, length) for measure in measures)]
        over = counted(measured.interval.groups or 0, measured.interval.over or "")
        note += (
            f"; against L: {measures[0]} minus that at {measured.train_length}, 95 % over {over}; "
            f"margin {MARGINS[measures[0]]}, in nll {MARGINS['nll']} nats"
        )
    other = [] if shared or not before.lengths else [OTHER_TARGETS if same_text else OTHER_TEXT]
    return [*in_columns(heading, rows, right=True), note, *other]


OTHER_TARGETS = (
    "not beside what was measured after training: the targets are others, since windows are laid "
    "for the longest context and for evaluate.windows"
)


def text_name(text: RecordedCorpus | EvaluatedText) -> str:
    """A text by its name, its files and its content.

    >>> text_name(EvaluatedText("text", "0123456789abcdef", ["/home/a.txt"]))
    'text of /home/a.txt (sha256 0123456789ab)'
    """
    files = f" of {', '.join(text.files[:3])}" if text.files else ""
    more = f" and {len(text.files) - 3} more" if len(text.files) > 3 else ""
    return f"{text.name}{files}{more} (sha256 {(text.sha256 or 'unknown')[:12]})"


OTHER_TEXT = "not beside what was measured after training: the text is another"


def word(measured: Extrapolation, measure: Measure, length: int) -> str:
    """The word for a length beyond the train length; nothing up to it."""
    if measured.train_length is None or length <= measured.train_length:
        return ""
    return WORDS[kept([measured], measure, length).word]


WORDS: dict[KeepingWord, str] = {
    "keeps": "keeps",
    "gains": "gains",
    "loses": "loses",
    "undecided": "undecided",
    "floor": "knew nothing at L",
    "undefined": "undefined",
}


def protocols(measured: Extrapolation) -> list[str]:
    """Accuracy and nll by each protocol beside the fixed-target one."""
    text: list[str] = []
    for name, result in (measured.protocols or {}).items():
        values = zip(result.lengths, result.accuracy, result.nll, strict=True)
        rows = [[str(length), cell(accuracy), cell(nll)] for length, accuracy, nll in values]
        text += ["", f"{name}: {result.definition}"]
        text += in_columns(["context", "accuracy", "nll"], rows, right=True)
    return text


def buckets(measured: Extrapolation) -> list[str]:
    """Accuracy and nll by position in the longest window."""
    positions = measured.buckets
    if positions is None or not positions.to:
        return []
    values = zip(positions.from_, positions.to, positions.accuracy, positions.nll, strict=True)
    rows = [
        [f"{start + 1} to {end}", cell(accuracy), cell(nll)] for start, end, accuracy, nll in values
    ]
    title = f"by position in the longest window, {positions.targets} targets in each row"
    return ["", title, *in_columns(["position", "accuracy", "nll"], rows, right=True)]


def probe(measured: PositionProbe) -> list[str]:
    """How well a token's place is predicted from the states of each layer."""
    if measured == PositionProbe():
        return ["position probe: undefined, there are fewer than 8 held-out sequences"]
    kinds = {
        "ridge": (measured.ridge, measured.ridge_control),
        "network": (measured.network, measured.network_control),
    }
    guess = measured.mae_of_mean or 0.0
    heading = ["layer"]
    for kind in kinds:
        heading += [f"{kind} R²", "error", "control R²"]
    rows = []
    for layer in range(len(measured.ridge.r2)):
        row = [str(layer)]
        for fit, control in kinds.values():
            row += [cell(values[layer]) for values in (fit.r2, fit.mae, control.r2)]
        rows.append(row)
    return [
        "position probe: the place of a token told from the frozen states of each layer",
        *in_columns(heading, rows, right=True),
        f"{measured.where}; error: mean absolute error in tokens ({guess:.1f} for "
        f"guessing the mean), on sequences of their own; control: the same with shuffled places",
    ]


def shuffled(measured: Shuffle) -> str:
    """What shuffling the input does to the loss."""
    return (
        f"shuffled input: loss {cell(measured.loss)} → {cell(measured.loss_shuffled)} nats, a "
        f"change of {cell(measured.change)} ({bounds(measured.interval)}, 95 % over "
        f"{counted(measured.sequences or 0, 'sequences')}); {measured.definition}"
    )


def counted(number: int, things: str) -> str:
    """A number of things, named in the plural.

    >>> counted(2, "documents"), counted(1, "documents")
    ('2 documents', '1 document')
    """
    return f"{number} {things.removesuffix('s') if number == 1 else things}"


def cell(value: float | None) -> str:
    """A number with three decimals.

    >>> cell(0.25), cell(None), cell(math.nan)
    ('0.250', 'undefined', 'undefined')
    """
    return "undefined" if value is None or not math.isfinite(value) else f"{value:.3f}"


def bounds(interval: Sequence[float] | None) -> str:
    """An interval with its signs.

    >>> bounds([-0.25, 0.125])
    '-0.250 to +0.125'
    """
    return "undefined" if interval is None else f"{interval[0]:+.3f} to {interval[1]:+.3f}"
