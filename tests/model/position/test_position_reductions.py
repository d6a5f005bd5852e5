"""One scheme with certain settings is another: the strongest tests there are."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from ablate.model.position.additive import embedding_factor, sinusoid_frequencies
from ablate.model.position.base import Positions, PositionScheme, causal_square
from ablate.model.position.bias import alibi_slopes
from ablate.model.position.contextual import contextual_positions
from ablate.model.position.disentangled import deberta_row
from ablate.model.position.fire import FireNetwork
from ablate.model.position.kerple import kerple_log, kerple_power
from ablate.model.position.relative import look_up
from ablate.model.position.rotary import rotary_frequencies
from ablate.model.position.rotary_scaled import ntk_base, yarn_range
from ablate.model.shape import Shape
from tests.model.position.position_parts import (
    SHAPE,
    array,
    at,
    decode,
    make,
    model_of,
    nested,
    scores,
    tokens,
)

TEXT = tokens(2, 30)


def same(one: tuple[str, dict[str, Any]], other: tuple[str, dict[str, Any]], **shape: Any) -> None:
    """Two choices give one function."""
    reshaped = replace(SHAPE, **shape)
    first, second = (model_of(name, reshaped, **options)(TEXT) for name, options in (one, other))
    torch.testing.assert_close(first, second, atol=1e-10, rtol=0)


@pytest.mark.parametrize("layout", ["interleaved", "half_split"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("rope_linear", {"factor": 1.0}),
        ("rope_ntk", {"factor": 1.0}),
        ("rope_dynamic_ntk", {"factor": 4.0}),
        ("yarn", {"factor": 1.0}),
        ("rope_partial", {"fraction": 1.0}),
        ("p_rope", {"p": 1.0}),
        ("xpos", {"scale_base": 1e15}),
        ("interleaved", {"b": nested("rope")}),
    ],
)
def test_is_rope(name: str, options: dict[str, Any], layout: str) -> None:
    if name == "interleaved":
        options = {"a": nested("rope", layout=layout), "b": nested("rope", layout=layout)}
    else:
        options = options | {"layout": layout}
    same((name, options), ("rope", {"layout": layout}))


@pytest.mark.parametrize("name", ["rope_linear", "rope_ntk", "yarn", "rope_dynamic_ntk"])
def test_a_scaling_of_evaluation_is_rope_in_training(name: str) -> None:
    options = {"factor": 3.0} | ({"original_length": 8} if name == "rope_dynamic_ntk" else {})
    rope = model_of("rope")(TEXT)
    scaled = model_of(name, **options)
    later = model_of(name, when="evaluation", **options)
    assert torch.equal(later.train()(TEXT), rope)
    assert torch.equal(later.eval()(TEXT), scaled.eval()(TEXT))
    assert not torch.allclose(scaled.train()(TEXT), rope)
    assert set(later.state_dict()) == set(model_of("rope").state_dict())


def test_p_zero_is_no_position() -> None:
    same(("p_rope", {"p": 0.0}), ("none", {}))


def test_layouts_of_rope_are_one_up_to_a_permutation() -> None:
    order = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])
    shape = replace(SHAPE, width=8, heads=1)
    q, k = torch.randn(2, 1, 5, 8, dtype=torch.float64)
    steps = at(list(range(5)), list(range(5)))
    interleaved = scores(make("rope", shape, layout="interleaved"), q, k, steps)
    half_split = scores(
        make("rope", shape, layout="half_split"), q[..., order], k[..., order], steps
    )
    torch.testing.assert_close(interleaved, half_split)


def test_the_briefs_rotations() -> None:
    x = torch.tensor([1.0, 2, 3, 4], dtype=torch.float64).reshape(1, 1, 1, 4)
    shape = Shape(4, 1, 1, 8, 11)
    for layout, want in (
        ("interleaved", [-1.14264, 1.922076, 2.959851, 4.0298]),
        ("half_split", [-1.984111, 1.959901, 2.462378, 4.0198]),
    ):
        scheme, steps = make("rope", shape, layout=layout), at([1], [1])
        steps.shared = scheme.prepare(steps, torch.float64)
        torch.testing.assert_close(
            scheme.rotate(x, x, steps, 0)[0].flatten(), array(want), atol=1e-6, rtol=0
        )


def test_constants_of_scalings() -> None:
    assert round(ntk_base(10000.0, 4.0, 64), 2) == 41829.37
    assert round(ntk_base(10000.0, 2.0, 64), 2) == 20452.23
    assert yarn_range(128, 10000.0, 2048, 32.0, 1.0, True) == (16, 41)
    yarn = make("yarn", Shape(32, 1, 1, 128, 11), factor=4.0)
    assert yarn.range[0] == 0, "clipped"
    assert round(yarn.attention_factor, 6) == 1.138629
    dynamic = make("rope_dynamic_ntk", Shape(64, 1, 1, 16, 11))
    torch.testing.assert_close(
        dynamic.spectrum(at([31], [0])), rotary_frequencies(64, 20452.2287), rtol=1e-6, atol=0
    )
    torch.testing.assert_close(dynamic.spectrum(at([15], [0])), rotary_frequencies(64))


def test_interpolation_squeezes_positions() -> None:
    """Position s·t of the scaled scheme is position t of RoPE."""
    q, k = torch.randn(2, 2, 4, 16, dtype=torch.float64)
    near, far = at([0, 1, 2, 3], [0, 1, 2, 3]), at([0, 4, 8, 12], [0, 4, 8, 12])
    torch.testing.assert_close(
        scores(make("rope_linear", factor=4.0), q, k, far), scores(make("rope"), q, k, near)
    )


def test_dynamic_ntk_past_the_train_length_follows_the_length() -> None:
    """In one layer the newest token's logits are those of a full pass; keys are turned anew."""
    shape = replace(SHAPE, seq_len=8, depth=1)
    model, text = model_of("rope_dynamic_ntk", shape), tokens(2, 20)
    cached = decode(model, text, [1] * 20)
    for length in (9, 14, 20):
        full = model(text[:, :length])[:, -1]
        torch.testing.assert_close(cached[:, length - 1], full, atol=1e-10, rtol=0)


