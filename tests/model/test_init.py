"""Initialisation: recipes by role, gains by depth, numbers paired by name."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn

from ablate.model.init import first_tokens, initialise, named_generator
from ablate.model.placement.depth import one_stack
from ablate.model.projection import Projection
from ablate.model.recipes import GPT2Init, TorchInit
from ablate.model.transformer import Transformer, count_parameters
from tests.model.model_parts import build, class_of, names, part, tokens

WIDE = {"width": 64, "depth": 6, "heads": 2, "vocabulary": 97}


def std_by_role(model: Transformer) -> dict[str, float]:
    """Root mean square of the weights of each role, over the whole model."""
    squares: dict[str, list[torch.Tensor]] = {"embedding": [model.embedding.weight.flatten()]}
    for module in model.modules():
        if isinstance(module, Projection):
            squares.setdefault(module.role, []).append(module.weight.flatten())
    return {role: torch.cat(w).square().mean().sqrt().item() for role, w in squares.items()}


def drawn(init: str, **more: object) -> dict[str, float]:
    return std_by_role(build(recipe=part("init", init)(), **(WIDE | more)))


def expect(got: dict[str, float], **expected: float) -> None:
    assert got == pytest.approx(expected, rel=0.04)


def test_torch_is_torchs_own_default() -> None:
    expect(
        drawn("torch"),
        embedding=1.0,
        **dict.fromkeys(("query", "key", "value", "output", "up", "head"), (3 * 64) ** -0.5),
        down=(3 * 256) ** -0.5,
    )
    torch.manual_seed(0)
    theirs = nn.Linear(64, 256)
    ours = build(**WIDE).blocks[0].feed_forward.up
    for a, b in ((theirs.weight, ours.weight), (theirs.bias, ours.bias)):
        assert a.std().item() == pytest.approx(b.std().item(), rel=0.1)
        assert a.abs().max().item() == pytest.approx(b.abs().max().item(), rel=0.05)


def test_gpt2() -> None:
    roles = ("embedding", "query", "key", "value", "output", "up", "down", "head")
    expect(drawn("gpt2"), **dict.fromkeys(roles, 0.02))


def test_gpt2_depth_scaled_shrinks_what_writes_to_the_stream() -> None:
    roles = ("embedding", "query", "key", "value", "up", "head")
    written = dict.fromkeys(("output", "down"), 0.02 / math.sqrt(12))
    expect(drawn("gpt2_depth_scaled"), **dict.fromkeys(roles, 0.02), **written)


def test_xavier() -> None:
    square = math.sqrt(2 / 128)
    expect(
        drawn("xavier"),
        embedding=1 / 8,
        **dict.fromkeys(("query", "key", "value", "output"), square),
        up=math.sqrt(2 / 320),
        down=math.sqrt(2 / 320),
        head=math.sqrt(2 / 161),
    )


@pytest.mark.parametrize("norm", ["pre", "deepnorm", "sub_ln"])
def test_deepnorm_init_gains_once_beside_any_placement(norm: str) -> None:
    """β on values too (xformers PR 284), not on queries and keys, and never twice."""
    beta = (8 * 6) ** -0.25
    expect(
        drawn("deepnorm", norm=norm),
        embedding=1 / 8,
        query=math.sqrt(2 / 128),
        key=math.sqrt(2 / 128),
        value=beta * math.sqrt(2 / 128),
        output=beta * math.sqrt(2 / 128),
        up=beta * math.sqrt(2 / 320),
        down=beta * math.sqrt(2 / 320),
        head=math.sqrt(2 / 161),
    )


def test_small() -> None:
    roles = ("embedding", "query", "key", "value", "output", "up", "down", "head")
    expect(drawn("small"), **dict.fromkeys(roles, math.sqrt(2 / 320)))


def test_orthogonal() -> None:
    model = build(recipe=part("init", "orthogonal", gain=2.0)(), **WIDE)
    ff, attention = model.blocks[0].feed_forward, model.blocks[0].attention
    for square in (attention.query.weight, ff.up.weight.T, ff.down.weight):
        assert torch.allclose(square @ square.T, 4 * torch.eye(64), atol=1e-4)


def test_mup_scales_with_width() -> None:
    got = drawn("mup", width=256)
    roles = ("query", "key", "value", "output", "up", "down")
    expect(got, embedding=0.02, head=0.02 / 4, **dict.fromkeys(roles, 0.01))


def test_mup_at_its_base_width_is_gpt2() -> None:
    ours = build(recipe=part("init", "mup")(), **WIDE).state_dict()
    theirs = build(recipe=GPT2Init(), **WIDE).state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


@pytest.mark.parametrize("init", names("init"))
def test_biases(init: str) -> None:
    model = build(recipe=part("init", init)(), **WIDE)
    biases = [m.bias for m in model.modules() if isinstance(m, Projection) and m.bias is not None]
    assert len(biases) == 6 * 6
    assert all(bool(b.any()) == (init == "torch") for b in biases)


@pytest.mark.parametrize(
    ("norm", "gain"),
    [("deepnorm", lambda c: c.beta), ("sub_ln", lambda c: c.sub_ln_gain), ("pre", lambda c: 1.0)],
)
@pytest.mark.parametrize("depth", [2, 6])
def test_placements_ask_for_gains_by_role_and_depth(
    norm: str, gain: Callable[..., float], depth: int
) -> None:
    got = build(norm, width=8, depth=depth).state_dict()
    plain = build("post", width=8, depth=depth).state_dict()
    factor = gain(one_stack(depth))
    for name in plain:
        if name.startswith("blocks") and name.endswith("weight") and "wiring" not in name:
            gained = any(part in name for part in (".value.", ".output.", ".up.", ".down."))
            assert torch.allclose(got[name], (factor if gained else 1.0) * plain[name]), name


def test_gains_leave_gate_and_head_alone() -> None:
    gated, plain = build("deepnorm", feed_forward="swiglu"), build("post", feed_forward="swiglu")
    for name in ("head.weight", "blocks.0.feed_forward.gate.weight"):
        assert torch.equal(gated.state_dict()[name], plain.state_dict()[name])


@pytest.mark.parametrize("init", names("init"))
def test_arms_of_one_seed_share_the_numbers_of_equally_named_parts(init: str) -> None:
    recipe = part("init", init)()
    plain = build(recipe=recipe).state_dict()
    for norm, residual in (("post", "on"), ("sandwich", "layerscale"), ("none", "gated")):
        other = build(norm, residual, recipe=recipe).state_dict()
        shared = [name for name in plain if name in other]
        assert len(shared) > 20
        assert all(torch.equal(plain[name], other[name]) for name in shared)


def test_a_deeper_arm_shares_its_first_blocks() -> None:
    shallow, deep = build(depth=2).state_dict(), build(depth=4).state_dict()
    assert all(torch.equal(shallow[name], deep[name]) for name in shallow)


def test_seeds_and_modules_differ() -> None:
    one, other = build(seed=0), build(seed=1)
    assert not torch.equal(one.embedding.weight, other.embedding.weight)
    first, second = one.blocks[0].attention, one.blocks[1].attention
    assert not torch.equal(first.query.weight, second.query.weight)
    assert not torch.equal(first.query.weight, first.key.weight)


def test_initialising_takes_nothing_from_and_leaves_nothing_in_the_global_generator() -> None:
    model = build("admin", "stochastic_depth", norm_layer="batchnorm", dropout=0.5)
    for seed in (0, 1):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        initialise(model, TorchInit(), 7)
        assert torch.equal(before, torch.get_rng_state())
        state = {name: value.clone() for name, value in model.state_dict().items()}
        initialise(model, TorchInit(), 7)
        assert all(torch.equal(value, model.state_dict()[name]) for name, value in state.items())


@pytest.mark.parametrize("init", names("init"))
def test_a_tied_matrix_is_drawn_once_as_the_embedding(init: str) -> None:
    recipe = part("init", init)()
    tied, untied = build(recipe=recipe, tied=True), build(recipe=recipe)
    assert tied.head.weight is tied.embedding.weight
    assert torch.equal(tied.embedding.weight, untied.embedding.weight)
    assert count_parameters(untied) - count_parameters(tied) == 11 * 8


def test_a_linear_map_without_a_role_is_refused() -> None:
    model = build()
    model.blocks[0].feed_forward.up = nn.Linear(8, 32)
    with pytest.raises(TypeError, match="use Projection or Drawn"):
        initialise(model, TorchInit(), 0)


def test_every_recipe_tells_its_embeddings_std() -> None:
    for init in names("init"):
        recipe = class_of("init", init)()
        model = build(recipe=recipe, width=64, vocabulary=500, depth=1)
        measured = model.embedding.weight.std().item()
        assert measured == pytest.approx(recipe.embedding_std(64), rel=0.03)


def test_admin_profile_by_hand() -> None:
    """ω of sublayer i + 1 squared is Var[ω_i x_i] + Var[F_i], x_i with the ω before it set."""
    model = build("admin", dtype=torch.float64, depth=3)
    rows = [
        (sublayer, row)
        for block in model.blocks
        for sublayer, row in (
            (block.attention, block.attention_wiring),
            (block.feed_forward, block.feed_forward_wiring),
        )
    ]
    inputs: list[torch.Tensor] = []
    outputs: list[torch.Tensor] = []
    for sublayer, row in rows:
        row.skip.register_forward_hook(lambda m, i, out: inputs.append(out))
        sublayer.register_forward_hook(lambda m, i, out: outputs.append(out))
    model(first_tokens(model.shape, named_generator(0, "first pass")))
    omegas = [row.skip.weight for _, row in rows]
    assert omegas[0].tolist() == [1.0] * 8
    for i in range(5):
        expected = (inputs[i].var() + outputs[i].var()).sqrt().item()
        assert omegas[i + 1].tolist() == pytest.approx([expected] * 8, rel=1e-5)
    assert [w[0].item() for w in omegas[1:]] == sorted(w[0].item() for w in omegas[1:])


def test_admins_profile_leaves_mode_and_statistics() -> None:
    model = build("admin", norm_layer="batchnorm").train()
    initialise(model, TorchInit(), 0)
    assert model.training
    assert model.blocks[0].attention_wiring.after.running_mean.tolist() == [0.0] * 8
    assert model.eval()(tokens()).isfinite().all()
