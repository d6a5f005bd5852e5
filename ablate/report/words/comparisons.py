"""A contrast in words, and a verdict that several share.

A verdict without a sentence in `SENTENCES` gets a general one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.points import SharedVerdict, SingleVerdict
from ablate.report.inference.verdicts import Judge
from ablate.report.words.basis import basis, holm_text, outlook
from ablate.report.words.failure_sentences import counts, diverged, survivors
from ablate.report.words.interactions import interaction
from ablate.report.words.numbers import amount, count_of, some, spread
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
    contrast = fact.contrast
    mean, low, high = contrast.difference.mean, contrast.low, contrast.high
    names = f"{contrast.name} and {contrast.against}"
    if contrast.verdict == "no effect":
        pairs = count_of(contrast.cells * contrast.difference.n, "pair")
        same = f"in all {pairs} both runs are the same, number by number"
        return Sentence(f"{names}: the setting had no effect here", evidence=same)
    if contrast.divergence is not None and contrast.divergence.test.shown:
        how = contrast.verdict.replace("by cell", "in other cells")
        claim = f"{contrast.name} {how} than {contrast.against}"
        return Sentence(claim, evidence=counts(contrast.divergence))
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
        return interaction(contrast, judge)
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
    return Sentence(
        f"{contrast.name} is {measure.direction} than {contrast.against} {measure.size}",
        spread(*measure.ends),
        f", whether by more than {margin:g} is undecided",
        evidence=f"{measure.basis}{outlook(contrast)}",
    )


def _not_distinguishable(measure: Measure) -> Sentence:
    contrast = measure.contrast
    more = f"; {holm_text(contrast)}" if contrast.only_alone else ""
    more += outlook(contrast)
    general = _general(measure)
    return replace(general, evidence=f"{general.evidence}{more}")


SENTENCES: dict[str, Callable[[Measure], Sentence]] = {
    "better": _better_or_worse,
    "worse": _better_or_worse,
    "equivalent": _equivalent,
    "undecided": _undecided,
    "not distinguishable": _not_distinguishable,
}


def _why_nothing(contrast: Contrast) -> str:
    if contrast.undefined:
        return "the scheme cannot do it"
    if not contrast.shared:
        return "no two runs differ in that alone"
    if contrast.left_out:
        return "no shared seed has a number on both"
    return "they have no seed in common"


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
