"""The chance of a first loss: against losses drawn at random, and against renamed tokens."""

import math

import numpy as np
import pytest

from ablate.judge.chance import chance_of_logits, chance_spread, collision, expected_collision

VOCABULARY = 256


def text_like(tokens: int) -> np.ndarray:
    """Shares that fall like 1 / rank, as in text."""
    shares = 1 / np.arange(1, tokens + 1)
    return shares / shares.sum()


def loss(logits: np.ndarray, targets: np.ndarray) -> float:
    """Mean cross-entropy in nats less what these logits cost on average over the vocabulary."""
    return float((logits.mean(axis=1) - logits[np.arange(len(targets)), targets]).mean())


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
        told.append(chance_spread(logits.std(ddof=1), collision(np.bincount(drawn)), VOCABULARY))
    assert np.std(found) == pytest.approx(np.sqrt(np.mean(np.square(told))), rel=0.05)
    known = expected_collision(float(np.square(shares).sum()), targets)
    assert np.std(found) == pytest.approx(chance_spread(0.6, known, VOCABULARY), rel=0.05)


def test_the_entropy_is_no_measure_of_how_often_tokens_repeat() -> None:
    shares = np.array([0.4, *[0.6 / 199] * 199])
    entropy = float(-(shares * np.log(shares)).sum())
    right, wrong = chance_spread(0.6, float(np.square(shares).sum()), 256), 0.6 * math.exp(-entropy)
    assert right > 2.5 * 0.6 * math.sqrt(math.exp(-entropy)) > wrong


@pytest.mark.parametrize("shared", [0.0, 0.5, 1.0])
def test_chance_of_logits_is_the_spread_over_random_names_of_the_tokens(shared: float) -> None:
    random = np.random.default_rng(1)
    count, vocabulary = 60, 20
    common, own = random.normal(0, 1, vocabulary), random.normal(0, 1, (count, vocabulary))
    logits = math.sqrt(shared) * common + math.sqrt(1 - shared) * own
    targets = random.choice(vocabulary, count, p=text_like(vocabulary))
    drawn = [loss(logits[:, random.permutation(vocabulary)], targets) for _ in range(4000)]
    told = chance_of_logits(logits, targets)
    assert np.std(drawn) == pytest.approx(told, rel=0.04)
    spread = math.sqrt(logits.var(axis=1, ddof=1).mean())
    bound = chance_spread(spread, collision(np.bincount(targets)), vocabulary)
    assert told < bound * 1.0001
