"""What every scheme of configs/pos/ keeps to; a newcomer's YAML is taken in by itself."""

import inspect
import math
import weakref
from dataclasses import replace

import pytest
import torch

from ablate.errors import UserError
from ablate.model.shape import Shape
from ablate.model.transformer import Transformer, count_parameters, token_loss
from tests.model.position.position_parts import (
    NAMES,
    SHAPE,
    at,
    class_of,
    decode,
    evaluate,
    heading_of,
    make,
    model_of,
    options_of,
    parts_of,
    scores,
    shift_positions,
    stir,
    tokens,
)

every = pytest.mark.parametrize("name", NAMES)
FACTS = {name: heading_of(name)[1] for name in NAMES}
BOTH = [name for name in NAMES if FACTS[name]["attention"] == "both"]
ENCODER = replace(SHAPE, causal=False)

UNREACHED = {
    "output_bias": "one number for all keys of a head, which softmax cancels (FIRE)",
}
"""Parameters that no gradient reaches, by the end of their name, and why."""


def limit_of(name: str, shape: Shape = SHAPE) -> int | None:
    length = FACTS[name]["length"]
    return None if length == "any" else evaluate(length, name, options_of(name), shape)


@every
def test_header_tells_everything(name: str) -> None:
    heading, facts, helps = heading_of(name)
    assert len(heading) == 3, "what it is | formula | paper"
    assert all(heading)
    assert any(year in heading[2] for year in map(str, range(1990, 2100)))
    assert {"parameters", "length", "kind", "attention"} <= set(facts)
    assert facts["kind"] in ("relative", "absolute", "none")
    assert facts["attention"] in ("causal", "both")
    assert set(helps) == set(options_of(name)), "one `# option name: ...` line for every option"
    assert all(helps.values())


@every
def test_options_are_the_constructors_keywords(name: str) -> None:
    parameters = inspect.signature(class_of(name).__init__).parameters
    keywords = {k: p for k, p in parameters.items() if p.kind is p.KEYWORD_ONLY}
    options = options_of(name)
    assert set(options) == set(keywords)
    for key, parameter in keywords.items():
        if parameter.default is not parameter.empty and not isinstance(options[key], dict):
            default = parameter.default
            assert options[key] == (list(default) if isinstance(default, tuple) else default)
    assert set(parameters) - set(keywords) == {"self", "shape"}


@every
def test_header_agrees_with_the_class(name: str) -> None:
    scheme = model_of(name).position
    assert class_of(name).causal_only == (FACTS[name]["attention"] == "causal")
    assert scheme.relative == (FACTS[name]["kind"] != "absolute")
    assert scheme.max_length == limit_of(name)
    assert class_of(name).__doc__


@every
def test_builds_at_any_size_or_says_why_not(name: str) -> None:
    built, refusals = 0, []
    for width, heads in ((16, 1), (12, 4), (15, 3), (4, 2), (24, 3)):
        for depth, seq_len, causal in ((1, 5, True), (3, 12, False), (3, 12, True)):
            shape = Shape(width, depth, heads, seq_len, 11, causal)
            try:
                model = model_of(name, shape, dtype=torch.float32)
            except UserError as error:
                refusals.append(str(error))
                continue
            built += 1
            for length in (1, seq_len):
                logits = model(tokens(1, length))
                assert logits.shape == (1, length, 11)
                assert logits.isfinite().all()
    assert built >= 3
    assert all(20 < len(why) < 240 and "\n" not in why for why in refusals)


@every
def test_an_encoder_is_built_or_refused_as_the_header_says(name: str) -> None:
    if name in BOTH:
        model_of(name, ENCODER)
    else:
        with pytest.raises(UserError, match="causal"):
            model_of(name, ENCODER)


@every
def test_parameters_are_as_the_header_says(name: str) -> None:
    for shape in (SHAPE, Shape(48, 4, 3, 10, 7)):
        extra = count_parameters(model_of(name, shape)) - count_parameters(model_of("none", shape))
        assert extra == evaluate(FACTS[name]["parameters"], name, options_of(name), shape)


def influence(model: Transformer, length: int = 7) -> torch.Tensor:
    """|d logits at i / d embedding of token j|, [i, j]."""
    text = tokens(1, length)
    embedded = model.embedding(text).detach().requires_grad_()
    handle = model.embedding.register_forward_hook(lambda *_: embedded)
    logits = model(text)
    handle.remove()
    rows = [
        torch.autograd.grad(logits[0, i].square().sum(), embedded, retain_graph=True)[0]
        for i in range(length)
    ]
    return torch.stack([row[0].norm(dim=-1) for row in rows])


