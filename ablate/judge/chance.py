"""How far chance moves a first loss from what its logits cost on average."""

import math

import numpy as np


def collision(counts: np.ndarray) -> float:
    """Σ p² of the shares p of tokens among some targets, from how often each occurs.

    It is the probability that two targets drawn with replacement are the same token.

    >>> collision(np.array([2, 2, 0, 0]))
    0.5
    """
    shares = np.asarray(counts, dtype=np.float64) / np.sum(counts)
    return float(np.square(shares).sum())


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


def chance_of_logits(logits: np.ndarray, targets: np.ndarray) -> float:
    """The same from the logits themselves, [targets, vocabulary], and the targets, [targets].

    Where logits differ from position to position (z_t at target t of n), the loss is the mean of
    logsumexp(z_t) less Σ_v A_v,v, with A_v the sum over targets t that are token v of z_t / n. With
    the tokens' names permuted at random, the same way at every position, Σ_v A_v,π(v) has the
    variance (Hoeffding 1951)

        Σ_v,u (A_v,u - row mean - column mean + mean)² / (V - 1).

    Equal logits everywhere make it `chance_spread`. Only rows of tokens that occur are held.

    >>> same = np.tile([0.3, -0.1, 0.5, 0.2], (4, 1))
    >>> round(chance_of_logits(same, np.array([0, 0, 1, 2])), 6)
    0.088388
    >>> round(float(chance_spread(same[0].std(ddof=1), 6 / 16, 4)), 6)
    0.088388
    """
    count, vocabulary = logits.shape
    centred = logits - logits.mean(axis=1, keepdims=True)
    tokens, row = np.unique(targets, return_inverse=True)
    sums = np.zeros((len(tokens), vocabulary))
    np.add.at(sums, row, centred / count)
    columns = centred.mean(axis=0) / vocabulary
    squares = np.square(sums).sum() - vocabulary * np.square(columns).sum()
    return math.sqrt(max(0.0, float(squares)) / (vocabulary - 1))
