"""One choice with a certain setting is another choice."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ablate.model.placement.sphere import SphereNorm
from ablate.model.position.base import Positions, PositionScheme
from ablate.model.transformer import Transformer, count_parameters
from tests.model.model_parts import build, copy_equal_names, names, shake, tokens

SAME: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"norm": ("deepnorm", {"alpha": 1.0, "beta": 1.0})}, {"norm": "post"}),
    ({"norm": ("admin", {"omega": 1.0})}, {"norm": "post"}),
    ({"norm": ("mix_ln", {"share": 0.0})}, {"norm": "pre"}),
    ({"norm": ("mix_ln", {"share": 1.0})}, {"norm": ("post", {"final": True})}),
    ({"norm": ("peri", {"embedding": False})}, {"norm": "sandwich"}),
    ({"norm": "layernorm_scaling", "depth": 1}, {"norm": "pre", "depth": 1}),
    ({"norm": ("pre", {"final": False}), "norm_layer": "none"}, {"norm": "none"}),
    ({"norm": "sandwich", "norm_layer": "none"}, {"norm": "none"}),
    ({"residual": ("layerscale", {"start": 1.0})}, {}),
    ({"residual": ("rezero", {"start": 1.0})}, {}),
    ({"residual": ("skipinit", {"start": 1.0})}, {}),
    ({"residual": ("depth_scaled", {"power": 0.0})}, {}),
    ({"residual": "stochastic_depth"}, {}),
    ({"residual": "hyper_connections"}, {}),
    ({"residual": "hyper_connections", "norm": ("pre", {"final": False})},
     {"norm": ("pre", {"final": False})}),
    ({"residual": ("hyper_connections", {"dynamic": False, "streams": 2}), "norm": "sandwich"},
     {"norm": "sandwich"}),
    ({"residual": ("gated", {"start": 40.0, "coupled": False})}, {}),
    ({"residual": ("gated", {"start": 40.0})}, {"residual": "off"}),
    ({"norm_layer": "masked_batchnorm"}, {"norm_layer": "batchnorm"}),
    ({"kv_heads": 2}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME, ids=lambda cell: str(cell))
def test_the_same_at_the_start(one: dict[str, Any], other: dict[str, Any]) -> None:
    first, second = build(**one, dtype=torch.float64), build(**other, dtype=torch.float64)
    assert torch.allclose(first(tokens()), second(tokens()), rtol=0, atol=1e-12)


def test_the_comparison_can_fail() -> None:
    for choice in ({"norm": "deepnorm"}, {"norm": "admin"}, {"residual": "layerscale"}):
        post_or_pre = "post" if "norm" in choice else "pre"
        assert not torch.allclose(
            build(**choice)(tokens()), build(post_or_pre)(tokens()), atol=1e-3
        )


@pytest.mark.parametrize("norm", ["none", "pre", "sandwich", "branch_post", "sub_ln"])
@pytest.mark.parametrize("residual", ["rezero", "skipinit"])
def test_a_factor_of_zero_is_the_identity(norm: str, residual: str) -> None:
    model = build(norm, residual, depth=3)
    expected = model.head(model.final_norm(model.embedding(tokens())))
    assert torch.equal(model(tokens()), expected)


@pytest.mark.parametrize("rate", [0.0, 0.9])
def test_stochastic_depth_is_on_at_rate_0_and_in_evaluation(rate: float) -> None:
    cell = ("stochastic_depth", {"rate": rate})
    model, plain = build(residual=cell, depth=4), build(depth=4)
    assert torch.equal(model(tokens()), plain(tokens()))
    same_in_training = torch.equal(model.train()(tokens()), plain.train()(tokens()))
    assert same_in_training == (rate == 0.0)


def test_stochastic_depth_drops_whole_sequences_and_keeps_the_mean() -> None:
    rule = (
        build(residual=("stochastic_depth", {"rate": 0.5})).blocks[1].feed_forward_wiring.residual
    )
    rule.train()
    torch.manual_seed(0)
    out = rule.branch(torch.ones(4000, 3, 5))
    per_sequence = out.flatten(1)
    assert set(per_sequence.unique().tolist()) == {0.0, 2.0}
    assert (per_sequence == per_sequence[:, :1]).all()
    assert per_sequence.mean().item() == pytest.approx(1.0, abs=0.05)


def test_stochastic_depth_grows_in_a_line() -> None:
    model = build(residual=("stochastic_depth", {"rate": 0.4}), depth=2)
    rows = [w for b in model.blocks for w in (b.attention_wiring, b.feed_forward_wiring)]
    assert [row.residual.probability for row in rows] == pytest.approx([0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize(
    ("depth", "start"), [(1, 0.1), (18, 0.1), (19, 1e-5), (24, 1e-5), (25, 1e-6)]
)
def test_layerscale_starts_by_depth(depth: int, start: float) -> None:
    scale = build(residual="layerscale", depth=depth).blocks[0].attention_wiring.residual.scale
    assert scale.tolist() == pytest.approx([start] * 8)


def test_dual_stream_without_norm_is_twice_the_plain_stream() -> None:
    model, plain = build("residual_dual", norm_layer="none"), build("none")
    assert torch.allclose(model(tokens()), 2 * plain(tokens()), atol=1e-5)


def test_b2t_differs_from_post_by_the_block_input_alone() -> None:
    model, post = build("b2t", depth=1), build("post", depth=1)
    x = model.embedding(tokens())
    block, plain = model.blocks[0], post.blocks[0]
    h = block.attention_wiring.write(x, torch.zeros_like(x))[0]
    assert torch.equal(h, plain.attention_wiring.write(x, torch.zeros_like(x)))
    after, y = plain.feed_forward_wiring.after, torch.randn(x.shape)
    assert torch.allclose(block.feed_forward_wiring.write((h, x), y), after(x + h + y), atol=1e-6)


def test_hyper_connections_take_their_streams_in_turn() -> None:
    model = build(residual=("hyper_connections", {"streams": 3, "dynamic": False}), depth=2)
    rows = [w for b in model.blocks for w in (b.attention_wiring, b.feed_forward_wiring)]
    assert [row.residual.mixing.take.argmax().item() for row in rows] == [0, 1, 2, 0]


def test_hyper_connections_static_equation() -> None:
    """X'_j = Σ_i K_ij X_i + B_j F, by loops."""
    model = build(residual=("hyper_connections", {"streams": 3, "dynamic": False}))
    shake(model, 0.5)
    rule = model.blocks[0].attention_wiring.residual
    state, y = torch.randn(3, 2, 4, 8), torch.randn(2, 4, 8)
    m = rule.mixing
    assert torch.allclose(rule.read(state), sum(m.take[i] * state[i] for i in range(3)), atol=1e-5)
    for j in range(3):
        expected = sum(m.keep[i, j] * state[i] for i in range(3)) + m.give[j] * y
        assert torch.allclose(rule.write(state, y)[j], expected, atol=1e-5)


