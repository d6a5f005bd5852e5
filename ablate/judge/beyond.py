"""Signatures of position: what shuffling the input changes, and what happens past L."""

import shlex
from collections.abc import Mapping, Sequence
from statistics import fmean

from ablate.judge.at_length import has_documents, kept
from ablate.judge.evidence import Number
from ablate.judge.finding import Finding, has_learned, states
from ablate.judge.remedies import Offer, change, fitting, higher, other, remeasure, words
from ablate.judge.thresholds import CLIFF, FADED, MARGIN
from ablate.record.evaluated import Extrapolation, PositionCurve
from ablate.record.record import Record, Remedy


def order(record: Record) -> Finding | None:
    """A loss that does not mind in which order the input comes: surely by less than the margin.

    A run that learned nothing shows nothing of it, unless it is an encoder without a scheme, which
    cannot know the order; a decoder can, by what its tokens have seen.
    """
    shuffle, without = record.shuffle, states(record, "pos", "absent")
    if shuffle is None or shuffle.change is None or shuffle.interval is None:
        return None
    if max(map(abs, shuffle.interval)) > MARGIN:
        return None
    blind = without and shuffle.causal is False
    if not has_learned(record) and not blind:
        return None
    return Finding(
        "order is not used",
        {
            "shuffle_change": shuffle.change,
            "shuffle_low": shuffle.interval[0],
            "shuffle_high": shuffle.interval[1],
        },
        "no position scheme"
        if without
        else "maybe the position scheme carries nothing the model uses",
        fitting(record, change("pos", "rope", "a position scheme: pos=rope"))
        if without
        else fitting(record, other("pos", "another pos"), words("a task in which order counts")),
    )


def length(record: Record) -> Finding | None:
    """What happens beyond the train length."""
    measured = record.extrapolation
    trained, lengths, accuracy = measured.train_length, measured.lengths, measured.accuracy
    past = [place for place, context in enumerate(lengths) if trained and context > trained]
    if trained is None or not past or accuracy[lengths.index(trained)] is None:
        return None
    if all(accuracy[place] is None for place in past):
        return Finding(
            "undefined past L",
            {"train_length": trained},
            "the scheme has no such position",
            fitting(record, *RELATIVE) or fitting(record, other("pos", "another pos")),
            spoils="length",
        )
    farthest = past[-1]
    retention = measured.retention[farthest]
    if retention is None or retention >= FADED:
        return None
    if not (beats_guessing(measured) and falls_surely(measured, farthest)):
        return None
    numbers: dict[str, Number] = {"retention": retention, "context": lengths[farthest]}
    if measured.protocol == "exact-match":
        return past_examples(record, numbers)
    jump = cliff(measured.curve, trained)
    if jump is not None and jump > CLIFF:
        return Finding(
            "cliff past L",
            numbers | {"jump": jump},
            new_past_length(record),
            past_length(record)
            if states(record, "pos", "relative")
            else fitting(record, *RELATIVE),
            spoils="length",
        )
    return Finding(
        "gradual fall of accuracy past L",
        numbers,
        new_past_length(record),
        past_length(record),
        spoils="length",
    )


def new_past_length(record: Record) -> str:
    """What a scheme meets past L that training had not, by what it states of itself."""
    facts = (record.facts or {}).get("pos", [])
    if "absent" in facts or "drawn" in facts:
        return "maybe attention spread over more tokens than in training"
    unseen = "absolute positions" if record.facts else "positions or distances"
    if "relative" in facts:
        unseen = "phases" if "rotary" in facts else "distances"
    return f"{unseen} that were never seen in training"


FADING = ("fading",)
RELATIVE = (
    change("pos", "alibi", "a relative scheme: pos=alibi", kinds=FADING),
    change("pos", "rope", "a relative scheme: pos=rope", kinds=("rotary", "scalable")),
)


def past_length(record: Record) -> tuple[Remedy, ...]:
    """What may help a scheme that can do longer contexts, and loses there."""
    offers: list[Offer] = []
    if states(record, "pos", "scalable"):
        offers.append(remeasure(f"{again(record)} pos=yarn, which needs no training"))
    offers.append(change("pos", "alibi", kinds=FADING))
    return fitting(record, *offers) or fitting(record, higher("seq_len", "a longer seq_len"))


def again(record: Record) -> str:
    """The command that measures this run again, with the hash that its name ends with."""
    outputs = record.config.get("outputs", "outputs")
    elsewhere = "" if outputs == "outputs" else f" --outputs {shlex.quote(str(outputs))}"
    return f"ablate evaluate {(record.name or '').rpartition('-')[2]}{elsewhere}"


def beats_guessing(measured: Extrapolation) -> bool:
    """Whether accuracy at L is surely above a guess by frequencies: else there is nothing to keep.

    Surely: by the lower bound of its interval, where a record has one.
    """
    guess, intervals = measured.accuracy_unigram, measured.interval.accuracy
    if not intervals or guess is None or measured.train_length is None:
        return True
    bounds = intervals[measured.lengths.index(measured.train_length)]
    return bounds is None or bounds[0] > guess


def falls_surely(measured: Extrapolation, place: int) -> bool:
    """Whether accuracy at the length in a place falls by more than the margin.

    By its interval over documents, if they are recorded: else few targets would make a signature of
    their noise.
    """
    if not has_documents(measured):
        return True
    return kept([measured], "accuracy", measured.lengths[place]).word == "loses"


def past_examples(record: Record, numbers: Mapping[str, Number]) -> Finding:
    """Examples longer than those trained on are no longer answered."""
    if states(record, "pos", "fading") and states(record, "task", "retrieval"):
        return Finding(
            "far retrieval fails",
            numbers,
            "a bias that falls with distance: what lies far back is out of its window, however "
            "flat the loss on text stays",
            fitting(
                record,
                change("pos", "rope", kinds=("rotary", "scalable")),
                higher("seq_len", "a longer seq_len"),
            ),
            spoils="length",
        )
    return Finding(
        "trained lengths alone",
        numbers,
        "the rule that was learned does not carry over to longer examples",
        fitting(
            record,
            other("pos", "another pos"),
            change(
                "pos", "randomized", "pos=randomized, which trains on positions of long examples"
            ),
        ),
        spoils="length",
    )


def cliff(curve: PositionCurve | None, trained: int) -> float | None:
    """nll of the first two buckets beyond L less that of the two before, in nats.

    >>> cliff(PositionCurve(position=[8, 16, 24, 32], nll=[2.0, 2.0, 3.0, 3.0]), 16)
    1.0
    """
    if curve is None or trained not in curve.position:
        return None
    end = curve.position.index(trained) + 1
    inside, outside = mean(curve.nll[max(0, end - 2) : end]), mean(curve.nll[end : end + 2])
    return None if inside is None or outside is None else outside - inside


def mean(values: Sequence[float | None]) -> float | None:
    """The mean, or None where a value is missing or there is none.

    >>> mean([2.0, 4.0]), mean([2.0, None]), mean([])
    (3.0, None, None)
    """
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None
