"""Spikes against a plain reading of their definition."""

import math

import numpy as np
import pytest

from ablate.judge.spikes import deviations, spike_score, spikes

FLOOR = 0.01


def by_definition(losses: list[float]) -> list[float]:
    """Sigmas above the mean of the 20 last steps that were no spikes, from 10 known ones on."""
    calm: list[float] = []
    told = []
    for loss in losses:
        recent = calm[-20:]
        z = math.nan
        if len(recent) >= 10:
            z = (loss - np.mean(recent)) / max(float(np.std(recent, ddof=1)), FLOOR)
        told.append(z)
        if not z > 7:
            calm.append(loss)
    return told


@pytest.mark.parametrize("seed", range(4))
def test_deviations_are_those_of_their_definition(seed: int) -> None:
    random = np.random.default_rng(seed)
    losses = 3 - np.arange(120) / 60 + random.normal(0, 0.04 + 0.1 * seed, 120)
    losses[random.integers(15, 120, 3)] += 9
    losses[100:] += 5 * (seed == 3)  # a rise that stays
    expected = by_definition(losses.tolist())
    told = deviations(losses.tolist())
    assert told == pytest.approx(expected, rel=1e-6, abs=1e-6, nan_ok=True)
    assert [math.isnan(z) for z in told[:12]] == [True] * 10 + [False] * 2
    steps = [step for step, z in enumerate(expected, 1) if z > 7]
    assert spikes(losses.tolist()) == steps
    assert len(steps) >= 2
    share, highest = spike_score(losses.tolist())
    assert share == pytest.approx(len(steps) / 120)
    assert highest == pytest.approx(np.nanmax(expected))


def test_a_step_at_exactly_seven_sigma_is_no_spike_and_noise_has_a_floor() -> None:
    calm = [1.0] * 12
    assert spikes([*calm, 1.0 + 7 * FLOOR - 1e-6]) == []
    assert spikes([*calm, 1.0 + 7 * FLOOR + 1e-6]) == [13]
