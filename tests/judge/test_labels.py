"""Each label on synthetic curves, and the edges of every threshold."""

import math
import random
from typing import Any

import numpy as np
import pytest

from ablate.judge import labels
from ablate.judge.labels import (
    final_loss,
    label,
    progress_label,
    smooth,
    smoothing_window,
)
from ablate.judge.learning import LearningWord
from ablate.judge.spikes import spike_score, spikes
from ablate.judge.thresholds import SPIKE_MINIMUM

UNIFORM, UNIGRAM = math.log(256), 3.3


def curve(steps: int, final: float = 2.4, noise: float = 0.1, seed: int = 0) -> list[float]:
    """A run that learns: exponential decay from ln V, with noise."""
    generator = random.Random(seed)
    return [
        final
        + (UNIFORM - final) * math.exp(-6 * step / steps)
        + noise * generator.uniform(-1.7, 1.7)
        for step in range(steps)
    ]


def told(losses: list[float], learning: LearningWord | None = "learned") -> str | None:
    return label(losses, uniform=UNIFORM, learning=learning)


@pytest.mark.parametrize("steps", [20, 150, 600, 3000])
@pytest.mark.parametrize("seed", range(10))
def test_a_curve_that_learns_is_healthy(steps: int, seed: int) -> None:
    assert told(curve(steps, seed=seed)) == "healthy"


def test_the_word_on_the_validation_windows_decides_and_not_the_training_batches() -> None:
    """A run with a validation loss 0.15 nats below unigram was stuck beside one 0.02 above it."""
    at_unigram = curve(300, final=3.31)
    assert told(at_unigram, "learned") == "healthy"
    assert told(curve(300, final=2.0), "stuck") == "stuck"
    assert told(at_unigram, "undecided") == "undecided"


def test_a_run_without_a_word_has_no_label_unless_it_diverged() -> None:
    assert told(curve(300), None) is None
    assert told([math.nan] * 300, None) == "diverged"


def test_a_jump_is_told_of_a_run_that_learned_and_not_of_one_that_is_stuck() -> None:
    jumps = curve(300)
    for step in range(200, 230):
        jumps[step] += 4 + (step - 200)
    assert told(jumps, "learned") == told(jumps, "undecided") == "unstable"
    assert told(jumps, "stuck") == "stuck"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_is_divergence_at_any_step(bad: float) -> None:
    losses = curve(150)
    assert told([*losses[:2], bad, *losses[3:]]) == "diverged"
    assert told([bad]) == "diverged"
    assert told([*losses, bad]) == "diverged"


def test_a_final_rise_above_ln_v_or_above_the_best_is_divergence() -> None:
    losses = curve(200)
    assert told(losses[:180] + [UNIFORM + 0.6] * 20) == "diverged"
    assert told(losses[:150] + [losses[149] + 1.3] * 50) == "diverged"
    assert told([UNIFORM, *(UNIFORM + 100.0 * step for step in range(20))]) == "diverged"


def test_half_a_nat_above_ln_v_is_the_edge_of_divergence() -> None:
    assert label([6.5] * 100, uniform=6.0, learning="stuck") == "stuck"
    assert label([6.51] * 100, uniform=6.0, learning="stuck") == "diverged"


def test_an_inflated_first_loss_is_exempt_until_step_50() -> None:
    inflated = [56.0 - step for step in range(45)]
    assert told(inflated, "stuck") == "stuck"
    assert told([30.0] * 50, "stuck") == "stuck"
    assert told([30.0] * 51) == "diverged"
    assert told(inflated + curve(400)) == "healthy"


def test_a_rise_that_came_back_is_not_divergence() -> None:
    losses = curve(400)
    losses[200:230] = [UNIFORM + 3.0] * 30
    assert told(losses) == "unstable"


def test_one_percent_of_spikes_is_unstable() -> None:
    losses = curve(400)
    for step in (200, 260, 300):
        losses[step] += 4.0
    assert spikes(losses) == [201, 261, 301]
    assert told(losses) == "healthy"
    losses[340] += 4.0
    assert told(losses) == "unstable"


