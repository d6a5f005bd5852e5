"""When a first loss has a reason, and when it is the chance of few targets."""

import math
from typing import Any

import numpy as np
import pytest

from ablate.judge.first_loss import (
    chance_spread,
    collision,
    expected_collision,
    judge,
    judge_record,
)
from ablate.record.parsing import parse
from ablate.record.record import Loss, Record


def test_few_targets_excuse_a_high_first_loss_of_small_logits_alone() -> None:
    few, many = 0.75, expected_collision(math.exp(-3.4), 1024)
    assert judge(0.85, spread=0.56, repeats=few, vocabulary=25) == "usual"
    assert judge(2.5, spread=0.56, repeats=few, vocabulary=25) == "high"
    assert judge(0.85, spread=1.5, repeats=few, vocabulary=25) == "high"
    assert judge(0.85, spread=None, repeats=few, vocabulary=25) == "high"
    assert judge(0.52, spread=0.56, repeats=many, vocabulary=256) == "high"
    assert judge(-0.9, spread=0.56, repeats=few, vocabulary=25) == "usual"
    assert judge(-2.0, spread=0.56, repeats=few, vocabulary=25) == "low"


def judged(content: dict[str, Any]) -> str:
    record, misfits = parse(Record, content)
    assert not misfits
    return judge_record(record)


def test_a_record_without_a_first_loss_is_as_usual() -> None:
    assert judged({"loss": {}}) == "usual"
    assert judge_record(Record(loss=Loss(first=math.nan, uniform=5.5))) == "usual"
    assert judge_record(Record(loss=Loss(first=math.inf, uniform=5.5))) == "high"
    scale = {"instruments": {"logit_scale": {"first": 0.56}}}
    loss = {"first": 4.07, "uniform": 3.22}
    assert judged({"loss": loss}) == "high"
    assert judged({"loss": loss | {"repeats": 0.75}, **scale}) == "usual"
    assert judged({"loss": loss | {"repeats": 0.05}, **scale}) == "high"
    unknown = "a record that does not know how often its targets repeat is not accused"
    assert judged({"loss": loss, **scale}) == "usual", unknown


def test_a_sound_run_on_program_text_is_not_told_that_its_head_is_large() -> None:
    """Chance in text is a sum over tokens, in which a few frequent ones weigh most.

    With e^-H in its place it was 0.040 where it is 0.106, and 0.51 above ln V was 7 of its standard
    deviations from what these logits cost, where it is 2.6.
    """
    entropy, repeats = 5.42, 0.035
    assert chance_spread(0.6, repeats, 256) == pytest.approx(0.106, abs=0.001)
    assert 0.6 * math.exp(-entropy / 2) == pytest.approx(0.040, abs=0.001)
    loss = {"first": 5.545 + 0.51, "uniform": 5.545, "unigram_train": entropy, "repeats": repeats}
    scale = {"instruments": {"logit_scale": {"first": 0.65}}}
    assert judged({"loss": loss, **scale}) == "usual"


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
