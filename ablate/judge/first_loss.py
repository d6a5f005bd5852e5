"""Whether a first loss is as it should be: near ln V, with the chance that few targets bring."""

import math
from collections.abc import Mapping
from typing import Any, Literal

from ablate.judge.thresholds import HIGH_FIRST_LOSS, LOW_FIRST_LOSS, UNTRAINED_SPREAD

FirstLossVerdict = Literal["high", "low", "usual"]


def chance(spread: float, unigram: float | None, targets: int | None) -> float:
    """Standard deviation in nats of a first loss about what its logits cost on average.

    Logits of standard deviation s over the vocabulary do not average out over n targets of entropy
    H, the unigram loss, which are about e^H different tokens: s sqrt(1/n + e^-H).

    >>> [round(chance(0.6, h, n), 2) for h, n in ((3.4, 1024), (0.69, 4), (None, None))]
    [0.11, 0.52, 0.0]
    """
    few = 1 / targets if targets else 0.0
    alike = 0.0 if unigram is None else math.exp(-unigram)
    return spread * math.sqrt(few + alike)


def judge(
    excess: float, *, unigram: float | None, targets: int | None, spread: float | None
) -> FirstLossVerdict:
    """Whether a first loss is so far from ln V, by `excess` nats, that there is a reason.

    High: above 0.5, unless its logits are known to be small (s^2/2 < 0.25) and chance, three of its
    standard deviations, explains what s^2/2 does not. That larger logits cost what they cost is no
    excuse: they are the reason, and an init or a norm changes them. Low: below -0.1 by more than
    two standard deviations, with the s = 0.6 of untrained logits.

    >>> judge(0.52, unigram=3.4, targets=1024, spread=1.0)
    'high'
    >>> judge(0.85, unigram=0.69, targets=4, spread=0.56)
    'usual'
    >>> judge(-0.4, unigram=3.4, targets=1024, spread=None)
    'low'
    """
    if excess > HIGH_FIRST_LOSS:
        if spread is None or large(spread):
            return "high"
        lucky = spread**2 / 2 + 3 * chance(spread, unigram, targets)
        return "usual" if excess <= lucky else "high"
    lucky = 2 * chance(UNTRAINED_SPREAD, unigram, targets)
    return "low" if excess < -LOW_FIRST_LOSS - lucky else "usual"


def large(spread: float) -> bool:
    """Whether logits of this standard deviation cost half of what makes a first loss high.

    >>> large(0.6), large(1.15)
    (False, True)
    """
    return spread**2 / 2 >= HIGH_FIRST_LOSS / 2


def judge_record(record: Mapping[str, Any]) -> FirstLossVerdict:
    """The same of a record; a first loss that was not measured, or is not finite, is as usual."""
    loss, scale = record["loss"], (record.get("instruments") or {}).get("logit_scale") or {}
    excess, first, uniform = (loss.get(key) for key in ("excess", "first", "uniform"))
    if first is not None and uniform is not None:
        excess = first - uniform
    if excess is None or math.isnan(excess):
        return "usual"
    return judge(
        excess,
        unigram=loss.get("unigram_train"),
        targets=loss.get("targets"),
        spread=scale.get("first"),
    )
