"""A forward pass by hand: dropout's places, what values are made from, what a pass costs."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ablate.model.position.base import PositionScheme
from ablate.model.residual import (
    DepthScaled,
    LayerScale,
    ResidualRule,
    ReZero,
    Site,
    SkipInit,
    StochasticDepth,
)
from ablate.model.transformer import Transformer, flops_per_token, summed_loss, token_loss
from tests.made_up_bench import CATALOGUE, bench, config
from tests.model.model_parts import shake, tokens


class Masks:
    """What each dropout of a model did in its last pass: 0, or 1 / (1 − p)."""

    def __init__(self, model: Transformer) -> None:
        self.kept: list[Tensor] = []
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.register_forward_hook(self.look)

    def look(self, module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        assert (inputs[0] != 0).all()
        self.kept.append((output / inputs[0]).detach())


def attention(block: Any, x: Tensor, heads: int, kv_heads: int) -> Tensor:
    """softmax(q·k / sqrt(d)) v, a few queries to each key and value, over what came before."""
    a, (batch, length, width) = block.attention, x.shape
    d = width // heads

    def split(linear: nn.Module, count: int) -> Tensor:
        y = (x @ linear.weight.T + linear.bias).view(batch, length, count, d)
        return torch.stack([y[:, :, h * count // heads] for h in range(heads)], dim=1)

    q, k, v = split(a.query, heads), split(a.key, kv_heads), split(a.value, kv_heads)
    scores = q @ k.transpose(-1, -2) / math.sqrt(d)
    scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), -math.inf)
    mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width)
    return mixed @ a.output.weight.T + a.output.bias


def norm(module: nn.Module, x: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * module.weight + (
        module.bias
    )


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_dropout_stands_on_the_embeddings_and_on_each_sublayers_output(kv_heads: int) -> None:
    changes = {"dropout": 0.4, "heads": 4, "kv_heads": kv_heads, "depth": 3}
    model = bench(config(changes, pos="none")).model.double()
    shake(model)
    masks = Masks(model)
    rows = tokens(3, 8, 23)
    logits = model.train()(rows)
    kept = iter(masks.kept)
    assert len(masks.kept) == 1 + 2 * 3
    for mask in masks.kept:
        assert 0.2 < (mask == 0).double().mean() < 0.6
        assert mask[mask != 0].allclose(torch.tensor(1 / 0.6, dtype=torch.double))
    assert len({mask.numpy().tobytes() for mask in masks.kept}) == 7
    x = model.embedding.weight[rows] * next(kept)
    for block in model.blocks:
        normed = norm(block.attention_wiring.before, x)
        x = x + attention(block, normed, 4, kv_heads) * next(kept)
        up = block.feed_forward.up(norm(block.feed_forward_wiring.before, x))
        x = x + block.feed_forward.down(F.gelu(up)) * next(kept)
    by_hand = norm(model.final_norm, x) @ model.head.weight.T
    torch.testing.assert_close(logits, by_hand)
    assert not torch.equal(model.train()(rows), logits)
    assert torch.equal(model.eval()(rows), model(rows))


@pytest.mark.parametrize("name", CATALOGUE.names("pos"))
def test_values_are_made_from_the_stream_whatever_queries_and_keys_are_made_from(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With queries of zero, and no rotation or bias, attention is the mean of what came before."""
    model = bench(config(pos=name)).model
    shake(model)
    kind = type(model.position)
    monkeypatch.setattr(kind, "rotate", PositionScheme.rotate)
    monkeypatch.setattr(kind, "bias", PositionScheme.bias)
    seen: list[tuple[Any, Tensor, Tensor]] = []
    for block in model.blocks:
        nn.init.zeros_(block.attention.query.weight)
        nn.init.zeros_(block.attention.query.bias)
        block.attention.register_forward_hook(lambda m, x, y: seen.append((m, x[0], y)))
    model.eval()(tokens(2, 8, 23))
    for attention, x, y in seen:
        values = attention.value(x)
        means = values.cumsum(1) / torch.arange(1, 9)[:, None]
        torch.testing.assert_close(y, attention.output(means), atol=1e-5, rtol=1e-4)


