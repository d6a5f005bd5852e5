"""Decoder and encoder, padding, grouped heads, norms on queries and keys."""

import pytest
import torch

from ablate.errors import UserError
from ablate.model.cache import Cache
from ablate.model.position.bias import Alibi
from ablate.model.position.rotary import Rope
from ablate.model.transformer import count_parameters
from tests.model.model_parts import build, copy_equal_names, names, shake, tokens

PADDING = torch.tensor([[False] * 9 + [True] * 3, [False] * 12])


def test_an_encoder_sees_both_ways_and_a_decoder_does_not() -> None:
    for causal in (True, False):
        model = build(causal=causal)
        changed = tokens().clone()
        changed[:, 8] += 1
        moved = (model(changed % 11) - model(tokens())).abs().amax(dim=(0, 2)) > 0
        assert moved[8:].all()
        assert moved[:8].all() != causal


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("position", [Rope, Alibi])
@pytest.mark.parametrize("norm", ["pre", "post", "hybrid"])
def test_padding_does_not_reach_real_tokens(norm: str, position: type, causal: bool) -> None:
    model = build(norm, causal=causal, position=position, dtype=torch.float64)
    text = tokens()
    logits = model(text, padding=PADDING)
    other = torch.where(PADDING, (text + 3) % 11, text)
    assert torch.equal(model(other, padding=PADDING)[~PADDING], logits[~PADDING])
    short = model(text[:1, :9])
    assert torch.allclose(logits[:1, :9], short, atol=1e-12)
    assert not torch.allclose(model(text)[0, :9], logits[0, :9]) or causal


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("position", [Rope, Alibi])
def test_left_padding_gives_no_nan(position: type, causal: bool) -> None:
    """The first tokens of a left-padded causal row may look at nothing but themselves."""
    padding = PADDING.flip(1)
    model = build(causal=causal, position=position)
    logits = model(tokens(), padding=padding)
    logits[~padding].sum().backward()
    assert logits.isfinite().all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_padding_covers_the_cache() -> None:
    model = build(position=Rope, dtype=torch.float64)
    padding = torch.tensor([[True] * 2 + [False] * 10, [False] * 12])
    full = model(tokens(), padding=padding)
    cache = Cache.empty(2)
    parts = [
        model(tokens()[:, a:b], cache, padding=padding[:, :b]) for a, b in ((0, 7), (7, 8), (8, 12))
    ]
    assert torch.allclose(torch.cat(parts, dim=1), full, atol=1e-12)


def test_masked_batch_norm_learns_nothing_from_padding() -> None:
    text, padding = tokens(), PADDING
    for norm_layer, blind in (("masked_batchnorm", True), ("batchnorm", False)):
        models = [build("pre", norm_layer=norm_layer, causal=False).train() for _ in range(2)]
        outs = [
            model(torch.where(padding, other, text), padding=padding)[~padding]
            for model, other in zip(models, (text, (text + 5) % 11), strict=True)
        ]
        statistics = [m.blocks[0].attention_wiring.before.running_mean for m in models]
        assert torch.allclose(outs[0], outs[1], atol=1e-6) == blind
        assert torch.allclose(*statistics) == blind


def test_masked_batch_norm_forgets_the_padding_of_the_last_pass() -> None:
    model = build("pre", norm_layer="masked_batchnorm", causal=False).train()
    model(tokens(), padding=PADDING)
    model(tokens(batch=3, length=5))
    assert model.blocks[0].attention_wiring.before.valid is None


