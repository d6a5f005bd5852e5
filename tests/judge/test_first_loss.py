"""When a first loss has a reason, and when it is the chance of few targets."""

import math

import numpy as np
import pytest

from ablate.judge.first_loss import chance, judge, judge_record


@pytest.mark.parametrize(("tokens", "targets"), [(2, 4), (29, 24), (40, 1024)])
def test_chance_is_the_spread_of_first_losses_drawn_at_random(tokens: int, targets: int) -> None:
    """One logit a token, the same at every position: nearly so at initialisation."""
    random, losses = np.random.default_rng(0), []
    for _ in range(4000):
        logits = random.normal(0, 0.6, 256)
        drawn = random.integers(0, tokens, targets)
        losses.append(math.log(np.exp(logits).sum()) - logits[drawn].mean())
    told = chance(0.6, math.log(tokens), targets)
    assert np.std(losses) == pytest.approx(told, rel=0.2)


def test_few_targets_excuse_a_high_first_loss_of_small_logits_alone() -> None:
    few = {"unigram": math.log(2), "targets": 4}
    assert judge(0.85, spread=0.56, **few) == "usual"
    assert judge(2.5, spread=0.56, **few) == "high"
    assert judge(0.85, spread=1.5, **few) == "high"
    assert judge(0.85, spread=None, **few) == "high"
    assert judge(0.52, spread=0.56, unigram=3.4, targets=1024) == "high"
    assert judge(-0.9, spread=0.56, **few) == "usual"
    assert judge(-2.0, spread=0.56, **few) == "low"


def test_a_record_without_a_first_loss_is_as_usual() -> None:
    assert judge_record({"loss": {}}) == "usual"
    assert judge_record({"loss": {"first": math.nan, "uniform": 5.5}}) == "usual"
    assert judge_record({"loss": {"first": math.inf, "uniform": 5.5}}) == "high"
    scale = {"instruments": {"logit_scale": {"first": 0.56}}}
    loss = {"first": 4.07, "uniform": 3.22, "unigram_train": 0.69, "targets": 4}
    assert judge_record({"loss": loss}) == "high"
    assert judge_record({"loss": loss, **scale}) == "usual"
