"""A contrast in words. A verdict without a sentence in `SENTENCES` gets a general one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.story import AverageAlone, Dependence, SingleVerdict
from ablate.report.inference.testing import seeds_needed
from ablate.report.inference.verdicts import Judge
from ablate.report.words.endings import diverged, survivors
from ablate.report.words.numbers import amount, count_of, spread
from ablate.report.words.sentence import Sentence


@dataclass(frozen=True)
class Measure:
    """The numbers of a contrast that has an interval, ready to be written."""

    contrast: Contrast
    judge: Judge
    mean: float
    low: float
    high: float

    @property
    def names(self) -> str:
        """Both sides."""
        return f"{self.contrast.name} and {self.contrast.against}"

    @property
    def signed(self) -> str:
        """The difference with its sign and unit."""
        return f"{amount(self.mean, True)} {self.judge.unit}"

    @property
    def interval(self) -> str:
        """The interval around `signed`."""
        return spread(self.low, self.high)

    @property
    def size(self) -> str:
        """How much better or worse, as a positive number with its unit."""
        return f"by {amount(abs(self.mean))} {self.judge.unit}"

    @property
    def ends(self) -> tuple[float, float]:
        """The interval around `size`, in order."""
        return (self.low, self.high) if self.mean > 0 else (-self.high, -self.low)

    @property
    def direction(self) -> str:
        """Which way the mean points."""
        return "better" if (self.mean > 0) == self.judge.higher else "worse"

    @property
    def basis(self) -> str:
        """What it is over, and what diverged."""
        return basis(self.contrast) + survivors(self.contrast)


def comparison(fact: SingleVerdict, judge: Judge) -> Sentence:
    """Say a contrast: "norm=post is worse than norm=pre by 0.420 nats [0.350, 0.490]: ..."."""
    sentence = _alone(fact.contrast, judge)
    if not fact.depends_on:
        return sentence
    average = f"an average, for it depends on {_on(fact.depends_on)}"
    if not sentence.evidence:
        return replace(sentence, joint="; ", evidence=average)
    return replace(sentence, evidence=f"{sentence.evidence}; {average}")


def _alone(contrast: Contrast, judge: Judge) -> Sentence:
    mean, low, high = contrast.difference.mean, contrast.difference.low, contrast.difference.high
    names = f"{contrast.name} and {contrast.against}"
    if contrast.verdict in ("diverges more", "diverges less"):
        claim = f"{contrast.name} {contrast.verdict} than {contrast.against}"
        return Sentence(claim, evidence=diverged(contrast))
    if mean is None and any(contrast.diverged):
        claim = f"{contrast.name} against {contrast.against}: {diverged(contrast)}"
        return Sentence(claim, joint="; ", evidence="no pair finished")
    if mean is None:
        return Sentence(f"{names}: nothing to compare, {_why_nothing(contrast)}")
    if contrast.verdict == "neither learned":
        stuck = " and ".join(f"{count} of {contrast.of}" for count in contrast.stuck)
        return Sentence(
            f"{names}: neither learned more than how often tokens occur ({stuck} runs are stuck),"
            f" so {amount(mean, True)} {judge.unit} is no verdict"
        )
    if contrast.kind == "interaction":
        return _interaction(contrast, judge)
    seeds = contrast.difference.n
    if contrast.verdict == "equivalent" and low == high:
        apart = f"exactly 0 {judge.unit} apart in each of {count_of(seeds, 'seed')}"
        return Sentence(f"{names} are the same", evidence=apart)
    if low is None or high is None or low == high:
        start = f"{contrast.name} against {contrast.against}: {amount(mean, True)} {judge.unit}"
        if seeds == 1:
            only = "in the one seed that both have: it has no interval and decides nothing"
            return Sentence(f"{start} {only}")
        return Sentence(f"{start} in each of {seeds} seeds, no spread to judge it by")
    measure = Measure(contrast, judge, mean, low, high)
    return SENTENCES.get(contrast.verdict, _general)(measure)


def _general(measure: Measure) -> Sentence:
    """The sentence of a verdict that has none of its own: "a and b are ...: +0.1 nats [...]"."""
    return Sentence(
        f"{measure.names} are {measure.contrast.verdict}",
        evidence=f"{measure.signed} {measure.interval}: {measure.basis}",
    )


def _better_or_worse(measure: Measure) -> Sentence:
    contrast = measure.contrast
    return Sentence(
        f"{contrast.name} is {contrast.verdict} than {contrast.against} {measure.size}",
        spread(*measure.ends),
        evidence=measure.basis,
    )


def _equivalent(measure: Measure) -> Sentence:
    within = f"within ±{measure.judge.margin:g}"
    return Sentence(
        f"{measure.names} are equivalent",
        evidence=f"{measure.signed} {measure.interval}, {within}: {measure.basis}",
    )


def _undecided(measure: Measure) -> Sentence:
    contrast, margin = measure.contrast, measure.judge.margin
    clear = measure.ends[0] > margin
    if any(contrast.diverged) and (clear or max(-measure.low, measure.high) < margin):
        return Sentence(
            f"{measure.names}: {measure.signed} {measure.interval} where both finished, but other"
            " runs diverged, so nothing is decided",
            joint="; ",
            evidence=measure.basis,
        )
    more = f"; {holm_text(contrast)}" if clear else outlook(contrast, measure.judge)
    return Sentence(
        f"{contrast.name} is {measure.direction} than {contrast.against} {measure.size}",
        spread(*measure.ends),
        f", whether by more than {margin:g} is undecided",
        evidence=f"{measure.basis}{more}",
    )


def _not_distinguishable(measure: Measure) -> Sentence:
    contrast = measure.contrast
    clear = measure.ends[0] > 0
    more = f"; {holm_text(contrast)}" if clear else outlook(contrast, measure.judge)
    general = _general(measure)
    return replace(general, evidence=f"{general.evidence}{more}")


SENTENCES: dict[str, Callable[[Measure], Sentence]] = {
    "better": _better_or_worse,
    "worse": _better_or_worse,
    "equivalent": _equivalent,
    "undecided": _undecided,
    "not distinguishable": _not_distinguishable,
}


OF_INTERACTION = {
    "equivalent": ", which is equivalent to none",
    "not distinguishable": ", not distinguishable from none",
    "undecided": ", whether that matters is undecided",
}


def _interaction(contrast: Contrast, judge: Judge) -> Sentence:
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
        f" {_on(fact.depends_on)}, and on average they are {contrast.verdict}",
        evidence=f"{size}; {basis(contrast)}",
    )


def _on(dependences: Sequence[Dependence]) -> str:
    factors = " and ".join(one.factor for one in dependences)
    interactions = " and ".join(" × ".join(one.interaction) for one in dependences)
    return f"{factors} (see {interactions})"


def basis(contrast: Contrast) -> str:
    """Say what a contrast is over: pairs, cells, and what had to be left out."""
    seeds = contrast.difference.n
    words = f"{count_of(seeds, 'seed')} paired"
    if seeds == 2:
        words += ", which are few"
    if contrast.every > 1:
        share = "" if contrast.cells == contrast.every else f"{contrast.cells} of "
        words += f", over {share}{count_of(contrast.every, 'combination')} of the other settings"
    if contrast.left_out:
        every = contrast.left_out + contrast.cells * seeds
        words += (
            f"; {contrast.left_out} of {every} pairs left out, since not every run has a number"
        )
    return words


def holm_text(contrast: Contrast) -> str:
    """Say that an interval is clear, and the verdict is not."""
    return f"clear alone, not after the correction for {contrast.family} comparisons (Holm)"


def outlook(contrast: Contrast, judge: Judge) -> str:
    """Say how many seeds would tell differences of the margin's size; two tell no spread."""
    seeds = contrast.difference.n
    needed = seeds_needed(contrast.difference, judge.margin) if seeds >= 3 else None
    if needed is None or needed <= seeds:
        return ""
    return f"; at this spread {needed} seeds would narrow it to ±{judge.margin:g}"


def _why_nothing(contrast: Contrast) -> str:
    if contrast.undefined:
        return "the scheme cannot do it"
    if not contrast.shared:
        return "no two runs differ in that alone"
    if contrast.left_out:
        return "no shared seed has a number on both"
    return "they have no seed in common"


def _ends(contrast: Contrast) -> tuple[float | None, float | None]:
    return contrast.difference.low, contrast.difference.high