def test_masked_batch_norm_with_one_real_token_stays_finite() -> None:
    model = build("pre", norm_layer="masked_batchnorm", causal=False).train()
    padding = torch.ones(1, 4, dtype=torch.bool)
    padding[0, 0] = False
    assert model(tokens(1, 4), padding=padding).isfinite().all()
    assert all(buffer.isfinite().all() for buffer in model.buffers())


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_grouped_heads_equal_full_heads_with_repeated_rows(kv_heads: int) -> None:
    sizes = {"width": 16, "heads": 4, "position": Rope, "dtype": torch.float64}
    grouped, full = build(kv_heads=kv_heads, **sizes), build(**sizes)
    shake(grouped)
    full.load_state_dict(
        {
            name: repeat_rows(value, 4 // kv_heads)
            if ".attention.key." in name or ".attention.value." in name
            else value
            for name, value in grouped.state_dict().items()
        }
    )
    assert torch.allclose(grouped(tokens()), full(tokens()), atol=1e-12)
    fewer = 2 * 2 * (16 + 1) * 4 * (4 - kv_heads)
    assert count_parameters(full) - count_parameters(grouped) == fewer


def repeat_rows(rows: torch.Tensor, times: int) -> torch.Tensor:
    """Each head's four rows `times` times, side by side."""
    return rows.unflatten(0, (-1, 4)).repeat_interleave(times, dim=0).flatten(0, 1)


def test_a_grouped_cache_holds_the_few_heads() -> None:
    model, cache = build(kv_heads=1), Cache.empty(2)
    model(tokens(), cache)
    assert cache.layers[0].keys.shape == (2, 1, 12, 4)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"heads": 3}, "heads=3: must divide width=8; the nearest is"),
        ({"heads": 0}, "heads=0: must divide"),
        ({"kv_heads": 3}, "kv_heads=3: must divide heads=2; allowed are 1, 2"),
        ({"kv_heads": 0}, "kv_heads=0"),
    ],
)
def test_heads_that_do_not_divide_are_refused(sizes: dict[str, int], message: str) -> None:
    with pytest.raises(UserError, match=message):
        build(**sizes)


@pytest.mark.parametrize("norm", sorted(set(names("norm")) - {"hybrid", "ngpt"}))
def test_qk_norm_bounds_the_scores_and_is_off_by_default(norm: str) -> None:
    model = build((norm, {"qk": True}), norm_layer="rmsnorm", position=Rope)
    with torch.no_grad():
        for block in model.blocks:
            block.attention.query.weight.mul_(1e4)
    q, k = {}, {}
    attention = model.blocks[0].attention
    attention.query_norm.register_forward_hook(lambda m, i, out: q.update(out=out))
    attention.key_norm.register_forward_hook(lambda m, i, out: k.update(out=out))
    model(tokens())
    scores = q["out"] @ k["out"].transpose(-1, -2) * 4**-0.5
    assert scores.abs().max() <= 4**0.5 + 1e-4
    plain = build(norm)
    assert type(plain.blocks[0].attention.query_norm) is torch.nn.Identity


def test_qk_norm_leaves_a_model_of_unit_queries_and_keys() -> None:
    """With qk the scores do not change with the length of W_q, without they do."""
    for qk in (True, False):
        model = build(("pre", {"qk": qk}), bias=False, norm_layer="rmsnorm", dtype=torch.float64)
        before = model(tokens())
        model.blocks[0].attention.query.weight.data.mul_(5)
        assert torch.allclose(model(tokens()), before, atol=1e-4) == qk


def test_hybrid_norms_queries_keys_and_values() -> None:
    for qk in (True, False):
        attention = build(("hybrid", {"qk": qk})).blocks[0].attention
        norms = (attention.query_norm, attention.key_norm, attention.value_norm)
        kinds = [type(norm).__name__ for norm in norms]
        assert kinds == [*["LayerNorm" if qk else "Identity"] * 2, "LayerNorm"]


def test_arms_that_differ_in_qk_norm_share_everything_else() -> None:
    with_it, without = build(("pre", {"qk": True})), build()
    copy_equal_names(without, with_it)
    names_with, names_without = set(with_it.state_dict()), set(without.state_dict())
    assert names_without < names_with
    assert {n.split(".")[-2] for n in names_with - names_without} == {"query_norm", "key_norm"}
