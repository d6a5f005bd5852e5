"""A signature of a sick run as data, and how a record is read without tripping over its holes."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ablate.judge.evidence import Number, in_words
from ablate.judge.thresholds import BELOW_UNIGRAM

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Finding:
    """A signature with the numbers that show it by name, its likely cause and what to try."""

    name: str
    numbers: Mapping[str, Number]
    cause: str
    advice: str

    def as_data(self) -> dict[str, Any]:
        """The parts as plain data, with the numbers in words as `evidence`."""
        return {
            "name": self.name,
            "evidence": in_words(self.numbers),
            "cause": self.cause,
            "advice": self.advice,
            "numbers": dict(self.numbers),
        }


Rule = Callable[[Record], Finding | None]


def number(record: Record, *path: str) -> float | None:
    """The number at a path of keys; None where it is missing or not a number."""
    value: Any = record
    for key in path:
        value = (value or {}).get(key)
    return None if value is None or math.isnan(value) else float(value)


def profile(record: Record, quantity: str, when: str) -> Sequence[Any]:
    """What an instrument saw by block ("first", "mean" or "last" logged step); empty without."""
    return ((record.get("instruments") or {}).get(quantity) or {}).get(when) or []


def states(record: Record, group: str, fact: str) -> bool:
    """Whether the class that was chosen in a group states a fact of itself (`build.facts`).

    A record of before facts were kept states none.
    """
    return fact in ((record.get("facts") or {}).get(group) or ())


def at_unigram(record: Record) -> bool:
    """Whether training ended no lower than a model that knows only frequencies."""
    final, unigram = number(record, "loss", "final"), number(record, "loss", "unigram_train")
    return final is not None and unigram is not None and final >= unigram - BELOW_UNIGRAM