def test_xpos_decays_with_the_distance() -> None:
    shape, steps = Shape(2, 1, 1, 8, 11), at(list(range(40)), list(range(40)))
    x = torch.ones(1, 40, 2, dtype=torch.float64)
    ratio = scores(make("xpos", shape, scale_base=8.0), x, x, steps) / scores(
        make("rope", shape), x, x, steps
    )
    want = (0.4 / 1.4) ** (steps.distance().double() / 8)
    torch.testing.assert_close(ratio[0].tril(), want.tril(), atol=1e-9, rtol=1e-9)


def test_kerple_power_of_one_is_alibi() -> None:
    steps = at(list(range(9)), list(range(9)))
    alibi = make("alibi", replace(SHAPE, heads=4)).prepare(steps, torch.float64)
    slopes, distance = array(alibi_slopes(4)), steps.distance().abs().double()
    visible = steps.distance() >= 0
    kerple = kerple_power(slopes, torch.ones(4, dtype=torch.float64), distance)
    torch.testing.assert_close(kerple[:, visible], alibi[:, visible])


def test_kerple_numbers_and_bounds() -> None:
    one, three = torch.ones(1), torch.tensor([[3.0]])
    assert round(kerple_log(one, one, three).item(), 6) == -1.386294
    assert kerple_power(one, one, three).item() == -3
    scheme = make("kerple_power", replace(SHAPE, depth=1))
    for below, above in ((-1.0, 0.01), (5.0, 2.0)):
        scheme.layers[0].r2.data.fill_(below)
        scheme.layers[0].r1.data.fill_(1)
        steps = at([3], [0])
        steps.shared = scheme.prepare(steps, torch.float64)
        got = scheme.bias(one, one, one, steps, 0)[0, 0, 0].item()
        assert math.isclose(got, -(3**above), rel_tol=1e-6)


