"""What must hold for every norm placement under every residual rule, and for every norm kind."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from ablate.errors import UserError
from ablate.model.cache import Cache
from ablate.model.transformer import Transformer, token_loss
from tests.model.model_parts import build, names, shake, tokens

NEED_SUM = {"admin", "b2t", "deepnorm", "ngpt", "residual_dual"}
"""Placements that need the sum x + F."""

REFUSED = {
    "off": NEED_SUM,
    "gated": NEED_SUM,
    "hyper_connections": NEED_SUM | {"hybrid", "mix_ln", "post"},
    "depth_scaled": {"ngpt"},
    "layerscale": {"ngpt"},
    "rezero": {"ngpt"},
    "skipinit": {"ngpt"},
    "stochastic_depth": {"ngpt"},
}
"""Placements that a residual rule cannot join."""

PAIRS = list(itertools.product(names("norm"), names("residual")))
ALLOWED = [(n, r) for n, r in PAIRS if n not in REFUSED.get(r, set())]
SINGLE = [("norm_layer", n) for n in names("norm_layer")] + [
    ("feed_forward", n) for n in names("feed_forward")
]
CELLS: list[dict[str, Any]] = [
    *({"norm": n, "residual": r} for n, r in ALLOWED),
    *({group: name} for group, name in SINGLE),
    {"norm": ("pre", {"qk": True}), "kv_heads": 1},
    {"norm": ("mix_ln", {"share": 0.5})},
    {"residual": ("hyper_connections", {"dynamic": False})},
]


def label(cell: dict[str, Any]) -> str:
    return ",".join(f"{k}={v}" for k, v in cell.items())


each_cell = pytest.mark.parametrize("cell", CELLS, ids=label)


def generic(cell: dict[str, Any], **more: Any) -> Transformer:
    """The cell's model in float64 at a generic point, away from starts at 0 or 1."""
    model = build(**cell, dtype=torch.float64, **more)
    shake(model)
    return model


def embedded(model: Transformer) -> list[Tensor]:
    """Where the token embeddings of the next passes land."""
    embeddings: list[Tensor] = []
    model.embedding.register_forward_hook(lambda m, i, out: embeddings.append(out))
    return embeddings


@pytest.mark.parametrize(("norm", "residual"), [p for p in PAIRS if p not in ALLOWED])
def test_senseless_pairs_are_refused(norm: str, residual: str) -> None:
    with pytest.raises(UserError, match=r"residual: \w+ .*; use "):
        build(norm, residual, depth=4)


@each_cell
def test_no_token_sees_the_future(cell: dict[str, Any]) -> None:
    """In evaluation, where batch norm's statistics are constants; see the test after this one."""
    model = generic(cell)
    embeddings = embedded(model)
    logits = model(tokens())
    for t in (0, 5, 11):
        (gradient,) = torch.autograd.grad(
            logits[:, t].square().sum(), embeddings[0], retain_graph=True
        )
        size = gradient.abs().amax(dim=(0, 2))
        assert (size[t + 1 :] == 0).all()
        assert (size[: t + 1] > 0).all()


@pytest.mark.parametrize("norm_layer", names("norm_layer"))
def test_only_batch_statistics_see_the_future_and_only_in_training(norm_layer: str) -> None:
    model = generic({"norm_layer": norm_layer}).train()
    embeddings = embedded(model)
    (gradient,) = torch.autograd.grad(model(tokens())[:, 3].square().sum(), embeddings[0])
    sees_future = bool(gradient[:, 4:].abs().max() > 0)
    assert sees_future == (norm_layer in ("batchnorm", "masked_batchnorm"))


@each_cell
def test_gradients_reach_every_parameter(cell: dict[str, Any]) -> None:
    """At a generic point: at the start α = 0 of rezero or W = 0 of hyper-connections block some.

    A bias of the keys, or of their norm, moves all scores of a query alike, which softmax does not
    see.
    """
    model = generic(cell)
    token_loss(model(tokens()), tokens(seed=1)).backward()
    unreached = {
        name
        for name, parameter in model.named_parameters()
        if parameter.grad is None or parameter.grad.norm() < 1e-12
    }
    assert {n for n in unreached if not n.endswith(("key.bias", "key_norm.bias"))} == set()


@each_cell
def test_state_dict_round_trip(cell: dict[str, Any]) -> None:
    model, other = generic(cell), build(**cell, dtype=torch.float64, seed=1)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(tokens()), model(tokens()))


@each_cell
def test_bfloat16_stays_close_to_float32(cell: dict[str, Any]) -> None:
    model = build(**cell)
    exact = model(tokens()).detach()
    rounded = model.bfloat16()(tokens()).float()
    assert (rounded - exact).abs().max() < 0.05 * exact.abs().max()


def chunks(length: int, first: int) -> Iterator[slice]:
    yield slice(0, first)
    yield from (slice(t, t + 1) for t in range(first, length))


@each_cell
@torch.no_grad()
def test_cached_decoding_equals_the_full_pass(cell: dict[str, Any]) -> None:
    model, text = generic(cell), tokens()
    cache = Cache.empty(model.shape.depth)
    parts = [model(text[:, part], cache) for part in chunks(text.shape[1], first=5)]
    assert torch.allclose(torch.cat(parts, dim=1), model(text), rtol=0, atol=1e-10)


@each_cell
def test_the_stream_is_seen_at_each_blocks_input(cell: dict[str, Any]) -> None:
    """Instruments hook there: the block's first argument holds tensors that carry the gradient."""
    model = generic(cell)
    states: list[Any] = []
    for block in model.blocks:
        block.register_forward_pre_hook(lambda block, arguments: states.append(arguments[0]))
    loss = token_loss(model(tokens()), tokens(seed=1))
    assert len(states) == model.shape.depth
    for state in states:
        streams = state if isinstance(state, tuple) else (state,)
        gradients = torch.autograd.grad(loss, streams, retain_graph=True)
        assert all(g.abs().max() > 0 for g in gradients)
        assert all(s.shape[-3:] == (2, 12, 8) for s in streams)
