"""Number formats: what they round, what they must not, and what a device lacks."""

from typing import Any

import pytest
import torch
import torch.nn.functional as functional
from torch import Tensor

from ablate.build import build_model, check
from ablate.config.catalogue import Catalogue
from ablate.config.compose import Composer
from ablate.config.parts import part
from ablate.errors import UserError
from ablate.model.attention import attend
from ablate.model.init import initialise
from ablate.model.position.base import Positions
from ablate.model.position.rotary import Rope
from ablate.model.shape import Shape
from ablate.model.transformer import Transformer, token_loss
from ablate.train.precision import (
    PAYING_STEPS,
    Precision,
    check_compiler,
    check_precision,
    no_gain,
)
from tests.conftest import TINY

CPU = torch.device("cpu")
TOKENS = torch.randint(0, 256, (2, 17), generator=torch.Generator().manual_seed(0))


COMPOSER = Composer()


def composed(*words: str) -> dict[str, Any]:
    with COMPOSER.session():
        return COMPOSER.one([*TINY, *words])[0]


def model(config: dict[str, Any]) -> Transformer:
    built = build_model(config, 256, causal=True)
    initialise(built, part(config, "init")(), 0)
    return built


def logits(built: Transformer, precision: str) -> Tensor:
    torch.manual_seed(1)
    with Precision(precision, CPU).forward():
        return built(TOKENS[:, :-1])


@pytest.mark.parametrize("pos", sorted(Catalogue().names("pos")))
def test_every_position_scheme_trains_in_bf16(pos: str) -> None:
    built = model(composed(f"pos={pos}"))
    exact, rounded = logits(built, "float32"), logits(built, "bf16")
    assert rounded.dtype == torch.bfloat16
    torch.testing.assert_close(rounded.float(), exact, atol=0.05, rtol=0.05)
    loss = token_loss(rounded, TOKENS[:, 1:])
    assert loss.dtype == torch.float32
    loss.backward()
    assert {p.grad.dtype for p in built.parameters() if p.grad is not None} == {torch.float32}


@pytest.mark.parametrize("layout", ["half_split", "interleaved"])
def test_phases_are_exact_under_autocast(layout: str) -> None:
    shape = Shape(width=16, depth=1, heads=2, seq_len=64, vocabulary=5)
    scheme, at = Rope(shape, layout=layout), torch.tensor([1, 1000, 99_999])
    q = torch.randn(1, 2, 3, 8, generator=torch.Generator().manual_seed(0)).bfloat16()

    def turned(x: Tensor) -> Tensor:
        positions = Positions(at, at)
        positions.shared = scheme.prepare(positions, torch.float32)
        return scheme.rotate(x, x, positions, 0)[0]

    with Precision("bf16", CPU).forward():
        rounded = turned(q)
    assert rounded.dtype == torch.bfloat16
    assert torch.equal(rounded, turned(q.float()).bfloat16())


def masks(built: Transformer, precision: str, length: int, monkeypatch: Any) -> list[Tensor]:
    """What the attention kernel gets to add, in each layer that has a bias."""
    seen: list[Tensor] = []
    kernel = functional.scaled_dot_product_attention

    def spy(q: Tensor, k: Tensor, v: Tensor, attn_mask: Any, **more: Any) -> Tensor:
        if attn_mask is not None:
            seen.append(attn_mask.detach())
        return kernel(q, k, v, attn_mask=attn_mask, **more)

    with monkeypatch.context() as patch, Precision(precision, CPU).forward():
        patch.setattr(functional, "scaled_dot_product_attention", spy)
        built(torch.zeros(1, length, dtype=torch.long))
    return seen


@pytest.mark.parametrize(
    "pos", ["alibi", "t5", "kerple_log", "kerple_power", "fire", "fire_shared"]
)
def test_biases_by_distance_are_the_same_in_bf16(pos: str, monkeypatch: pytest.MonkeyPatch) -> None:
    built = model(composed(f"pos={pos}", "depth=4"))
    exact, rounded = (masks(built, name, 96, monkeypatch) for name in ("float32", "bf16"))
    assert len(exact) == 4
    assert all(torch.equal(a, b) for a, b in zip(exact, rounded, strict=True))


def test_alibi_in_bf16_tells_all_distances_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    built = model(composed("pos=alibi"))
    for mask in masks(built, "bf16", 1024, monkeypatch):
        assert len(mask[0, 0, -1].unique()) == 1024


@pytest.mark.parametrize("pos", ["forgetting", "cope", "shaw", "transformer_xl", "deberta"])
def test_biases_by_content_have_more_than_8_bits_in_bf16(
    pos: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = model(composed(f"pos={pos}"))
    for parameter in built.position.parameters():
        torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(0))
    for mask in masks(built, "bf16", 32, monkeypatch):
        assert mask.dtype == torch.float32
        assert not torch.equal(mask, mask.bfloat16().float())


def test_where_the_kernel_takes_one_format_it_is_that_of_the_mask() -> None:
    q = torch.randn(1, 1, 3, 8, dtype=torch.bfloat16, device="meta")
    mask = torch.zeros(1, 1, 3, 3, device="meta")
    assert attend(q, q, q, mask, causal=True, scale=1.0).dtype == torch.bfloat16


def test_tf32_is_switched_on_around_passes_alone() -> None:
    before = torch.get_float32_matmul_precision()
    with Precision("tf32", CPU).products():
        assert torch.get_float32_matmul_precision() == "high"
    assert torch.get_float32_matmul_precision() == before
    with Precision("float32", CPU).products():
        assert torch.get_float32_matmul_precision() == before


def test_what_a_device_lacks_is_told_before_anything_is_built() -> None:
    with pytest.raises(UserError, match=r"precision=tf32: needs a CUDA device.*device is cpu"):
        check(composed("precision=tf32", "device=cpu"), None)
    for name in ("float32", "bf16"):
        check_precision(name, CPU)
    with pytest.raises(UserError, match="precision=bf16: this meta device has no bfloat16"):
        check_precision("bf16", torch.device("meta"))
    with pytest.raises(UserError, match=r"precision=half: must be float32 or tf32 or bf16"):
        composed("precision=half")


def test_compile_asks_for_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(UserError, match=r"compile=true: needs a C\+\+ compiler.*no-such-compiler"):
        check(composed("compile=true", "device=cpu"), None)
    monkeypatch.setenv("CXX", "true")
    check_compiler(CPU)


def test_parts_of_unequal_size_are_refused() -> None:
    with pytest.raises(UserError, match=r"accumulate=3: must divide batch_size=4.*accumulate=2"):
        composed("accumulate=3")


@pytest.mark.parametrize(
    ("device", "asked", "named"),
    [
        ("cpu", {"compiled": True, "steps": 400}, ["compile=true"]),
        ("cpu", {"compiled": True, "steps": PAYING_STEPS}, []),
        ("cpu", {"precision": "bf16", "steps": 10**6}, ["precision=bf16"]),
        ("cpu", {"precision": "bf16", "compiled": True}, ["compile=true", "precision=bf16"]),
        ("cpu", {}, []),
        ("cuda", {"precision": "bf16", "compiled": True}, []),
    ],
)
def test_a_run_hears_of_what_will_not_make_it_faster(
    device: str, asked: dict[str, Any], named: list[str]
) -> None:
    usual: dict[str, Any] = {"precision": "float32", "compiled": False, "steps": 400}
    lines = no_gain(torch.device(device), **usual | asked)
    assert [line.split()[0] for line in lines] == named
