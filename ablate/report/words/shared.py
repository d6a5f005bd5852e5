"""A verdict that several contrasts share, in one sentence."""

from collections.abc import Sequence

from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.story import SharedVerdict
from ablate.report.inference.verdicts import Judge
from ablate.report.words.basis import holm_text, outlook
from ablate.report.words.numbers import amount, count_of, some
from ablate.report.words.sentence import Sentence

OF_SEVERAL = {
    "equivalent": "equivalent to",
    "not distinguishable": "not distinguishable from",
}


def shared_verdict(fact: SharedVerdict, judge: Judge) -> Sentence:
    """Say a verdict that several contrasts of the same factors, or interactions, share."""
    first = fact.contrasts[0]
    listed = some([one.name for one in fact.contrasts], 4)
    if first.verdict == "neither learned":
        return Sentence(
            f"{listed} against {first.against}: most runs learned only how often tokens occur"
        )
    if first.verdict == "no effect":
        claim = f"{listed} against {first.against}: the setting had no effect here"
        return Sentence(claim, evidence="all runs are the same, number by number")
    tests = [one.difference for one in fact.contrasts]
    lows = [one.low for one in fact.contrasts if one.low is not None]
    highs = [one.high for one in fact.contrasts if one.high is not None]
    if not lows:
        return Sentence(f"{listed}: nothing to compare with {first.against}")
    size = f"intervals reach from {amount(min(lows), True)} to {amount(max(highs), True)}"
    seeds = sorted({test.n for test in tests})
    numbers = f"{seeds[0]} to {seeds[-1]} seeds" if len(seeds) > 1 else count_of(seeds[0], "seed")
    equal = first.verdict == "equivalent"
    verdict = OF_SEVERAL.get(first.verdict, f"{first.verdict}, against")
    claim = f"{listed} are {verdict} {first.against}"
    if first.kind == "interaction":
        which = ", ".join(dict.fromkeys(" × ".join(one.factors) for one in fact.contrasts))
        claim = f"{len(fact.contrasts)} interactions ({which}) are {verdict} none"
    within = f", within ±{judge.margin:g}" if equal else ""
    is_open = first.verdict == "not distinguishable"
    more = _still_open(fact.contrasts) if is_open else ""
    lost = sum(any(one.diverged) for one in fact.contrasts)
    if lost:
        more += f"; in {lost} of these runs diverged, and differences are of those that did not"
    return Sentence(claim, evidence=f"{size} {judge.unit}{within}; {numbers} paired{more}")


def _still_open(contrasts: Sequence[Contrast]) -> str:
    """Say how many are clear by themselves, and what would decide the one that is most open."""
    clear = [one for one in contrasts if one.only_alone]
    alone = f"; {clear[0].name} is {holm_text(clear[0])}" if len(clear) == 1 else ""
    if len(clear) > 1:
        alone = f"; {len(clear)} of the 95 % intervals are clear alone, not after the correction"
        alone += f" for {clear[0].family} comparisons (Holm)"
    return alone + outlook(max(contrasts, key=_width), "the widest")


def _width(contrast: Contrast) -> float:
    low, high = contrast.low, contrast.high
    return 0.0 if low is None or high is None else high - low