def test_hyper_connections_dynamic_equation() -> None:
    """The same with coefficients s · tanh(N(X_i) W) more, by loops."""
    model = build(residual="hyper_connections")
    shake(model, 0.5)
    rule = model.blocks[0].attention_wiring.residual
    state, y = torch.randn(4, 2, 3, 8), torch.randn(2, 3, 8)
    m, n = rule.mixing, 4
    normed = nn.functional.layer_norm(state, (8,))

    def moved(i: int, weight: Tensor, scale: Tensor) -> Tensor:
        return (scale * torch.tanh(normed[i] @ weight))[..., None]

    read = sum(
        (m.static.take[i] + moved(i, m.take_map[0], m.mixing_scale)) * state[i] for i in range(n)
    )
    assert torch.allclose(rule.read(state), read, atol=1e-5)
    for j in range(n):
        carried = sum(
            (m.static.keep[i, j] + moved(i, m.keep_map[j], m.mixing_scale)) * state[i]
            for i in range(n)
        )
        added = (m.static.give[j] + moved(j, m.give_map[0], m.giving_scale)) * y
        assert torch.allclose(rule.write(state, y)[j], carried + added, atol=1e-5)


class AddedAtEveryBlock(PositionScheme):
    """Adds sin(position) to the stream's first feature at each block's entry."""

    def enter_block(self, x: Tensor, positions: Positions, layer: int) -> Tensor:
        first = torch.eye(x.shape[-1], dtype=x.dtype)[0]
        return x + (layer + 1) * positions.query[:, None].to(x.dtype).sin() * first


