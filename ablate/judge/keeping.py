"""What becomes of what a model learned when it is given more context than it was trained with.

With e the effect, how much better the same targets are done at c tokens than at the train length L
(accuracy(c) - accuracy(L), nll(L) - nll(c)), and a margin δ, the 95 % interval of e over seeds and
text says one word:

- gains: all of it above δ;  loses: all of it below -δ;  keeps: all of it above -δ;
- undefined: no seed can do c;  floor: no seed knows anything at L, so that it has nothing to keep;
- undecided: everything else, too few documents included.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ablate.judge.by_document import LEVEL, DocumentEstimate, DocumentSums, estimate
from ablate.judge.deciding import ToDecide, to_decide
from ablate.judge.text_and_seeds import SeedsMean, over_text_and_seeds

Measure = Literal["accuracy", "exact", "nll"]
KeepingWord = Literal["keeps", "gains", "loses", "undecided", "floor", "undefined"]

MARGINS: Mapping[Measure, float] = {"accuracy": 0.02, "exact": 0.02, "nll": 0.02}
"""A share of targets, of examples, and nats a target: each has a margin of its own."""


@dataclass(frozen=True)
class SeedAtLength:
    """One run: its effect at c against L, and how far it is above guessing at L.

    `effect` is None where the scheme cannot do c or a number is not finite. `above_guessing` is how
    much better than guessing the same targets are done at L, None where there is no such number.
    """

    effect: DocumentEstimate | None
    above_guessing: DocumentEstimate | None


@dataclass(frozen=True)
class Keeping:
    """The word for one arm and length in one measure, and the seeds that it rests on.

    `effect` is over the seeds that can do the length and know something at L; `floor` of the others
    know nothing at L and `undefined` of them have no number at c. The interval is that of `level`.
    `to_decide` is what would settle what is undecided.
    """

    word: KeepingWord
    effect: SeedsMean | None
    floor: int
    undefined: int
    level: float = LEVEL
    to_decide: ToDecide | None = None


def keeping_together(lengths: Sequence[Sequence[SeedAtLength]], margin: float) -> list[Keeping]:
    """Judge one arm at several lengths so that in 95 % of studies no word of it is wrong.

    By Holm's procedure (1979): of m lengths the first words are told at 1 - 0.05 / m, and with each
    that is decided the others at the next, less strict level.
    """
    judged: dict[int, Keeping] = {}
    while True:
        level = 1 - (1 - LEVEL) / (len(lengths) - len(judged))
        rest = {
            place: keeping(runs, margin, level)
            for place, runs in enumerate(lengths)
            if place not in judged
        }
        decided = {place: one for place, one in rest.items() if one.word != "undecided"}
        judged |= decided
        if not decided or len(judged) == len(lengths):
            every = judged | rest
            return [every[place] for place in range(len(lengths))]


def keeping(runs: Sequence[SeedAtLength], margin: float, level: float = LEVEL) -> Keeping:
    """Judge one arm at one length from its runs, one a seed; of one run, from its documents alone.

    A run that knows nothing at L loses nothing beyond, which is no merit: it is left out and
    counted. Where it is not clear that the seeds together know anything, "keeps" is not said.
    """
    able = [run for run in runs if run.effect is not None]
    undefined = len(runs) - len(able)
    knowing = [run for run in able if not at_floor(run, margin)]
    floor = len(able) - len(knowing)
    if not knowing:
        return Keeping("floor" if floor else "undefined", None, floor, undefined, level)
    effects = [run.effect for run in knowing if run.effect is not None]
    effect = over_text_and_seeds(effects, level)
    word = judge_effect(effect.interval, margin)
    if word == "keeps" and not surely_above(knowing):
        return Keeping("undecided", effect, floor, undefined, level, ToDecide("guessing"))
    open_ = to_decide(effect, margin, level) if word == "undecided" else None
    return Keeping(word, effect, floor, undefined, level, open_)


def judge_effect(interval: tuple[float, float] | None, margin: float) -> KeepingWord:
    """The word for an effect with this interval.

    >>> [judge_effect(bounds, 0.02) for bounds in ((-0.01, 0.01), (0.03, 0.04), (-0.2, -0.1))]
    ['keeps', 'gains', 'loses']
    >>> judge_effect((-0.03, 0.0), 0.02), judge_effect(None, 0.02)
    ('undecided', 'undecided')
    """
    if interval is None:
        return "undecided"
    low, high = interval
    if low > margin:
        return "gains"
    if high < -margin:
        return "loses"
    return "keeps" if low > -margin else "undecided"


def at_floor(run: SeedAtLength, margin: float) -> bool:
    """Whether a run surely does no better than guessing at L, by the margin at most."""
    bounds = None if run.above_guessing is None else run.above_guessing.interval()
    return bounds is not None and bounds[1] < margin


def surely_above(runs: Sequence[SeedAtLength]) -> bool:
    """Whether runs together surely do better than guessing at L; not where that is unknown."""
    known = [run.above_guessing for run in runs if run.above_guessing is not None]
    if len(known) < len(runs):
        return False
    interval = over_text_and_seeds(known).interval
    return interval is not None and interval[0] > 0


def better(measure: Measure, sums: DocumentSums, than: DocumentSums) -> DocumentEstimate | None:
    """How much better one is than the other: more right, lower nll.

    The targets are those of the same documents; their numbers may differ. None where a number is
    not finite.
    """
    return estimate(than, sums) if measure == "nll" else estimate(sums, than)
