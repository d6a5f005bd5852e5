"""What may help a run, as changes of its settings: none to what it has or what is of its kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ablate.judge.finding import states
from ablate.record.record import Record, Remedy


@dataclass(frozen=True)
class Offer:
    """A remedy, for runs whose choice for its key states none of these facts."""

    remedy: Remedy
    kinds: tuple[str, ...] = ()


def words(text: str) -> Offer:
    """Something that is no change of one setting."""
    return Offer(Remedy(text))


def remeasure(text: str) -> Offer:
    """Another measurement of the same run, by a command that names it."""
    return Offer(Remedy(text, way="evaluate"))


def change(key: str, value: str, text: str = "", *, kinds: tuple[str, ...] = ()) -> Offer:
    """A setting's new value; `kinds` are facts that such a choice states of itself."""
    return Offer(Remedy(text or f"{key}={value}", key=key, value=value), kinds)


def lower(key: str, text: str) -> Offer:
    """A smaller value."""
    return Offer(Remedy(text, key=key, way="lower"))


def higher(key: str, text: str) -> Offer:
    """A larger value."""
    return Offer(Remedy(text, key=key, way="higher"))


def other(key: str, text: str) -> Offer:
    """Another choice."""
    return Offer(Remedy(text, key=key, way="other"))


def fitting(record: Record, *offers: Offer) -> tuple[Remedy, ...]:
    """The remedies that a run does not have already, itself or by another of its kind."""
    return tuple(offer.remedy for offer in offers if not _is_there(record, offer))


def _is_there(record: Record, offer: Offer) -> bool:
    key, value = offer.remedy.key, offer.remedy.value
    if key is None or value is None:
        return False
    return setting(record, key) == value or any(states(record, key, kind) for kind in offer.kinds)


def setting(record: Record, key: str) -> str:
    """The choice of a group, or the value of a key such as clip or norm.qk, as it is typed."""
    value: Any = record.choices.get(key)
    if value is None:
        value = record.config
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, float):
        return f"{value:g}"
    return str(value).lower() if isinstance(value, bool) else str(value)