@pytest.mark.parametrize("open_share", [0.5, 0.9])
def test_a_constant_forgetting_gate_is_alibi(open_share: float) -> None:
    shape = Shape(8, 1, 1, 16, 11)
    gate = make("forgetting", shape).double()
    gate.layers[0].weight.data.zero_()
    gate.biases[0].data.fill_(math.log(open_share / (1 - open_share)))
    q, k = torch.randn(2, 1, 6, 8, dtype=torch.float64)
    steps = at(list(range(6)), list(range(6)))
    got = scores(gate, q, k, steps, torch.randn(6, 8, dtype=torch.float64))
    want = q @ k.transpose(-1, -2) / math.sqrt(8) + math.log(open_share) * steps.distance()
    torch.testing.assert_close(got.tril(), want.tril())


def test_alibi_signs_and_slopes() -> None:
    assert alibi_slopes(6) == [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]
    assert alibi_slopes(12)[:8] == alibi_slopes(8)
    assert [round(s, 5) for s in alibi_slopes(12)[8:]] == [0.70711, 0.35355, 0.17678, 0.08839]
    steps = at([5], [0, 1, 2, 3, 4, 5])
    bias = make("alibi").prepare(steps, torch.float64)[:, 0]
    assert (bias.diff(dim=-1) > 0).all(), "nearer keys are penalised less"
    assert (bias[:, -1] == 0).all()
    learned = make("alibi", learned=True)
    torch.testing.assert_close(
        learned.log_slopes.exp(), array(alibi_slopes(2)).float(), atol=0.02, rtol=0.2
    )
    assert sum(p.numel() for p in learned.parameters()) == 2
    assert model_of("alibi", learned=True, dtype=torch.bfloat16)(TEXT).isfinite().all()


def test_one_term_alone_is_plain_attention() -> None:
    same(("deberta", {"terms": ["c2c"]}), ("none", {}))
    scheme = make("deberta")
    assert scheme.scale == pytest.approx((3 * 16) ** -0.5)
    assert make("deberta", terms=["c2p", "p2c"]).scale == 0
    assert deberta_row(torch.tensor([-4, -3, 0, 3, 4]), 4).tolist() == [0, 1, 4, 7, 7]


@pytest.mark.parametrize("terms", [["c2c"], ["c2p"], ["p2c"], ["c2p", "p2c"], ["c2c", "p2c"]])
@pytest.mark.parametrize("share", [True, False])
def test_every_choice_of_terms_is_used(terms: list[str], share: bool) -> None:
    model = model_of("deberta", terms=terms, share_projections=share)
    model(TEXT).square().sum().backward()
    for key, parameter in model.named_parameters():
        if "attention.query" in key or "attention.key" in key:
            continue  # without the content term they serve only those who borrow them
        assert parameter.grad is not None, key
        assert parameter.grad.abs().max() > 1e-9, key
    torch.testing.assert_close(decode(model, TEXT, [9, 1, 20]), model(TEXT), atol=1e-9, rtol=0)


def test_borrowed_maps_are_the_blocks() -> None:
    model = model_of("deberta", share_projections=True)
    assert model.position.maps[1]["c2p"] is model.blocks[1].attention.key
    assert not any("maps" in key for key in model.state_dict())
    names = [key for key, _ in model.named_parameters()]
    assert sum("attention.key" in key for key in names) == SHAPE.depth


def test_shaw_within_its_reach_is_a_full_table() -> None:
    small, large = make("shaw", max_distance=8), make("shaw", max_distance=20)
    large.layers[0].weight.data[12:29] = small.layers[0].weight.data
    q, k = torch.randn(2, 2, 9, 16)
    steps = at(list(range(9)), list(range(9)))
    torch.testing.assert_close(scores(small, q, k, steps).tril(), scores(large, q, k, steps).tril())


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("by_key", [True, False])
@pytest.mark.parametrize("queries", [1, 3, 6])
def test_the_shift_and_the_gather_find_the_same(causal: bool, by_key: bool, queries: int) -> None:
    key = torch.arange(6)
    steps = Positions(key[6 - queries :], key, None, causal)
    shifted = look_up(steps, lambda distance: distance, by_key=by_key)
    assert shifted.index is None
    products = shifted.rows.double().expand(1, 1, 6 if by_key else queries, -1)
    picked = shifted.pick(products)[0, 0]
    picked = picked.T if by_key else picked
    visible = causal_square(queries, 6, key.device) if causal else torch.ones(queries, 6).bool()
    assert torch.equal(picked[visible], steps.distance()[visible].double())
    spread = Positions(2 * steps.query, 2 * key, None, causal)
    gathered = look_up(spread, lambda distance: distance, by_key=by_key)
    assert gathered.index is not None
    picked = gathered.pick(gathered.rows.double().expand(1, 1, 6 if by_key else queries, -1))[0, 0]
    picked = picked.T if by_key else picked
    assert torch.equal(picked[visible], spread.distance()[visible].double())


