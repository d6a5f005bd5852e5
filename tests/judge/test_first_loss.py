"""When a first loss has a reason, and when it is the chance of few targets."""

import math
from typing import Any

import numpy as np
import pytest

from ablate.judge.first_loss import chance, judge, judge_record, likely_repeats
from ablate.record.parsing import parse
from ablate.record.record import Loss, Record


@pytest.mark.parametrize(("tokens", "targets"), [(2, 4), (29, 24), (40, 1024)])
def test_chance_is_the_spread_of_first_losses_drawn_at_random(tokens: int, targets: int) -> None:
    """One logit a token, the same at every position: nearly so at initialisation."""
    random, losses = np.random.default_rng(0), []
    for _ in range(4000):
        logits = random.normal(0, 0.6, 256)
        drawn = random.integers(0, tokens, targets)
        losses.append(math.log(np.exp(logits).sum()) - logits[drawn].mean())
    expected = chance(0.6, likely_repeats(math.log(tokens), targets))
    assert np.std(losses) == pytest.approx(expected, rel=0.2)


def test_targets_of_unequal_frequency_bring_more_chance_than_their_entropy_says() -> None:
    """As in program text, a third of which is spaces."""
    random, losses = np.random.default_rng(0), []
    shares = np.array([1 / 3, *[2 / 3 / 60] * 60])
    for _ in range(4000):
        logits = random.normal(0, 0.6, 256)
        drawn = random.choice(61, 256, p=shares)
        losses.append(math.log(np.exp(logits).sum()) - logits[drawn].mean())
    repeats = np.square(shares).sum() + (1 - np.square(shares).sum()) / 256
    assert np.std(losses) == pytest.approx(chance(0.6, repeats), rel=0.1)
    entropy = -(shares * np.log(shares)).sum()
    assert chance(0.6, likely_repeats(entropy, 256)) < 0.7 * np.std(losses)


def test_few_targets_excuse_a_high_first_loss_of_small_logits_alone() -> None:
    few = likely_repeats(math.log(2), 4)
    assert judge(0.85, spread=0.56, repeats=few) == "usual"
    assert judge(2.5, spread=0.56, repeats=few) == "high"
    assert judge(0.85, spread=1.5, repeats=few) == "high"
    assert judge(0.85, spread=None, repeats=few) == "high"
    assert judge(0.52, spread=0.56, repeats=likely_repeats(3.4, 1024)) == "high"
    assert judge(-0.9, spread=0.56, repeats=few) == "usual"
    assert judge(-2.0, spread=0.56, repeats=few) == "low"


def judged(content: dict[str, Any]) -> str:
    record, misfits = parse(Record, content)
    assert not misfits
    return judge_record(record)


def test_a_record_without_a_first_loss_is_as_usual() -> None:
    assert judged({"loss": {}}) == "usual"
    assert judge_record(Record(loss=Loss(first=math.nan, uniform=5.5))) == "usual"
    assert judge_record(Record(loss=Loss(first=math.inf, uniform=5.5))) == "high"
    scale = {"instruments": {"logit_scale": {"first": 0.56}}}
    loss = {"first": 4.07, "uniform": 3.22, "unigram_train": 0.69, "targets": 4}
    assert judged({"loss": loss}) == "high"
    assert judged({"loss": loss, **scale}) == "usual"
    often = loss | {"unigram_train": 3.2, "targets": 1024}
    assert judged({"loss": often, **scale}) == "high"
    assert judged({"loss": often | {"repeats": 0.75}, **scale}) == "usual"
