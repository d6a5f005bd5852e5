"""Whether a first loss is as it should be: near ln V, with the chance that few targets bring."""

import math
from collections.abc import Sequence
from typing import Literal

from ablate.judge.finding import logit_spread
from ablate.judge.thresholds import HIGH_FIRST_LOSS, LOW_FIRST_LOSS, UNTRAINED_SPREAD
from ablate.record.record import Record


def collision(counts: Sequence[int]) -> float:
    """Σ p² of the shares p of tokens among some targets, from how often each occurs.

    It is the probability that two targets drawn with replacement are the same token.

    >>> collision([2, 2, 0, 0])
    0.5
    """
    total = sum(counts)
    return sum((count / total) ** 2 for count in counts)


def expected_collision(population: float, targets: int) -> float:
    """Mean Σ p² among so many targets drawn from a text whose own is `population`.

    E Σ (n_v / n)² = Σ p² + (1 - Σ p²) / n: few targets repeat each other by their number alone.

    >>> expected_collision(0.25, 1), expected_collision(0.25, 4)
    (1.0, 0.4375)
    """
    return population + (1 - population) / targets


def chance_spread(spread: float, repeats: float, vocabulary: int) -> float:
    """Standard deviation in nats of a first loss about the mean cost of its logits.

    A model that knows nothing gives each token v a logit z_v that has nothing to do with how often
    v occurs, and nearly the same one at every position. With p_v the shares of tokens among the
    targets its loss is

        logsumexp(z) - Σ p_v z_v.

    Hand the same V logits to the tokens in random order: logsumexp(z) stays, and Σ p_v z_v has mean
    z̄ and variance s² (Σ p² - 1/V), as a weighted mean drawn without replacement has, s² being the
    logits' variance with V - 1 degrees of freedom. So

        chance = s · sqrt(Σ p² - 1/V),

    0 where all tokens are equally frequent, s where all targets are one token. `repeats` is Σ p²,
    see `collision`. It is not e^-H with H the entropy: Σ p² >= e^-H always (Jensen), and in text,
    where a few tokens make up much, several times as much. Where logits differ from position to
    position chance is smaller.

    >>> round(chance_spread(0.6, 1 / 256, 256), 3), round(chance_spread(0.6, 1.0, 256), 3)
    (0.0, 0.599)
    """
    return spread * math.sqrt(max(0.0, repeats - 1 / vocabulary))


FirstLossVerdict = Literal["high", "low", "usual"]

ALL_ALIKE = 1.0
"""Σ p² of targets that are all one token: the most that chance can do."""


def judge(
    excess: float, *, repeats: float, spread: float | None, vocabulary: int
) -> FirstLossVerdict:
    """Whether a first loss is so far from ln V, by `excess` nats, that there is a reason.

    High: above 0.5, unless its logits are known to be small (s^2/2 < 0.25) and chance, three of its
    standard deviations (`chance_spread`, of Σ p² = `repeats`), explains what s^2/2 does not. That
    larger logits cost what they cost is no excuse: they are the reason, and an init or a norm
    changes them. Low: below -0.1 by more than two standard deviations, with the s = 0.6 of
    untrained logits.

    >>> judge(0.6, repeats=0.03, spread=1.15, vocabulary=256)
    'high'
    >>> judge(0.85, repeats=0.75, spread=0.56, vocabulary=256)
    'usual'
    >>> judge(-0.4, repeats=0.03, spread=None, vocabulary=256)
    'low'
    """
    if excess > HIGH_FIRST_LOSS:
        if spread is None or large(spread):
            return "high"
        lucky = spread**2 / 2 + 3 * chance_spread(spread, repeats, vocabulary)
        return "usual" if excess <= lucky else "high"
    lucky = 2 * chance_spread(UNTRAINED_SPREAD, repeats, vocabulary)
    return "low" if excess < -LOW_FIRST_LOSS - lucky else "usual"


def large(spread: float) -> bool:
    """Whether logits of this standard deviation cost half of what makes a first loss high.

    >>> large(0.6), large(1.15)
    (False, True)
    """
    return spread**2 / 2 >= HIGH_FIRST_LOSS / 2


def judge_record(record: Record) -> FirstLossVerdict:
    """The same of a record; a first loss that was not measured, or is not a number, is as usual.

    A record that does not know how often its targets repeat has the most that chance can do.
    """
    loss = record.loss
    excess = loss.excess
    if loss.first is not None and loss.uniform is not None:
        excess = loss.first - loss.uniform
    if excess is None or loss.uniform is None or math.isnan(excess):
        return "usual"
    return judge(
        excess,
        repeats=ALL_ALIKE if loss.repeats is None else loss.repeats,
        spread=logit_spread(record),
        vocabulary=round(math.exp(loss.uniform)),
    )
