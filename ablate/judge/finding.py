"""A signature of a sick run as data, and what several rules ask of a record."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ablate.judge.evidence import Number, in_words
from ablate.judge.thresholds import BELOW_UNIGRAM
from ablate.record.record import Record, Remedy, Signature


@dataclass(frozen=True)
class Finding:
    """A signature with the numbers that show it by name, its likely cause and what to try.

    It is made from one run, so cause and remedies are conjectures: a report knows the siblings and
    tells what became of those that tried a remedy, by what the signature `spoils`.
    """

    name: str
    numbers: Mapping[str, Number]
    cause: str
    remedies: tuple[Remedy, ...]
    spoils: Literal["loss", "length", "start"] = "loss"
    only_if_behind: bool = False

    def signature(self) -> Signature:
        """The finding as a record keeps it, with the numbers in words as `evidence`."""
        return Signature(
            name=self.name,
            evidence=in_words(self.numbers),
            cause=self.cause,
            advice=", ".join(remedy.words for remedy in self.remedies),
            numbers=dict(self.numbers),
            remedies=list(self.remedies),
            spoils=self.spoils,
            only_if_behind=self.only_if_behind or None,
        )


Rule = Callable[[Record], Finding | None]


def by_block(record: Record, quantity: str, when: str) -> list[Any]:
    """What an instrument saw by block at the "first" or "last" logged step; empty without."""
    profile = record.instrument(quantity)
    reading = profile.first if when == "first" else profile.last
    return reading if isinstance(reading, list) else []


def logit_spread(record: Record) -> float | None:
    """Standard deviation over the vocabulary of the first step's logits."""
    reading = record.instrument("logit_scale").first
    return None if isinstance(reading, list) else reading


def states(record: Record, group: str, fact: str) -> bool:
    """Whether the class that was chosen in a group states a fact of itself (`build.facts`).

    A record of before facts were kept states none.
    """
    return fact in (record.facts or {}).get(group, ())


def is_stuck(record: Record) -> bool:
    """Whether training ended no lower than a model that knows only frequencies.

    By the word on its validation windows; of a record without one by its training losses.
    """
    if record.learning.word is not None:
        return record.learning.word == "stuck"
    final, unigram = record.loss.final, record.loss.unigram_train
    return final is not None and unigram is not None and final >= unigram - BELOW_UNIGRAM


def has_learned(record: Record) -> bool:
    """Whether training surely ended lower than that; a record without a word is taken at face."""
    word = record.learning.word
    return word == "learned" if word is not None else not is_stuck(record)
