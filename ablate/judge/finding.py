"""A signature of a sick run, and how a record is read without tripping over its holes."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Finding:
    """A signature with the numbers that show it, its likely cause and what to try."""

    name: str
    evidence: str
    cause: str
    advice: str


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


def chosen(record: Record, group: str) -> str:
    """The name of a group's choice; empty where the record lacks it."""
    return str(record["choices"].get(group, ""))


def at_unigram(record: Record) -> bool:
    """Whether training ended no lower than a model that knows only frequencies."""
    final, unigram = number(record, "loss", "final"), number(record, "loss", "unigram_train")
    return final is not None and unigram is not None and final >= unigram - 0.05
