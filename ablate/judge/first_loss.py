"""Whether a first loss is as it should be: near ln V, with the chance that few targets bring."""

import math
from typing import Literal

from ablate.judge.finding import logit_spread
from ablate.judge.thresholds import HIGH_FIRST_LOSS, LOW_FIRST_LOSS, UNTRAINED_SPREAD
from ablate.record.record import Record

FirstLossVerdict = Literal["high", "low", "usual"]


def chance(spread: float, repeats: float) -> float:
    """Standard deviation in nats of a first loss about what its logits cost on average.

    Logits of standard deviation s over the vocabulary do not average out over targets that are
    often the same token. With the probability r that two targets are one token it is s sqrt(r).

    >>> chance(0.5, 0.04)
    0.1
    """
    return spread * math.sqrt(repeats)


def likely_repeats(unigram: float | None, targets: int | None) -> float:
    """About the probability that two targets, maybe the same one, are one token.

    From their number n and their entropy H, the unigram loss: 1/n + e^-H, as of e^H different
    tokens. Those of a text differ in frequency, and then it is more. For records without `repeats`.

    >>> [round(likely_repeats(h, n), 3) for h, n in ((3.4, 1024), (0.69, 4), (None, None))]
    [0.034, 0.752, 0.0]
    """
    return (1 / targets if targets else 0.0) + (0.0 if unigram is None else math.exp(-unigram))


def judge(excess: float, *, repeats: float, spread: float | None) -> FirstLossVerdict:
    """Whether a first loss is so far from ln V, by `excess` nats, that there is a reason.

    High: above 0.5, unless its logits are known to be small (s^2/2 < 0.25) and chance, three of its
    standard deviations, explains what s^2/2 does not. That larger logits cost what they cost is no
    excuse: they are the reason, and an init or a norm changes them. Low: below -0.1 by more than
    two standard deviations, with the s = 0.6 of untrained logits.

    >>> judge(0.6, repeats=0.03, spread=1.15), judge(0.85, repeats=0.75, spread=0.56)
    ('high', 'usual')
    >>> judge(-0.4, repeats=0.03, spread=None)
    'low'
    """
    if excess > HIGH_FIRST_LOSS:
        if spread is None or large(spread):
            return "high"
        lucky = spread**2 / 2 + 3 * chance(spread, repeats)
        return "usual" if excess <= lucky else "high"
    lucky = 2 * chance(UNTRAINED_SPREAD, repeats)
    return "low" if excess < -LOW_FIRST_LOSS - lucky else "usual"


def large(spread: float) -> bool:
    """Whether logits of this standard deviation cost half of what makes a first loss high.

    >>> large(0.6), large(1.15)
    (False, True)
    """
    return spread**2 / 2 >= HIGH_FIRST_LOSS / 2


def judge_record(record: Record) -> FirstLossVerdict:
    """The same of a record; a first loss that was not measured, or is not a number, is as usual."""
    loss = record.loss
    excess = loss.excess
    if loss.first is not None and loss.uniform is not None:
        excess = loss.first - loss.uniform
    if excess is None or math.isnan(excess):
        return "usual"
    repeats = loss.repeats
    if repeats is None:
        repeats = likely_repeats(loss.unigram_train, loss.targets)
    return judge(excess, repeats=repeats, spread=logit_spread(record))