def test_queries_and_keys_are_made_from_what_the_scheme_says() -> None:
    model = bench(config(pos="sinusoidal_qk")).model
    made: list[Tensor] = []
    block = model.blocks[1].attention
    for linear in (block.query, block.key):
        linear.register_forward_pre_hook(lambda _, inputs: made.append(inputs[0]))
    block.register_forward_pre_hook(lambda _, inputs: made.append(inputs[0]))
    model.eval()(tokens(2, 8, 23))
    stream, query, key = made
    angles = torch.arange(8)[:, None] / 10000 ** (torch.arange(0, 16, 2) / 16)
    table = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
    torch.testing.assert_close(query - stream, table.expand(2, 8, 16), atol=1e-5, rtol=1e-4)
    assert torch.equal(query, key)


def site(layer: int = 1, depth: int = 3, sublayer: Any = "feed_forward") -> Site:
    return Site(layer, depth, sublayer, 4)


BRANCHES: list[tuple[ResidualRule, float]] = [
    (ResidualRule(site()), 1.0),
    (DepthScaled(site()), 6**-0.5),
    (DepthScaled(site(), power=1.0), 1 / 6),
    (DepthScaled(site(depth=8)), 0.25),
    (SkipInit(site()), 0.0),
    (SkipInit(site(), start=None), 6**-0.5),
    (SkipInit(site(), start=0.3), 0.3),
    (ReZero(site()), 0.0),
    (ReZero(site(), start=0.3), 0.3),
    (LayerScale(site()), 0.1),
    (LayerScale(site(depth=30)), 1e-6),
    (LayerScale(site(), start=0.3), 0.3),
    (StochasticDepth(site()).eval(), 1.0),
]


@pytest.mark.parametrize(("rule", "factor"), BRANCHES)
def test_what_a_rule_adds_at_its_start_and_what_it_trains(
    rule: ResidualRule, factor: float
) -> None:
    y, x = torch.randn(2, 5, 4), torch.randn(2, 5, 4)
    torch.testing.assert_close(rule.branch(y), factor * y)
    torch.testing.assert_close(rule.write(x, y), x + factor * y)
    assert rule.read(x) is x
    trained = isinstance(rule, SkipInit | ReZero | LayerScale)
    assert len(list(rule.parameters())) == trained


@pytest.mark.parametrize(
    ("where", "probability"),
    [((0, "attention"), 0.05), ((0, "feed_forward"), 0.1), ((3, "feed_forward"), 0.4)],
)
def test_a_dropped_branch_is_a_whole_sequences_and_its_chance_grows_by_sublayer(
    where: tuple[int, Any], probability: float
) -> None:
    rule = StochasticDepth(site(where[0], 4, where[1]), rate=0.4).train()
    torch.manual_seed(0)
    kept = rule.branch(torch.ones(4000, 3, 4))
    assert (kept == kept[:, :1, :1]).all()
    values = kept[:, 0, 0]
    assert values[values != 0].unique().tolist() == pytest.approx([1 / (1 - probability)])
    deviation = math.sqrt(probability * (1 - probability) / 4000)
    assert abs((values == 0).float().mean().item() - probability) < 4 * deviation


def test_losses_are_sums_and_means_over_targets_alone() -> None:
    logits = torch.randn(3, 5, 7)
    targets = torch.randint(7, (3, 5))
    targets[0, 1:] = targets[2] = -100
    logs = logits.double().log_softmax(-1)
    places = [(r, c) for r in range(3) for c in range(5) if targets[r, c] >= 0]
    total = -sum(logs[r, c, targets[r, c]].item() for r, c in places)
    assert len(places) == 6
    assert summed_loss(logits, targets).item() == pytest.approx(total, rel=1e-5)
    assert token_loss(logits, targets).item() == pytest.approx(total / 6, rel=1e-5)


@pytest.mark.parametrize("pos", ["rope", "learned"])
@pytest.mark.parametrize("tied", [False, True])
def test_what_a_step_costs_a_token_is_counted_by_hand(tied: bool, pos: str) -> None:
    changes = {"tied": tied, "kv_heads": 1, "depth": 3, "seq_len": 10}
    model = bench(config(changes, pos=pos)).model
    maps = 16 * 16 + 16 * 8 + 16 * 8 + 16 * 16 + 2 * 16 * 64
    biases = 16 + 8 + 8 + 16 + 64 + 16
    dense = 3 * (maps + biases + 4 * 16) + 2 * 16 + 23 * 16
    assert flops_per_token(model) == 6 * dense + 12 * 3 * 16 * 10