@pytest.mark.parametrize("residual", ["hyper_connections", "on"])
def test_a_scheme_that_enters_blocks_reaches_every_stream(residual: str) -> None:
    model = build(residual=residual, position=AddedAtEveryBlock, dtype=torch.float64)
    plain = build(position=AddedAtEveryBlock, dtype=torch.float64)
    assert torch.allclose(model(tokens()), plain(tokens()), atol=1e-12)
    assert not torch.allclose(plain(tokens()), build(dtype=torch.float64)(tokens()), atol=1e-3)


@pytest.mark.parametrize("norm", names("norm"))
def test_a_scheme_that_enters_blocks_works_in_every_placement(norm: str) -> None:
    changed = build(norm, position=AddedAtEveryBlock)(tokens())
    assert changed.isfinite().all()
    assert not torch.allclose(changed, build(norm)(tokens()), atol=1e-4)


@pytest.mark.parametrize("width", [32, 64, 96, 128, 200, 512])
def test_swiglu_has_the_parameters_of_gelu(width: int) -> None:
    gated, plain = (
        count_parameters(build(feed_forward=kind, width=width, depth=1).blocks[0].feed_forward)
        for kind in ("swiglu", "gelu")
    )
    assert gated == pytest.approx(plain, rel=0.01)


def test_feed_forwards_are_their_equations() -> None:
    x = torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(0))
    for kind in names("feed_forward"):
        f = build(feed_forward=kind).blocks[0].feed_forward
        inside = {
            "gelu": lambda f=f: f.up(x) * 0.5 * (1 + torch.erf(f.up(x) / math.sqrt(2))),
            "relu": lambda f=f: f.up(x).clamp(min=0),
            "swiglu": lambda f=f: f.gate(x) * torch.sigmoid(f.gate(x)) * f.up(x),
        }
        if kind in inside:
            assert torch.allclose(f(x), f.down(inside[kind]()), atol=1e-6), kind


def sphere_states(model: Transformer) -> list[Tensor]:
    states: list[Tensor] = []
    for block in model.blocks:
        block.register_forward_pre_hook(lambda block, arguments: states.append(arguments[0]))
    model.final_norm.register_forward_pre_hook(lambda m, arguments: states.append(arguments[0]))
    model(tokens())
    return states


def test_ngpt_stays_on_the_sphere_and_steps_by_alpha() -> None:
    model = build("ngpt", dtype=torch.float64)
    for state in sphere_states(model):
        assert state.norm(dim=-1).flatten().tolist() == pytest.approx([math.sqrt(8)] * 24)
    h, y = torch.randn(2, 3, 8).double(), torch.randn(2, 3, 8).double()
    norm, row = SphereNorm(8), model.blocks[0].feed_forward_wiring
    assert torch.allclose(row.write(h, y), norm(h + 0.05 * (norm(y) - h)))


def test_ngpt_does_not_see_the_length_of_a_matrix() -> None:
    model = build("ngpt", dtype=torch.float64, bias=False)
    before = model(tokens())
    with torch.no_grad():
        for block in model.blocks:
            for module in (block.attention.query, block.attention.output, block.feed_forward.down):
                module.weight.mul_(3)
        model.head.weight.mul_(0.2)
    assert torch.allclose(model(tokens()), before, atol=1e-12)


def test_ngpt_starts_at_cosines() -> None:
    model = build("ngpt", vocabulary=31)
    assert model(tokens()).abs().max() <= 1


def test_copying_equal_names_makes_arms_comparable() -> None:
    """The same numbers in a model without and with one more norm: sub_ln at inner gains of 1."""
    model, plain = build("sub_ln", norm_layer="none"), build("none")
    copy_equal_names(plain, model)
    assert torch.allclose(model(tokens()), plain(tokens()))
