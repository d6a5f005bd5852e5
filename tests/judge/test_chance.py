"""The chance of a first loss, against losses drawn at random."""

import math

import numpy as np
import pytest

from ablate.judge.chance import chance_spread, collision, expected_collision

VOCABULARY = 256


def text_like(tokens: int) -> np.ndarray:
    """Shares that fall like 1 / rank, as in text."""
    shares = 1 / np.arange(1, tokens + 1)
    return shares / shares.sum()


@pytest.mark.parametrize(("tokens", "targets"), [(2, 4), (29, 24), (40, 1024)])
def test_chance_is_the_spread_of_first_losses_of_one_logit_a_token(
    tokens: int, targets: int
) -> None:
    random, found, told = np.random.default_rng(0), [], []
    shares = text_like(tokens)
    for _ in range(3000):
        logits = random.normal(0, 0.6, VOCABULARY)
        drawn = random.choice(tokens, targets, p=shares)
        found.append(logits.mean() - logits[drawn].mean())
        told.append(
            chance_spread(logits.std(ddof=1), collision(np.bincount(drawn).tolist()), VOCABULARY)
        )
    assert np.std(found) == pytest.approx(np.sqrt(np.mean(np.square(told))), rel=0.05)
    known = expected_collision(float(np.square(shares).sum()), targets)
    assert np.std(found) == pytest.approx(chance_spread(0.6, known, VOCABULARY), rel=0.05)


def test_the_entropy_is_no_measure_of_how_often_tokens_repeat() -> None:
    shares = np.array([0.4, *[0.6 / 199] * 199])
    entropy = float(-(shares * np.log(shares)).sum())
    right, wrong = chance_spread(0.6, float(np.square(shares).sum()), 256), 0.6 * math.exp(-entropy)
    assert right > 2.5 * 0.6 * math.sqrt(math.exp(-entropy)) > wrong
