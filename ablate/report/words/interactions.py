"""Interactions in words, and effects that depend on another factor."""

from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.verdicts import Judge
from ablate.report.words.basis import basis, holm_text, outlook
from ablate.report.words.failed_runs import survivors
from ablate.report.words.numbers import amount, spread, together
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
