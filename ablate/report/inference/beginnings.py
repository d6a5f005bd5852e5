"""How runs start, before anything is learned: first loss against ln V, gradient over depth."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from ablate.judge.finding import logit_spread
from ablate.judge.first_loss import FirstLossVerdict, judge_record
from ablate.judge.intervals import Interval, over_seeds
from ablate.judge.profile import first_over_last, gradient_flow, inner
from ablate.judge.thresholds import EVEN
from ablate.record.record import Record
from ablate.report.inference.arms import Group
from ablate.report.inference.outcomes import Outcome
from ablate.report.runs.settings import text
from ablate.report.runs.tables import order

RANKS = ("low", "high", "vanishing", "exploding", "uneven", "usual", "even")
"""What is told first: what is out of order."""


@dataclass(frozen=True)
class FirstLosses:
    """Runs whose first loss is high, low or as usual against ln V, with the same reasons for it.

    `least`, `middle` and `most` are of the excess over ln V; `spread` is the median standard
    deviation of the logits over the vocabulary, None where it was not looked at.
    """

    verdict: FirstLossVerdict
    arms: tuple[str, ...]
    of_arms: int
    runs: int
    least: float
    middle: float
    most: float
    spread: float | None
    tied: bool
    bare: bool


@dataclass(frozen=True)
class GradientFlow:
    """The gradient over depth at the first step, of all runs of a norm placement and depth.

    `flow` is even, uneven, vanishing or exploding: what `count` of `of` runs are, most of them.
    `ratio` is the norm over the first block's parameters over that of the last's: a geometric mean
    with the factor of its interval over seeds.
    """

    norm: str
    depth: int
    flow: str
    count: int
    of: int
    ratio: Interval
    among_depths: bool


def beginnings(groups: Sequence[Group]) -> list[FirstLosses | GradientFlow]:
    """Return what there is to say of the start, the most important first: what is out of order."""
    every = [outcome for group in groups for outcome in group.outcomes]
    return sorted([*_first_losses(groups), *_flows(every)], key=_rank)


def _rank(fact: FirstLosses | GradientFlow) -> int:
    word = fact.verdict if isinstance(fact, FirstLosses) else fact.flow
    return RANKS.index(word)


def _first_losses(groups: Sequence[Group]) -> Iterable[FirstLosses]:
    kinds: dict[tuple[FirstLossVerdict, bool, bool], list[tuple[str, Record]]] = {}
    for group in groups:
        for outcome in group.outcomes:
            record = outcome.run.record
            if record.loss.excess is not None:
                kinds.setdefault(_kind(record), []).append((group.arm.label, record))
    for (verdict, tied, bare), members in kinds.items():
        excesses = [record.loss.excess or 0.0 for _, record in members]
        spreads = [s for _, record in members if (s := logit_spread(record)) is not None]
        yield FirstLosses(
            verdict=verdict,
            arms=tuple(dict.fromkeys(arm for arm, _ in members)),
            of_arms=len(groups),
            runs=len(members),
            least=min(excesses),
            middle=median(excesses),
            most=max(excesses),
            spread=median(spreads) if spreads else None,
            tied=tied,
            bare=bare,
        )


def _kind(record: Record) -> tuple[FirstLossVerdict, bool, bool]:
    """How a first loss is, and what of the head may be a reason where it is not as usual."""
    verdict = judge_record(record)
    if verdict == "usual":
        return verdict, False, False
    norm = record.config.get("norm")
    final = isinstance(norm, dict) and bool(norm.get("final", False))
    return verdict, bool(record.config.get("tied")), not final


def _flows(outcomes: Sequence[Outcome]) -> Iterable[GradientFlow]:
    places: dict[tuple[str, int], list[Outcome]] = {}
    for outcome in outcomes:
        record = outcome.run.record
        if record.depth and record.depth > 1 and record.gradients.parameters_first:
            norm = text(record.choices.get("norm"))
            places.setdefault((norm, record.depth), []).append(outcome)
    depths = {depth for _, depth in places}
    for norm, depth in sorted(places, key=lambda place: (order(place[0]), place[1])):
        members = places[norm, depth]
        flows = Counter(_flow(outcome.run.record) for outcome in members)
        flow, count = flows.most_common(1)[0]
        ratios = [
            (outcome.seed, outcome.run.arm, ratio)
            for outcome in members
            if (ratio := first_over_last(outcome.run.record.gradients.parameters_first))
        ]
        yield GradientFlow(
            norm=norm,
            depth=depth,
            flow=flow,
            count=count,
            of=len(members),
            ratio=over_seeds(ratios, "log"),
            among_depths=len(depths) > 1,
        )


def _flow(record: Record) -> str:
    parameters, inputs = record.gradients.parameters_first, record.gradients.inputs_first
    ratios = [first_over_last(norms) for norms in (parameters, inner(inputs))]
    even = all(ratio is None or 1 / EVEN <= ratio <= EVEN for ratio in ratios)
    return gradient_flow(parameters, inputs) or ("even" if even else "uneven")
