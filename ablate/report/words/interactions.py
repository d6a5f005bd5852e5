"""Interactions in words, and simple effects: what a level does within the levels of others."""

from collections.abc import Sequence

from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.points import SimpleEffects
from ablate.report.inference.verdicts import BY_NAME, Judge
from ablate.report.words.basis import basis, holm_text, outlook
from ablate.report.words.failure_sentences import survivors
from ablate.report.words.numbers import amount, count_of, some, spread, together
from ablate.report.words.sentence import Sentence

OF_INTERACTION = {
    "equivalent": ", which is equivalent to none",
    "not distinguishable": ", not distinguishable from none",
    "undecided": ", whether that matters is undecided",
}


def interaction(contrast: Contrast, judge: Judge) -> Sentence:
    """Say by how much a difference changes with the level of another factor."""
    first, second = contrast.factors
    mean, (low, high) = contrast.difference.mean or 0.0, _ends(contrast)
    interval = ""
    if low is not None and high is not None:
        interval = spread(*((low, high) if mean > 0 else (-high, -low)))
    more = f"; {holm_text(contrast)}" if contrast.only_alone else ""
    return Sentence(
        f"{first} × {second}: the difference of {first}={contrast.levels[0]} from"
        f" {first}={contrast.references[0]} is {'lower' if mean < 0 else 'higher'} by"
        f" {amount(abs(mean))} {judge.unit}",
        interval,
        f" with {second}={contrast.levels[1]} than with {second}={contrast.references[1]}"
        f"{OF_INTERACTION.get(contrast.verdict, '')}",
        evidence=basis(contrast) + survivors(contrast) + more + outlook(contrast),
    )


INTERACT = "interact"


def verdict_text(contrast: Contrast) -> str:
    """Return a verdict for a table or a figure; of an interaction "better" has no meaning."""
    if contrast.kind == "interaction" and contrast.verdict in ("better", "worse"):
        return INTERACT
    if contrast.verdict == "depends":
        return f"depends on {together(contrast.depends)}"
    return contrast.verdict + (" after correction" if contrast.only_alone else "")


def _ends(contrast: Contrast) -> tuple[float | None, float | None]:
    return contrast.low, contrast.high


MOST = 3  # parts in a sentence; a table has them all


def simple_effects(fact: SimpleEffects, judge: Judge) -> Sentence:
    """Say what an effect is within the levels that it depends on."""
    average = fact.average
    shown = [one for one in fact.parts if BY_NAME[one.verdict].said != "undecided"]
    parts = [_part(one, judge) for one in shown[:MOST]]
    left, still_open = len(shown) - len(parts), len(fact.parts) - len(shown)
    if left:
        parts.append(f"and {left} more that are decided")
    if still_open:
        many = count_of(still_open, "combination")
        where = f"each of {many}" if not shown else f"the other {many.removeprefix('1 ')}"
        parts.append(f"undecided in {where}")
    about = fact.parts[0] if fact.parts else average
    return Sentence(
        f"what {average.name} does against {average.against} depends on"
        f" {together(average.depends)}",
        evidence=f"{'; '.join(parts)} ({basis(about)}{outlook(about, 'the largest')})",
    )


def _part(one: Contrast, judge: Judge) -> str:
    where = within_text([one])
    if one.difference.mean is None or one.low is None or one.high is None:
        return f"{one.verdict} within {where}"
    ends = (one.low, one.high)
    if one.verdict in ("better", "worse"):
        mean = one.difference.mean
        ends = ends if mean > 0 else (-one.high, -one.low)
        return f"{one.verdict} by {amount(abs(mean))} {judge.unit} {spread(*ends)} within {where}"
    return f"{one.verdict} ({amount(one.difference.mean, True)} {spread(*ends)}) within {where}"


def within_text(contrasts: Sequence[Contrast]) -> str:
    """Name the levels that simple effects are within."""
    names = [" ".join(f"{key}={level}" for key, level in one.within) for one in contrasts]
    return some(list(dict.fromkeys(names)))