@every
@pytest.mark.parametrize("training", [False, True])
def test_no_token_sees_a_later_one(name: str, training: bool) -> None:
    sizes = influence(model_of(name).train(training))
    assert (sizes.triu(1) == 0).all()
    assert (sizes.tril() > 0).logical_or(torch.ones(7, 7).triu(1) > 0).all()


@pytest.mark.parametrize("name", BOTH)
def test_in_an_encoder_every_token_sees_every_other(name: str) -> None:
    assert (influence(model_of(name, ENCODER)) > 0).all()


@every
@pytest.mark.parametrize("causal", [True, False])
def test_gradients_reach_every_parameter(name: str, causal: bool) -> None:
    if not causal and name not in BOTH:
        return
    model = model_of(name, replace(SHAPE, depth=4, causal=causal)).train()
    text = tokens(2, 41)
    token_loss(model(text[:, :-1]), text[:, 1:]).backward()
    for key, parameter in model.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.isfinite().all(), key
        if key.endswith(tuple(UNREACHED)):
            assert parameter.grad.abs().max() < 1e-12, f"{key} is reached after all"
        else:
            assert parameter.grad.abs().max() > 1e-12, key


@pytest.mark.parametrize("name", BOTH)
def test_only_no_position_is_blind_to_order(name: str) -> None:
    model = model_of(name, ENCODER)
    text = tokens(2, 9)
    order = torch.tensor([3, 1, 8, 0, 6, 2, 7, 5, 4])
    blind = torch.allclose(model(text)[:, order], model(text[:, order]), atol=1e-9)
    assert blind == (FACTS[name]["kind"] == "none")


@every
@pytest.mark.parametrize("causal", [True, False])
def test_a_common_shift_changes_absolute_schemes_alone(name: str, causal: bool) -> None:
    if not causal and name not in BOTH:
        return
    model = model_of(name, replace(SHAPE, causal=causal))
    text = tokens(2, 20)
    before = model(text)
    shift_positions(model, 40)
    change = (model(text) - before).abs().max()
    assert change < 1e-9 if model.position.relative else change > 1e-4


@every
def test_cached_decoding_gives_the_logits_of_a_full_pass(name: str) -> None:
    shape = replace(SHAPE, seq_len=24)
    model = model_of(name, shape)
    longest = shape.seq_len if model.position.whole_length else shape.seq_len + 9
    length = min(longest, model.position.max_length or longest)
    text = tokens(2, length)
    full = model(text)
    for chunks in ([1] * length, [length], [5, 1, 1, 8, length - 15]):
        torch.testing.assert_close(decode(model, text, chunks), full, atol=1e-9, rtol=0)


@every
def test_beyond_the_train_length_or_a_stated_limit(name: str) -> None:
    shape = replace(SHAPE, seq_len=8)
    model = model_of(name, shape)
    limit = limit_of(name, shape)
    longest = 8 * shape.seq_len if limit is None else limit
    assert model(tokens(1, longest)).isfinite().all()
    if limit is not None:
        with pytest.raises(UserError, match=str(limit)):
            model(tokens(1, limit + 1))
        with pytest.raises(UserError, match=str(limit)):
            decode(model, tokens(1, limit + 1), [limit, 1])


@every
def test_lengths_do_not_leave_traces(name: str) -> None:
    model = model_of(name)
    short, long = tokens(1, 5), tokens(1, 60)
    first = model(short)
    model(long)
    assert torch.equal(model(short), first)


@every
def test_state_dict_round_trip(name: str) -> None:
    model, other = model_of(name), model_of(name)
    stir(other, 1.0)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(tokens()), model(tokens()))


@every
def test_bfloat16_is_close_to_float32(name: str) -> None:
    text = tokens(2, 60)
    exact = model_of(name, dtype=torch.float32)(text)
    rounded = model_of(name, dtype=torch.bfloat16)(text)
    assert rounded.dtype == torch.bfloat16
    assert (rounded.float() - exact).abs().mean() < 0.03 * exact.std()


