"""What an analysis says in words: what mattered, what did not, what is undecided, and cautions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ablate.report.contrasts import Contrast, Judge

Said = Literal["mattered", "no difference", "undecided", "caution"]


@dataclass(frozen=True)
class Sentence:
    """A sentence made from numbers alone; within a kind the most important comes first."""

    kind: Said
    text: str


KINDS: dict[str, Said] = {
    "better": "mattered",
    "worse": "mattered",
    "diverges more": "mattered",
    "diverges less": "mattered",
    "equivalent": "no difference",
}


def sentences(
    contrasts: Sequence[Contrast],
    effects: Sequence[Contrast],
    crossed: Sequence[Contrast],
    unit: str,
    judge: Judge,
) -> list[Sentence]:
    """Return the sentences of contrasts, or of effects where there are several factors."""
    told = effects if len({effect.factors for effect in effects}) > 1 else contrasts
    return [
        Sentence(KINDS.get(one.verdict, "undecided"), difference_text(one, unit, judge))
        for one in sorted([*told, *crossed], key=lambda one: -abs(one.difference.mean or 0.0))
    ]


def difference_text(one: Contrast, unit: str, judge: Judge) -> str:
    """Say a contrast with its size, interval, seeds and cells."""
    mean, low, high = one.difference.mean, one.difference.low, one.difference.high
    if mean is None or low is None or high is None:
        return f"{one.name} and {one.against}: {one.verdict}"
    return f"{one.name} against {one.against}: {mean:+.3f} {unit} [{low:+.3f}, {high:+.3f}]"
