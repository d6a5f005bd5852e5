"""Interactions in words, and main effects that depend on another factor."""

from collections.abc import Sequence

from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.story import AverageAlone, Dependence
from ablate.report.inference.verdicts import Judge
from ablate.report.words.basis import basis
from ablate.report.words.endings import survivors
from ablate.report.words.numbers import amount, spread
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
    return Sentence(
        f"{first} × {second}: the difference of {first}={contrast.levels[0]} from"
        f" {first}={contrast.references[0]} is {'lower' if mean < 0 else 'higher'} by"
        f" {amount(abs(mean))} {judge.unit}",
        interval,
        f" with {second}={contrast.levels[1]} than with {second}={contrast.references[1]}"
        f"{OF_INTERACTION.get(contrast.verdict, '')}",
        evidence=basis(contrast) + survivors(contrast),
    )


INTERACT = "interact"


def verdict_text(contrast: Contrast) -> str:
    """Return a verdict for a table or a figure; of an interaction "better" has no meaning."""
    if contrast.kind == "interaction" and contrast.verdict in ("better", "worse"):
        return INTERACT
    return contrast.verdict


def average_alone(fact: AverageAlone, judge: Judge) -> Sentence:
    """Say an effect that averages to no difference, since it depends on another factor."""
    contrast = fact.contrast
    mean, (low, high) = contrast.difference.mean or 0.0, _ends(contrast)
    size = f"{amount(mean, True)} {judge.unit}"
    if low is not None and high is not None:
        size += f" {spread(low, high)}"
    return Sentence(
        f"{contrast.name} differs from {contrast.against} in a way that depends on"
        f" {factors_of(fact.depends_on)}, and on average they are {contrast.verdict}",
        evidence=f"{size}; {basis(contrast)}",
    )


def factors_of(dependences: Sequence[Dependence]) -> str:
    """Name the factors that an effect depends on, and where that is shown."""
    factors = " and ".join(one.factor for one in dependences)
    interactions = " and ".join(" × ".join(one.interaction) for one in dependences)
    return f"{factors} (see {interactions})"


def _ends(contrast: Contrast) -> tuple[float | None, float | None]:
    return contrast.difference.low, contrast.difference.high
