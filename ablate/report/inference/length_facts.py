"""What arms keep, lose or gain at lengths beyond their own, and which is best at the longest."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from ablate.judge.at_length import same_targets, sums_at
from ablate.judge.by_document import LEVEL, DocumentSums
from ablate.judge.keeping import MARGINS, Keeping, Measure
from ablate.judge.text_and_seeds import SeedsMean, paired_difference
from ablate.record.evaluated import Extrapolation
from ablate.report.inference.arms import Group
from ablate.report.runs.kept import factors_beyond, kept_beyond, measured_alike, measures_of


@dataclass(frozen=True)
class KeptByArm:
    """The word for one arm in one measure at a context of `factor` train lengths, over `seeds`."""

    arm: str
    measure: Measure
    factor: float
    seeds: tuple[int, ...]
    kept: Keeping


@dataclass(frozen=True)
class LengthTold:
    """The words of all arms in one measure, at all the contexts where they are the same.

    `arms` has each arm at the longest of the contexts. Effects count better as positive. The words
    of an arm are judged together for so many contexts.
    """

    measure: Measure
    margin: float
    factors: tuple[float, ...]
    arms: tuple[KeptByArm, ...]
    together: int


@dataclass(frozen=True)
class Lead:
    """How much better the leading arm is than another; the interval is adjusted for all of them."""

    over: str
    difference: SeedsMean

    @property
    def clear(self) -> bool:
        """Whether the leading arm is surely better."""
        return self.difference.interval is not None and self.difference.interval[0] > 0


@dataclass(frozen=True)
class BestAtLength:
    """The arm that is ahead at the longest context, and its leads: paired by seed and target."""

    measure: Measure
    factor: float
    arm: str
    value: float
    leads: tuple[Lead, ...]


@dataclass(frozen=True)
class ArmMeasured:
    """An arm's runs at length, with their seeds."""

    arm: str
    text: str | None
    seeds: tuple[int, ...]
    runs: tuple[Extrapolation, ...]


LengthFact = LengthTold | BestAtLength


def length_facts(groups: Sequence[Group]) -> list[LengthFact]:
    """Return what there is to tell, the best arm first, then the longest context first.

    Of arms whose records have no sums by document nothing is told.
    """
    arms = list(_measured(groups))
    facts: list[LengthFact] = []
    for family in _families(arms):
        measures = measures_of([run for arm in family for run in arm.runs])
        factors = factors_beyond([run for arm in family for run in arm.runs])
        if not factors:
            continue
        best = (best_at(family, measure, factors[-1]) for measure in measures)
        facts += [fact for fact in best if fact is not None]
        for measure in measures:
            facts += _told(family, measure, factors)
    return facts


def _measured(groups: Sequence[Group]) -> Iterator[ArmMeasured]:
    for group in groups:
        runs = [o.run for o in group.outcomes if o.state == "finished" and o.seed is not None]
        measured = measured_alike(runs)
        if measured:
            seeds = tuple(run.record.seed or 0 for run in runs)
            text = runs[0].record.corpus.sha256
            yield ArmMeasured(group.arm.label, text, seeds, tuple(measured))


def _families(arms: Sequence[ArmMeasured]) -> list[list[ArmMeasured]]:
    """Arms of one text and one train length."""
    families: dict[tuple[object, ...], list[ArmMeasured]] = {}
    for arm in arms:
        families.setdefault((arm.text, arm.runs[0].train_length), []).append(arm)
    return list(families.values())


def _told(
    arms: Sequence[ArmMeasured], measure: Measure, factors: Sequence[float]
) -> Iterator[LengthTold]:
    """Yield the words, contexts with the same ones together, the longest first."""
    by_words: dict[tuple[str, ...], list[float]] = {}
    at: dict[float, tuple[KeptByArm, ...]] = {}
    keepings = [kept_beyond(arm.runs, measure) for arm in arms]
    for factor in factors:
        at[factor] = tuple(
            KeptByArm(arm.arm, measure, factor, arm.seeds, by_factor[factor])
            for arm, by_factor in zip(arms, keepings, strict=True)
        )
        by_words.setdefault(tuple(one.kept.word for one in at[factor]), []).append(factor)
    for alike in sorted(by_words.values(), key=lambda alike: -alike[-1]):
        yield LengthTold(measure, MARGINS[measure], tuple(alike), at[alike[-1]], len(factors))


def best_at(arms: Sequence[ArmMeasured], measure: Measure, factor: float) -> BestAtLength | None:
    """The arm with the best mean at a context, against every other that was scored on its targets.

    None where fewer than two arms can do the context.
    """
    sign = 1 if measure == "nll" else -1
    able = {arm.arm: arm for arm in arms if _sums(arm, measure, factor)}
    if len(able) < 2:
        return None
    values = {name: fmean(_values(arm, measure, factor)) for name, arm in able.items()}
    name = min(values, key=lambda one: sign * values[one])
    others = [arm for arm in able.values() if arm.arm != name and _alike(able[name], arm, factor)]
    level = 1 - (1 - LEVEL) / max(1, len(others))  # Bonferroni: the leading arm is chosen by eye
    leads = []
    for other in others:
        pair = (_sums(other, measure, factor), _sums(able[name], measure, factor))
        worse, better = pair if measure == "nll" else pair[::-1]
        difference = paired_difference(worse, better, level)
        if difference is not None:
            leads.append(Lead(other.arm, difference))
    leads.sort(key=lambda lead: lead.difference.mean)
    return BestAtLength(measure, factor, name, values[name], tuple(leads)) if leads else None


def _alike(first: ArmMeasured, second: ArmMeasured, factor: float) -> bool:
    """Whether two arms were scored on the same targets in every seed."""
    context = round(factor * (first.runs[0].train_length or 0))
    own = first.runs[0]
    return all(same_targets(own, run, context) for run in (*first.runs, *second.runs))


def _sums(arm: ArmMeasured, measure: Measure, factor: float) -> dict[int, DocumentSums | None]:
    """By seed; only what is defined."""
    context = round(factor * (arm.runs[0].train_length or 0))
    pairs = zip(arm.seeds, arm.runs, strict=True)
    sums = {seed: sums_at(run, measure, context) for seed, run in pairs}
    return {seed: own for seed, own in sums.items() if own is not None}


def _values(arm: ArmMeasured, measure: Measure, factor: float) -> list[float]:
    sums = _sums(arm, measure, factor).values()
    return [sum(own.totals) / sum(own.counts) for own in sums if own is not None]
