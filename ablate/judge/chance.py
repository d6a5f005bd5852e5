"""How far chance moves a first loss from what its logits cost on average."""

import math
from collections.abc import Sequence


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
