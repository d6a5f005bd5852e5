"""What an analysis says in words: what mattered, what did not, what is undecided, and cautions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ablate.report.inference.contrasts import Contrast, Judge
from ablate.report.inference.counts import Count
from ablate.report.inference.testing import FEWEST, LEVEL
from ablate.report.words.phrases import (
    amount,
    basis,
    contrast_text,
    count_of,
    count_text,
    holm_text,
    outlook,
    spread,
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


Depends = Mapping[tuple[str, str], Mapping[str, str]]
"""(Factor, level) → the factors that its difference depends on → the interaction, "pos × norm"."""


def of_contrasts(
    found: Sequence[Contrast], unit: str, judge: Judge, depends: Depends | None = None
) -> list[Sentence]:
    """Return the sentences of contrasts of one kind, the largest differences first.

    Where a main effect was shown to depend on another factor it is no more than an average: one
    that averages to nothing has mattered all the same.
    """
    told = []
    ordered = sorted(found, key=_importance)
    on = {place: _depending(one, depends or {}) for place, one in enumerate(ordered)}
    families: dict[tuple[str, ...], list[Contrast]] = {}
    for place, one in enumerate(ordered):
        if not on[place]:
            families.setdefault(_family(one), []).append(one)
    for place, one in enumerate(ordered):
        alike = families.get(_family(one), [])
        if on[place] and one.verdict in AVERAGED:
            told.append(Sentence("mattered", _averaged(one, unit, on[place])))
        elif on[place] or one.verdict not in TOGETHER or len(alike) == 1:
            text = contrast_text(one, unit, judge)
            if on[place]:
                text += f"; an average, for it depends on {_on(on[place])}"
            told.append(Sentence(OF_VERDICT[one.verdict], text))
        elif one is alike[0]:
            told.append(Sentence(OF_VERDICT[one.verdict], _together(alike, unit, judge)))
    return told


AVERAGED = ("equivalent", "not distinguishable")  # of no difference, on average


def _depending(one: Contrast, depends: Depends) -> Mapping[str, str]:
    return depends.get((one.factors[0], one.levels[0]), {}) if one.kind == "main" else {}


def _averaged(one: Contrast, unit: str, on: Mapping[str, str]) -> str:
    mean, low, high = one.difference.mean or 0.0, one.difference.low, one.difference.high
    size = f"{amount(mean, True)} {unit}"
    if low is not None and high is not None:
        size += f" {spread(low, high)}"
    return (
        f"{one.name} differs from {one.against} in a way that depends on {_on(on)}, and on average"
        f" they are {one.verdict}: {size}; {basis(one)}"
    )


def _on(names: Mapping[str, str]) -> str:
    return f"{' and '.join(names)} (see {' and '.join(names.values())})"


def _importance(one: Contrast) -> tuple[bool, float]:
    counts = one.verdict in ("diverges more", "diverges less")
    return (not counts, -abs(one.difference.mean or 0.0))


def _family(one: Contrast) -> tuple[str, ...]:
    return (one.verdict, *(() if one.kind == "interaction" else (one.against, *one.factors)))


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
    clear = sum(low > 0 for low in lows) + sum(high < 0 for high in highs)
    if not equal and clear:
        more = f"; {clear} of the intervals{holm_text(first).replace(';', ' are', 1)}"
    lost = sum(any(one.diverged) for one in found)
    if lost:
        more += f"; in {lost} of these runs diverged, and differences are of those that did not"
    return f"{alike}: {size}{within}; {numbers} paired{more}"


def _width(one: Contrast) -> float:
    low, high = one.difference.low, one.difference.high
    return 0.0 if low is None or high is None else high - low


def of_counts(found: Iterable[Count], told: Sequence[Contrast] = ()) -> list[Sentence]:
    """Return the sentences of how many runs diverged or got stuck; not what `told` says already."""
    said = {(one.name, one.against) for one in told if any(one.diverged) and _alone(one, told)}
    ordered = [
        one
        for one in sorted(found, key=lambda one: (one.p, -abs(one.count - one.other)))
        if one.ending != "diverged"
        or (f"{one.factor}={one.level}", f"{one.factor}={one.reference}") not in said
    ]
    shown = [one for one in ordered if one.p_holm <= LEVEL]
    open_ = [one for one in ordered if one.p_holm > LEVEL and one.count != one.other]
    return [
        *(Sentence("mattered", count_text(one)) for one in shown),
        *(Sentence("undecided", count_text(one) + _open(one)) for one in open_),
    ]


def _open(one: Count) -> str:
    return "" if one.seeds < FEWEST else ": not distinguishable"


def _alone(one: Contrast, told: Sequence[Contrast]) -> bool:
    """Whether a contrast has a sentence of its own."""
    return one.verdict not in TOGETHER or sum(_family(o) == _family(one) for o in told) == 1


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
