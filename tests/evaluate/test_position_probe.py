"""The position probe against states whose content is known, and the regressions under it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ablate.data.lm import LanguageModelling
from ablate.data.mlm import MaskedLanguageModelling
from ablate.data.tasks import CorpusTask
from ablate.evaluate.position_probe import probe_positions, read_states, watched
from ablate.evaluate.regression import Samples, Splits, network, ridge, score
from ablate.record.evaluated import PositionProbe
from tests.data.test_tasks import corpus

LENGTH = 20
LINE = torch.arange(LENGTH)[:, None]


class Made(nn.Module):
    """Stands in for a model whose states are noise, and from layer 1 on the position too."""

    def __init__(self, position: Tensor, streams: int = 1) -> None:
        super().__init__()
        self.embedding = nn.Embedding(60, 6)
        self.blocks = nn.ModuleList([nn.Identity(), nn.Identity()])
        self.place, self.streams = position, streams

    def forward(self, tokens: Tensor, padding: Tensor | None = None) -> Tensor:
        x = self.embedding(tokens).expand(self.streams, -1, -1, -1)
        x = self.blocks[0](x if self.streams > 1 else x[0])
        return self.blocks[1](x + self.place)


def task_of() -> CorpusTask:
    # The made-up corpus counts, which would tell the position by itself.
    text = np.random.default_rng(2).integers(0, 50, 2000).astype(np.uint16)
    usual = replace(corpus(), validation=text)
    return LanguageModelling(usual, seq_len=LENGTH, batch_size=10, seed=0)


def probed(position: Tensor) -> Any:
    torch.manual_seed(0)
    return probe_positions(Made(position), task_of())  # type: ignore[arg-type]


def test_a_position_written_into_the_stream_is_read_from_there_on() -> None:
    found = probed(0.3 * LINE * torch.arange(1, 7))
    assert found.sequences == 96
    assert found.mae_of_mean == pytest.approx(LENGTH / 4)
    assert found.ridge.r2 == pytest.approx([0, 1, 1], abs=0.1)
    assert found.network.r2 == pytest.approx([0, 1, 1], abs=0.15)
    assert found.ridge.mae[2] < 0.5 < 4 < found.ridge.mae[0]
    for control in ("ridge_control", "network_control"):
        assert max(vars(found)[control].r2) < 0.1


def test_a_position_on_a_ring_is_told_by_the_network_better_than_by_a_line() -> None:
    angle = 2 * torch.pi * LINE / LENGTH
    ring = 20 * torch.cat([angle.cos(), angle.sin(), torch.zeros(LENGTH, 4)], dim=1)
    states = read_states(Made(ring), task_of())  # type: ignore[arg-type]
    assert states is not None
    splits = states.splits(2, states.places)
    assert network(splits).r2 > ridge(splits).r2 + 0.15


def test_a_layer_without_finite_numbers_is_null() -> None:
    found = probed(torch.full((LENGTH, 1), float("nan")))
    assert found.ridge.r2[2] is None
    assert found.network_control.mae[2] is None
    assert found.ridge.r2[0] is not None


def test_too_few_sequences_give_nothing() -> None:
    task = LanguageModelling(corpus(300), seq_len=LENGTH, batch_size=4, seed=0)
    assert probe_positions(Made(torch.zeros(LENGTH, 1)), task) == PositionProbe()  # type: ignore[arg-type]


def test_padding_is_not_probed_and_no_sequence_is_on_two_sides() -> None:
    task = MaskedLanguageModelling(corpus(4000), seq_len=LENGTH, batch_size=10, seed=0, padding=0.5)
    states = read_states(Made(torch.zeros(LENGTH, 1)), task)  # type: ignore[arg-type]
    assert states is not None
    real = [
        int((~row).sum())
        for batch in task.validation(10)
        if batch.padding is not None
        for row in batch.padding
    ]
    assert np.bincount(states.sequences).tolist() == real[:96]
    splits = states.splits(0, states.sequences)
    fit, choose, judged = (
        set(part.y.tolist()) for part in (splits.fit, splits.choose, splits.test)
    )
    assert fit.isdisjoint(choose | judged)
    assert choose.isdisjoint(judged)
    assert len(fit | choose | judged) == 96


def test_several_streams_stand_side_by_side() -> None:
    model = Made(torch.zeros(LENGTH, 1), streams=3)
    with watched(model) as seen:  # type: ignore[arg-type]
        model(torch.zeros(2, LENGTH, dtype=torch.long))
    assert [tuple(state.shape) for state in seen] == [(2, LENGTH, 18)] * 3
    model(torch.zeros(2, LENGTH, dtype=torch.long))
    assert len(seen) == 3, "the hooks are gone"


def samples(count: int, seed: int, weights: Tensor) -> Samples:
    x = torch.randn(count, len(weights), generator=torch.Generator().manual_seed(seed)).double()
    return Samples(5 * x + 3, x @ weights + 7)


def test_ridge_finds_a_linear_law_and_shrinks_where_there_is_none() -> None:
    law, none = torch.tensor([1.0, -2.0, 0.5]).double(), torch.zeros(40).double()
    splits = Splits(*(samples(50, seed, law) for seed in range(3)))
    assert ridge(splits).r2 == pytest.approx(1, abs=1e-6)
    noise = [samples(50, seed, none) for seed in range(3)]
    labels = torch.randn(3, 50, generator=torch.Generator().manual_seed(9)).double()
    told = Splits(*(Samples(part.x, y) for part, y in zip(noise, labels, strict=True)))
    assert -0.3 < ridge(told).r2 < 0.1


def test_the_network_is_the_same_every_time_and_leaves_the_global_generator() -> None:
    splits = Splits(*(samples(60, seed, torch.ones(3).double()) for seed in range(3)))
    before = torch.random.get_rng_state()
    first = network(splits)
    torch.manual_seed(5)
    assert network(splits) == first
    assert first.r2 > 0.9
    torch.random.set_rng_state(before)


def test_the_mean_scores_zero() -> None:
    y = torch.tensor([0.0, 4.0])
    assert score(y, torch.full((2,), 2.0)).r2 == 0
    assert score(y, torch.tensor([4.0, 0.0])).r2 == -3