def test_a_jump_that_does_not_recover_counts_at_every_step() -> None:
    losses = curve(400, noise=0.02)
    losses[300:] = [loss + 0.7 for loss in losses[300:]]
    assert len(spikes(losses)) == 100
    assert told(losses) == "unstable"


def test_noise_without_a_spike_counts_none() -> None:
    assert spikes([2.0] * 50 + [2.06] + [2.0] * 10) == []
    assert spikes([2.0] * 50 + [2.08] + [2.0] * 10) == [51]
    assert spikes([2.0] * 5 + [9.0]) == []  # too few steps to know the noise


def test_a_spike_in_the_last_step_is_not_divergence() -> None:
    losses = curve(150)
    losses[-1] += 6.0
    assert told(losses) == "healthy"


def test_labels_take_numpy_and_need_a_step() -> None:
    assert label(np.array(curve(150)), uniform=UNIFORM, learning="learned") == "healthy"
    with pytest.raises(ValueError, match="at least one step"):
        final_loss([])


def test_final_and_smoothed_loss() -> None:
    assert final_loss([9.0] * 19 + [1.0, 2.0]) == 1.5
    assert math.isnan(final_loss([1.0, math.nan]))
    assert smoothing_window(10**6) == 50
    assert smooth([3.0, 1.0, 2.0, 6.0], 3) == [3.0, 2.0, 2.0, 3.0]
    assert smooth([1e300, 1.0, 1.0], 1)[2] == pytest.approx(1.0)


def test_progress_waits_but_not_for_divergence() -> None:
    def so_far(losses: list[float], steps: int) -> str | None:
        return progress_label(losses, uniform=UNIFORM, unigram=UNIGRAM, steps=steps)

    losses = curve(1000)
    assert so_far([], 1000) is None
    assert so_far(losses[:199], 1000) is None
    assert so_far(losses[:200], 1000) == "stuck"
    assert so_far(losses[:400], 1000) == "healthy"
    assert so_far([*losses[:3], math.nan], 1000) == "diverged"
    assert so_far([UNIFORM] * 20, 30) is None
    assert so_far([UNIFORM] * 30, 30) == "stuck"
    assert so_far(losses, 1000) == told(losses)


def test_noise_alone_is_not_a_falling_curve() -> None:
    falls = 0
    for seed in range(200):
        generator = random.Random(seed)
        losses = [2.0 + generator.gauss(0, 0.1) for _ in range(150)]
        falls += labels.still_falling(range(150), losses)
    assert falls <= 12  # two standard errors, one-sided: about 2.5 % of 200


def test_the_spike_score_counts_spikes_and_keeps_the_largest() -> None:
    noise = np.random.default_rng(0).normal(2.0, 0.1, 400)
    share, largest = spike_score(noise.tolist())
    assert share == 0.0
    assert largest is not None
    assert 2 < largest < 7
    noise[[100, 300]] += 5.0
    share, largest = spike_score(noise.tolist())
    assert share == 2 / 400
    assert largest is not None
    assert 25 < largest < 100
    assert spike_score([2.0] * SPIKE_MINIMUM) == (0.0, None)


def test_one_wrong_answer_of_few_is_no_spike_where_nearly_all_are_right() -> None:
    """Each of 16 targets is missed once in 500 times, at 4 nats; a jump of 2 nats stays one."""
    generator = np.random.default_rng(0)
    solved = [float(wrong) * 4 / 16 for wrong in generator.binomial(16, 0.002, 400)]
    told: dict[str, Any] = {"uniform": 3.2, "learning": "learned"}
    assert labels.label(solved, **told) == "unstable"
    assert labels.label(solved, **told, targets=16) == "healthy"
    for step in range(50, 400, 60):
        solved[step] = 2.0
    assert labels.label(solved, **told, targets=16) == "unstable"
