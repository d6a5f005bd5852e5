"""Signatures of position: what shuffling the input changes, and what happens past L."""

import shlex
from collections.abc import Mapping
from typing import Any

from ablate.judge.evidence import Number
from ablate.judge.finding import Finding, Record, at_unigram, number, states
from ablate.judge.thresholds import CLIFF, FADED, MARGIN


def order(record: Record) -> Finding | None:
    """A loss that does not mind in which order the input comes.

    A run that learned nothing shows nothing of it, unless it is an encoder without a scheme, which
    cannot know the order; a decoder can, by what its tokens have seen.
    """
    change, without = number(record, "shuffle", "change"), states(record, "pos", "absent")
    if change is None or abs(change) > MARGIN:
        return None
    blind = without and not record["shuffle"].get("causal", True)
    if at_unigram(record) and not blind:
        return None
    return Finding(
        "order is not used",
        {"shuffle_change": change},
        "no position scheme" if without else "the position scheme carries nothing the model uses",
        "a position scheme: pos=rope"
        if without
        else "another pos, or a task in which order counts",
    )


def length(record: Record) -> Finding | None:
    """What happens beyond the train length."""
    found = record.get("extrapolation") or {}
    trained, lengths = found.get("train_length"), found.get("lengths") or []
    past = [i for i, c in enumerate(lengths) if trained and c > trained]
    if trained is None or not past or found["accuracy"][lengths.index(trained)] is None:
        return None
    if all(found["accuracy"][i] is None for i in past):
        return Finding(
            "undefined past L",
            {"train_length": trained},
            "the scheme has no such position",
            "a relative scheme: pos=alibi, pos=rope",
        )
    kept = found["retention"][past[-1]]
    if kept is None or kept >= FADED or not (beats_guessing(found) and surely(found, past[-1])):
        return None
    numbers: dict[str, Number] = {"retention": kept, "context": lengths[past[-1]]}
    if found.get("protocol") == "exact-match":
        return past_examples(record, numbers)
    jump = cliff(found.get("curve"), trained)
    if jump is not None and jump > CLIFF:
        return Finding(
            "cliff past L",
            numbers | {"jump": jump},
            "absolute positions that were never seen in training",
            "a relative scheme: pos=alibi, pos=rope",
        )
    return Finding(
        "gradual fall of accuracy past L",
        numbers,
        "phases or distances that were never seen in training",
        f"{again(record)} pos=yarn, which needs no training"
        if states(record, "pos", "scalable")
        else "pos=alibi",
    )


def again(record: Record) -> str:
    """The command that measures this run again, with the hash that its name ends with."""
    outputs = record["config"].get("outputs", "outputs")
    elsewhere = "" if outputs == "outputs" else f" --outputs {shlex.quote(str(outputs))}"
    return f"ablate evaluate {record['name'].rpartition('-')[2]}{elsewhere}"


def beats_guessing(found: Mapping[str, Any]) -> bool:
    """Whether accuracy at L is surely above a guess by frequencies: else there is nothing to keep.

    Surely: by the lower bound of its interval, where a record has one.
    """
    at, bounds = found["lengths"].index(found["train_length"]), found.get("interval") or {}
    interval, guess = bounds.get("accuracy") or [], found.get("accuracy_unigram")
    if not interval or guess is None or interval[at] is None:
        return True
    return bool(interval[at][0] > guess)


def surely(found: Mapping[str, Any], at: int) -> bool:
    """Whether accuracy falls by more than the margin there, as its interval says, if there is one.

    Else few targets would make a signature of their noise.
    """
    flags = ((found.get("flags") or {}).get("accuracy") or {}).get("tolerates")
    return not flags or flags[at] == "no"


def past_examples(record: Record, numbers: Mapping[str, Number]) -> Finding:
    """Examples longer than those trained on are no longer answered."""
    if states(record, "pos", "fading") and states(record, "task", "retrieval"):
        return Finding(
            "far retrieval fails",
            numbers,
            "a bias that falls with distance: what lies far back is out of its window, however "
            "flat the loss on text stays",
            "another bias, pos=rope, or a longer seq_len",
        )
    return Finding(
        "trained lengths alone",
        numbers,
        "the rule that was learned does not carry over to longer examples",
        "another pos, or pos=randomized, which trains on positions of long examples",
    )


def cliff(curve: Mapping[str, Any] | None, trained: int) -> float | None:
    """nll of the first two buckets beyond L less that of the two before, in nats.

    >>> cliff({"position": [8, 16, 24, 32], "nll": [2.0, 2.0, 3.0, 3.0]}, 16)
    1.0
    """
    if not curve or trained not in curve["position"]:
        return None
    at = curve["position"].index(trained) + 1
    inside, outside = curve["nll"][max(0, at - 2) : at], curve["nll"][at : at + 2]
    if not inside or not outside or None in inside or None in outside:
        return None
    return float(sum(outside) / len(outside) - sum(inside) / len(inside))
