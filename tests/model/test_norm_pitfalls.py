"""Mistakes reported in public projects, each with what must hold here."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from ablate.model.normalizers import BatchNorm, LayerNorm, MaskedBatchNorm, RMSNorm
from ablate.model.residual import ResidualRule, Site
from ablate.model.wiring import Wiring
from tests.model.model_parts import GROUPS, build, golden, names, part, tokens

X = torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(0))
SITE = Site(layer=0, depth=2, sublayer="attention", width=8)


def wire(norm: str, **options: object) -> Wiring:
    normalizer = part("norm_layer", "layernorm")
    return part("norm", norm, **options)(normalizer).wire(SITE, ResidualRule(SITE))


def bend(x: Tensor) -> Tensor:
    """Stands for F; not a line, which a norm after the sum would undo."""
    return torch.sin(3 * x)


def apply(wiring: Wiring, f: Callable[[Tensor], Tensor] = bend) -> Tensor:
    return wiring.write(X, f(wiring.read(X)))


def test_the_residual_is_taken_before_the_norm() -> None:
    """x + F(N(x)), not N(x) + F(N(x)) (burn#1056)."""
    norm = nn.functional.layer_norm(X, (8,))
    assert torch.allclose(apply(wire("pre")), X + bend(norm), atol=1e-6)


def test_alpha_stands_on_the_skip_path_not_on_the_branch() -> None:
    """DeepNorm is N(αx + F(x)) (labmlai#145)."""
    got = apply(wire("deepnorm", alpha=3.0))
    assert torch.allclose(got, nn.functional.layer_norm(3 * X + bend(X), (8,)), atol=1e-5)
    wrong = nn.functional.layer_norm(X + 3 * bend(X), (8,))
    assert not torch.allclose(got, wrong, atol=1e-2)


def test_norms_are_not_bendd() -> None:
    """Pre has no norm after the sum and post none before F (snowfall PR 184)."""
    pre, post = wire("pre"), wire("post")
    assert isinstance(pre.before, LayerNorm)
    assert {type(m) for m in (pre.branch, pre.after, pre.skip)} == {nn.Identity}
    assert isinstance(post.after, LayerNorm)
    assert {type(m) for m in (post.before, post.branch, post.skip)} == {nn.Identity}


def test_every_block_is_normed_not_only_the_first() -> None:
    """(mlx#1636, xformers PR 233): a gain of one block's norm moves that block alone."""
    for norm in ("pre", "post", "sandwich", "peri", "deepnorm", "branch_post"):
        model = build(norm, depth=3)
        moved = [p for n, p in model.named_parameters() if "wiring" in n and n.endswith("weight")]
        assert len({p.data_ptr() for p in moved}) == len(moved) >= 6


def test_unknown_names_do_not_fall_through() -> None:
    """A name without a file is no choice at all; nothing falls back to a plain block."""
    for group in GROUPS:
        with pytest.raises(FileNotFoundError):
            part(group, "layer_norm_scaled")


def test_final_norm_is_there_where_it_is_asked_for() -> None:
    for norm in set(names("norm")) - {"ngpt"}:
        for final in (True, False):
            model = build((norm, {"final": final}))
            assert isinstance(model.final_norm, LayerNorm) == final


@pytest.mark.parametrize("kind", [LayerNorm, RMSNorm])
def test_token_norms_never_mix_tokens(kind: type) -> None:
    x = X.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(kind(8)(x)[0, 1].square().sum() + kind(8)(x)[0, 1, 0], x)
    touched = gradient.abs().sum(-1) > 0
    assert touched.tolist() == [[False, True, False], [False, False, False]]


@pytest.mark.parametrize("affine", [True, False])
def test_batch_norms_equal_torchs(affine: bool) -> None:
    theirs = nn.BatchNorm1d(8, affine=affine)
    for kind in (BatchNorm, MaskedBatchNorm):
        ours, theirs = kind(8, affine=affine), nn.BatchNorm1d(8, affine=affine)
        for _ in range(2):
            expected = theirs(X.flatten(0, 1)).view(X.shape)
            assert torch.allclose(ours(X), expected, atol=1e-6)
        assert torch.allclose(ours.running_var, theirs.running_var)
        assert torch.allclose(ours.eval()(X), theirs.eval()(X.flatten(0, 1)).view(X.shape))


def test_batch_norm_remembers_through_a_checkpoint() -> None:
    model = build("pre", norm_layer="batchnorm").train()
    for seed in range(5):
        model(tokens(seed=seed))
    other = build("pre", norm_layer="batchnorm", seed=3)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other.eval()(tokens()), model.eval()(tokens()))


@pytest.mark.parametrize("kind", names("norm_layer"))
@pytest.mark.parametrize(("affine", "bias"), [(True, True), (True, False), (False, True)])
def test_affine_and_bias_are_options(kind: str, affine: bool, bias: bool) -> None:
    options = part("norm_layer", kind).keywords
    set_options = {k: v for k, v in (("affine", affine), ("bias", bias)) if k in options}
    norm = part("norm_layer", kind, **set_options)(8)
    trained = {name for name, _ in norm.named_parameters()} - {"alpha"}
    expected = {"weight"} if "affine" in set_options and affine else set()
    expected |= {"bias"} if "bias" in set_options and affine and bias else set()
    assert trained == expected
    assert norm(X).shape == X.shape


def test_eps_matters_on_tiny_rows() -> None:
    """Defaults of libraries differ: rows of size 1e-4 come out several times apart."""
    case = next(c for c in golden("norm_kinds") if c["name"] == "rms_norm_brief")
    x = 1e-4 * torch.tensor(case["inputs"]["x"])
    sizes = [RMSNorm(4, eps=eps)(x).square().mean().sqrt().item() for eps in (1e-5, 1e-6, 1e-12)]
    assert sizes == sorted(sizes)
    assert sizes[2] > 5 * sizes[0]


def test_norms_start_as_plain_norms() -> None:
    """Gains 1 and shifts 0 (some stacks store gain − 1)."""
    for kind in names("norm_layer"):
        norm = part("norm_layer", kind)(8)
        for name, parameter in norm.named_parameters():
            assert set(parameter.tolist()) == {{"weight": 1.0, "bias": 0.0, "alpha": 0.5}[name]}