def test_fire_numbers_and_reach() -> None:
    fire = make("fire", replace(SHAPE, depth=1))
    network = fire.layers[0]
    network.c.data.fill_(0.1)
    network.threshold_factor.data.fill_(1)
    for i, j, want in ((10, 6, 0.085073), (1000, 600, 0.804653)):
        steps = at([i], [j])
        z = network.normalised(steps.distance().double(), steps.query.double())
        assert round(z.item(), 6) == want
    far = network.normalised(torch.tensor([[4.0]]), torch.tensor([2000.0]))
    assert far.item() < network.normalised(torch.tensor([[4.0]]), torch.tensor([10.0])).item()


@pytest.mark.parametrize("name", ["fire", "fire_shared"])
def test_fire_in_parts_is_fire(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    model = model_of(name)
    want = model(TEXT)
    held: list[int] = []
    monkeypatch.setattr("ablate.model.position.fire.MOST_HIDDEN", 32 * 30 * 7)
    normalised = FireNetwork.normalised

    def watched(self: FireNetwork, distance: Tensor, query: Tensor) -> Tensor:
        held.append(distance.numel())
        return normalised(self, distance, query)

    monkeypatch.setattr(FireNetwork, "normalised", watched)
    torch.testing.assert_close(model(TEXT), want, atol=1e-12, rtol=0)
    assert max(held) == 30 * 7


def test_cope_of_zero_logits_counts_half_steps() -> None:
    gates = causal_square(5, 5, torch.device("cpu")) * 0.5
    got = contextual_positions(gates[None, None], 63)[0, 0]
    want = 0.5 * (torch.arange(5)[:, None] - torch.arange(5) + 1)
    assert torch.equal(got.tril(), want.tril())


def test_cope_starts_as_no_position() -> None:
    cope, none = (model_of(name, stirred=0.0) for name in ("cope", "none"))
    assert torch.allclose(cope(TEXT), none(TEXT))


def test_pope_constant() -> None:
    zero = torch.zeros(1, 1, 6, dtype=torch.float64)
    scheme = make("pope", Shape(6, 1, 1, 8, 11))
    scheme.layers[0].data.zero_()
    got = scores(scheme, zero, zero, at([0], [0])) / scheme.scale
    assert round(got.item() / 6, 6) == 0.480453


def test_randomized_over_as_many_positions_as_tokens_is_the_identity() -> None:
    for inner in ("rope", "learned", "sinusoidal", "transformer_xl"):
        model = model_of("randomized", inner=nested(inner), maximum=SHAPE.seq_len).train()
        text = tokens(2, SHAPE.seq_len)
        assert torch.equal(model(text), model.eval()(text))
        assert model.position.positions(SHAPE.seq_len).tolist() == list(range(1, SHAPE.seq_len + 1))


@pytest.mark.parametrize("inner", ["alibi", "rope", "t5", "shaw", "deberta", "cope", "sinusoidal"])
def test_randomized_draws_in_training_alone(inner: str) -> None:
    model = model_of("randomized", inner=nested(inner)).train()
    torch.manual_seed(3)
    first, second = model(TEXT), model(TEXT)
    torch.manual_seed(3)
    assert torch.equal(model(TEXT), first)
    assert torch.allclose(first, second) == (inner == "cope"), "CoPE alone does not read positions"
    assert torch.equal(model.eval()(TEXT), model(TEXT))
    drawn = model_of("randomized", inner=nested(inner), evaluation="drawn")
    assert torch.equal(drawn(TEXT), drawn(TEXT))


@pytest.mark.parametrize(
    "inner", ["alibi", "t5", "transformer_xl", "deberta", "fire", "kerple_log"]
)
def test_interleaved_of_one_scheme_is_that_scheme(inner: str) -> None:
    """Alike in every layer, whichever part serves it; parameters are those of the layers."""
    shape = replace(SHAPE, depth=4)
    whole = model_of(inner, shape)
    mixed = model_of("interleaved", shape, pattern="a", a=nested(inner), b=nested("alibi"))
    state = {k.replace("position.", "position.parts.0."): v for k, v in whole.state_dict().items()}
    mixed.load_state_dict(state)
    assert torch.equal(mixed(TEXT), whole(TEXT))


def test_interleaved_serves_each_layer_by_its_letter() -> None:
    served = model_of("interleaved", replace(SHAPE, depth=6), pattern="aab").position
    assert served.route == [(0, 0), (0, 1), (1, 0), (0, 2), (0, 3), (1, 1)]
    shape = replace(SHAPE, depth=4)
    text = tokens(1, 12)
    rope = model_of("interleaved", shape, pattern="ab")
    other = model_of("interleaved", shape, pattern="ba", a=nested("none"), b=nested("rope"))
    assert torch.equal(rope(text), other(text))
    assert not torch.allclose(rope(text), model_of("interleaved", shape, pattern="ba")(text))


@pytest.mark.parametrize(
    ("a", "b"), [("t5", "rope"), ("rope", "t5"), ("deberta", "t5"), ("pope", "forgetting")]
)
def test_interleaved_schemes_keep_their_own_scale(a: str, b: str) -> None:
    """Layer by layer the scores are those of the part."""
    shape = replace(SHAPE, depth=2)
    model = model_of("interleaved", shape, pattern="ab", a=nested(a), b=nested(b))
    scheme = model.position
    q, k = torch.randn(2, 2, 7, 16, dtype=torch.float64)
    x = torch.randn(7, 32, dtype=torch.float64)
    steps = at(list(range(7)), list(range(7)))
    for layer in (0, 1):
        whole = scores(scheme, q, k, steps, x, layer)
        part: PositionScheme = scheme.parts[layer]
        alone = scores(part, q, k, at(list(range(7)), list(range(7))), x, 0)
        torch.testing.assert_close(whole.tril(), alone.tril(), atol=1e-12, rtol=1e-12)
    model(TEXT).sum().backward()
    torch.testing.assert_close(decode(model, TEXT, [10, 20]), model(TEXT), atol=1e-9, rtol=0)


def test_factor_on_embeddings_follows_the_init() -> None:
    small, unit = replace(SHAPE, embedding_std=32**-0.5), SHAPE
    assert embedding_factor(small, True) == math.sqrt(32)
    assert embedding_factor(small, False) == embedding_factor(unit, True) == 1
    model = model_of("sinusoidal", small)
    assert model.position.factor == math.sqrt(32)


def test_exponent_slip_halves_the_band() -> None:
    right, slip = sinusoid_frequencies(8), sinusoid_frequencies(8, exponent_slip=True)
    torch.testing.assert_close(slip, right.sqrt())


@pytest.mark.parametrize("place", ["before", "after"])
def test_embedding_norm_stands_where_it_says(place: str) -> None:
    scheme = make("sinusoidal", embedding_norm=place)
    for norm in (scheme.before, scheme.after):
        for parameter in norm.parameters():
            parameter.data.fill_(1.0 if parameter is norm.weight else 0.0)
    steps = at(list(range(5)), list(range(5)))
    steps.shared = table = scheme.prepare(steps, torch.float32)
    x = torch.randn(2, 5, 32)
    plain = torch.nn.functional.layer_norm
    want = plain(x, (32,)) + table if place == "before" else plain(x + table, (32,))
    torch.testing.assert_close(scheme.embed(x, steps), want)


def test_concatenated_keeps_the_width_and_the_token_first() -> None:
    scheme = make("concatenated", position_width=5)
    steps = at([3, 4], [3, 4])
    steps.shared = scheme.prepare(steps, torch.float32)
    x = torch.randn(2, 2, 32)
    out = scheme.embed(x, steps)
    assert torch.equal(out[..., :27], x[..., :27])
    assert torch.equal(out[0, :, 27:], out[1, :, 27:])
    assert not torch.equal(out[0, 0, 27:], out[0, 1, 27:])