@every
def test_far_positions_stay_exact_in_bfloat16(name: str) -> None:
    """Phases rounded to bfloat16 would be off by whole turns at position 4000."""
    model = model_of(name, dtype=torch.bfloat16)
    if not model.position.relative or model.position.max_length:
        return
    near = model(tokens(2, 20)).float()
    shift_positions(model, 400 if name.startswith("fire") else 4000)
    assert (model(tokens(2, 20)).float() - near).abs().max() < 0.05 * near.std()


@every
def test_two_bases_of_one_size_do_not_share_a_table(name: str) -> None:
    if "base" not in options_of(name):
        return
    one, other = model_of(name, base=10000.0), model_of(name, base=50.0)
    first = one(tokens(1, 30))
    assert not torch.allclose(other(tokens(1, 30)), first)
    assert torch.equal(one(tokens(1, 30)), first)


@every
def test_no_layer_keeps_its_bias(name: str) -> None:
    """A bias over 8 train lengths is large: one at a time, or one for all layers."""
    model = model_of(name, replace(SHAPE, depth=4))
    biases: list[weakref.ref[torch.Tensor]] = []
    plain = model.position.bias

    def watched(*arguments: object) -> torch.Tensor | None:
        alive = {id(ref()) for ref in biases if ref() is not None}
        assert len(alive) <= 1
        bias = plain(*arguments)
        if bias is not None:
            biases.append(weakref.ref(bias))
        return bias

    model.position.bias = watched
    with torch.inference_mode():
        model(tokens(1, 32))
    shared = {id(ref()) for ref in biases if ref() is not None}
    assert not shared, "after the pass none is left"


@every
def test_padding_is_not_looked_at(name: str) -> None:
    for shape in (SHAPE, ENCODER):
        if not shape.causal and name not in BOTH:
            continue
        model = model_of(name, shape)
        text, other = tokens(2, 9), tokens(2, 9)
        other[:, 6:] = (other[:, 6:] + 3) % 11
        padding = torch.zeros(2, 9, dtype=torch.bool)
        padding[:, 6:] = True
        before = model(text, padding=padding)[:, :6]
        torch.testing.assert_close(model(other, padding=padding)[:, :6], before)


@every
def test_heads_may_share_keys(name: str) -> None:
    model = model_of(name, replace(SHAPE, heads=4), kv_heads=2)
    text = tokens(2, 12)
    torch.testing.assert_close(decode(model, text, [7, 5]), model(text), atol=1e-9, rtol=0)


@every
def test_training_and_evaluation_agree_on_the_gradient_free_pass(name: str) -> None:
    """Only a scheme that says so behaves otherwise in training."""
    if name == "randomized":
        return
    model = model_of(name)
    assert torch.equal(model.train()(tokens()), model.eval()(tokens()))


@every
def test_every_random_parameter_is_drawn_from_the_seed(name: str) -> None:
    states = []
    for noise in (1, 2):
        torch.manual_seed(noise)
        states.append(model_of(name, stirred=0.0).state_dict())
    for key, value in states[0].items():
        assert torch.equal(value, states[1][key]), key


@every
def test_scores_are_not_blown_up_at_the_start(name: str) -> None:
    """The untrained model is unsure, whatever the scheme: its loss is near that of a guess."""
    model = model_of(name, dtype=torch.float32, stirred=0.0)
    text = tokens(8, 41)
    excess = token_loss(model(text[:, :-1]), text[:, 1:]) - math.log(SHAPE.vocabulary)
    assert abs(excess) < 0.5


@every
def test_builds_without_memory(name: str) -> None:
    """A whole grid is checked on the meta device before any of it runs."""
    with torch.device("meta"):
        model = Transformer(SHAPE, parts_of(name, SHAPE))
    assert all(parameter.is_meta for parameter in model.parameters())


@every
def test_the_last_queries_score_as_in_a_full_square(name: str) -> None:
    scheme = make(name).double()
    q, k = torch.randn(2, 2, 9, 16, dtype=torch.float64)
    x = torch.randn(9, 32, dtype=torch.float64)
    places = list(range(1, 10))
    full = scores(scheme, q, k, at(places, places), x, layer=1)[:, 6:]
    last = scores(scheme, q[:, 6:], k, at(places[6:], places), x, layer=1)
    visible = torch.tensor(places)[None, :] <= torch.tensor(places[6:])[:, None]
    torch.testing.assert_close(last[:, visible], full[:, visible], atol=1e-12, rtol=1e-12)
