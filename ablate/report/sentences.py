"""What an analysis says in words: what mattered, what did not, what is undecided, and cautions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ablate.report.contrasts import Contrast, Judge
from ablate.report.counts import Count
from ablate.report.inference import LEVEL
from ablate.report.phrases import (
    amount,
    contrast_text,
    count_of,
    count_text,
    outlook,
)

Said = Literal["mattered", "no difference", "undecided", "caution"]
KINDS: tuple[Said, ...] = ("mattered", "no difference", "undecided", "caution")


@dataclass(frozen=True)
class Sentence:
    """A sentence made from numbers alone; within a kind the most important comes first."""

    kind: Said
    text: str


OF_VERDICT: dict[str, Said] = {
    "better": "mattered",
    "worse": "mattered",
    "diverges more": "mattered",
    "diverges less": "mattered",
    "equivalent": "no difference",
    "undecided": "undecided",
    "not distinguishable": "undecided",
    "too few seeds": "undecided",
    "no spread": "undecided",
    "neither learned": "undecided",
    "nothing to compare": "undecided",
}
# Verdicts that many levels may share: those are told together.
TOGETHER = ("equivalent", "not distinguishable", "neither learned", "nothing to compare")


def of_contrasts(
    found: Sequence[Contrast],
    unit: str,
    judge: Judge,
    depends: Mapping[str, Sequence[str]] | None = None,
) -> list[Sentence]:
    """Return the sentences of contrasts of one kind, the largest differences first.

    `depends` are the factors that a main effect was shown to depend on: it is their average.
    """
    told = []
    ordered = sorted(found, key=_importance)
    families: dict[tuple[str, ...], list[Contrast]] = {}
    for one in ordered:
        families.setdefault(_family(one), []).append(one)
    for one in ordered:
        alike = families[_family(one)]
        if one.verdict not in TOGETHER or len(alike) == 1:
            text = contrast_text(one, unit, judge)
            on = (depends or {}).get(one.factors[0], []) if one.kind == "main" else []
            if on:
                text += f"; how much depends on {' and '.join(on)}, see there"
            told.append(Sentence(OF_VERDICT[one.verdict], text))
        elif one is alike[0]:
            told.append(Sentence(OF_VERDICT[one.verdict], _together(alike, unit, judge)))
    return told


def _importance(one: Contrast) -> tuple[bool, float]:
    counts = one.verdict in ("diverges more", "diverges less")
    return (not counts, -abs(one.difference.mean or 0.0))


def _family(one: Contrast) -> tuple[str, ...]:
    return (one.verdict, *(() if one.kind == "interaction" else one.factors))


def _together(found: Sequence[Contrast], unit: str, judge: Judge) -> str:
    """Say a verdict that several contrasts of the same factors, or interactions, share."""
    first = found[0]
    names = [one.name for one in found]
    listed = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    if first.verdict == "neither learned":
        return f"{listed} against {first.against}: most runs learned only how often tokens occur"
    lows = [one.difference.low for one in found if one.difference.low is not None]
    highs = [one.difference.high for one in found if one.difference.high is not None]
    if not lows:
        return f"{listed}: nothing to compare with {first.against}"
    size = f"intervals reach from {amount(min(lows), True)} to {amount(max(highs), True)} {unit}"
    seeds = sorted({one.difference.n for one in found})
    numbers = f"{seeds[0]} to {seeds[-1]} seeds" if len(seeds) > 1 else count_of(seeds[0], "seed")
    equal = first.verdict == "equivalent"
    word = "equivalent to" if equal else "not distinguishable from"
    within = f", within ±{judge.margin:g}" if equal else ""
    alike = f"{listed} are {word} {first.against}"
    if first.kind == "interaction":
        which = ", ".join(dict.fromkeys(" × ".join(one.factors) for one in found))
        alike = f"{len(found)} interactions ({which}) are {word} none"
    more = "" if equal else outlook(max(found, key=_width), judge)
    lost = sum(any(one.diverged) for one in found)
    if lost:
        more += f"; in {lost} of these runs diverged, and differences are of those that did not"
    return f"{alike}: {size}{within}; {numbers} paired{more}"


def _width(one: Contrast) -> float:
    low, high = one.difference.low, one.difference.high
    return 0.0 if low is None or high is None else high - low


def of_counts(found: Iterable[Count]) -> list[Sentence]:
    """Return the sentences of how many runs diverged or got stuck."""
    ordered = sorted(found, key=lambda one: one.p)
    told = [one for one in ordered if one.p_holm <= LEVEL]
    open_ = [one for one in ordered if one.p_holm > LEVEL and one.count != one.other]
    return [
        *(Sentence("mattered", count_text(one)) for one in told),
        *(Sentence("undecided", f"{count_text(one)}: too few to tell") for one in open_),
    ]


def of_few(found: Sequence[Contrast]) -> list[Sentence]:
    """Return the cautions about few seeds."""
    numbers = [one.difference.n for one in found if one.difference.n]
    if not numbers:
        return []
    if max(numbers) == 1:
        text = "one seed: no difference has an interval, so none is decided; add seed=0,1,2,3,4"
        return [Sentence("caution", text)]
    if max(numbers) == 2:
        text = "two seeds are few: intervals are wide (t = 12.7); add seed=0,1,2,3,4"
        return [Sentence("caution", text)]
    return []
