"""What the first loss and the profiles over depth are at initialisation, for 24 blocks."""

import math
from functools import cache
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from ablate.model.position.rotary import Rope
from ablate.model.transformer import Transformer, token_loss
from tests.model.model_parts import Choice, build, part

PROSE = (
    "It was a bright cold day in April, and the clocks were striking; nobody on the stairs looked "
    "up. A researcher asks whether one choice really matters, changes that choice alone, and reads "
    "what came out with its error bars. Most of what is written about depth and warmup is true in "
    "some places and false in others; the page says where. def mean(x): return sum(x) / len(x)\n"
)
UNIFORM = math.log(256)


@cache
def bytes_of_text() -> Tensor:
    """Eight windows of 65 bytes."""
    data = torch.tensor(list((PROSE * 3).encode()))
    return torch.stack([data[i * 97 : i * 97 + 65] for i in range(8)])


def deep(
    norm: Choice,
    init: str = "torch",
    *,
    residual: Choice = "on",
    tied: bool = False,
    seed: int = 0,
) -> Transformer:
    return build(
        norm,
        residual,
        width=64,
        depth=24,
        heads=2,
        seq_len=64,
        vocabulary=256,
        position=Rope,
        recipe=part("init", init)(),
        tied=tied,
        seed=seed,
    )


@torch.no_grad()
def first_loss(norm: Choice, init: str = "torch", *, tied: bool = False) -> float:
    windows = bytes_of_text()
    losses = [
        token_loss(deep(norm, init, tied=tied, seed=seed)(windows[:, :-1]), windows[:, 1:])
        for seed in (0, 1)
    ]
    return torch.stack(losses).mean().item()


NO_FINAL: Choice = ("pre", {"final": False})


@pytest.mark.parametrize(
    ("norm", "tied", "expected", "tolerance"),
    [
        # Tied, the loss grows with how rarely a byte follows itself: indented source lies below
        # 30 and 56, prose above.
        ("pre", True, 30, 8),
        (NO_FINAL, True, 56, 10),
        ("pre", False, 5.68, 0.12),
        (NO_FINAL, False, 6.06, 0.2),
    ],
)
def test_first_loss_by_head_and_final_norm(
    norm: Choice, tied: bool, expected: float, tolerance: float
) -> None:
    assert first_loss(norm, tied=tied) == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("norm", ["pre", "post", "sandwich", "deepnorm", "ngpt", "residual_dual"])
def test_small_init_starts_near_uniform(norm: str) -> None:
    assert first_loss(norm, "gpt2") == pytest.approx(UNIFORM, abs=0.1)


def rms_over_depth(model: Transformer) -> list[float]:
    """Root mean square of the stream at each block's input."""
    sizes: list[float] = []
    for block in model.blocks:
        block.register_forward_pre_hook(
            lambda block, arguments: sizes.append(arguments[0].square().mean().sqrt().item())
        )
    with torch.no_grad():
        model(bytes_of_text()[:, :-1])
    return sizes


def test_the_stream_grows_in_pre_and_not_in_post() -> None:
    pre, post = rms_over_depth(deep("pre", "xavier")), rms_over_depth(deep("post", "xavier"))
    assert pre[-1] > 3 * pre[1]
    assert post[1:] == pytest.approx([1.0] * 23, abs=0.01)


def test_without_norm_the_stream_grows_exponentially() -> None:
    rms = rms_over_depth(deep("none", "xavier"))
    steps = [math.log(b / a) for a, b in pairwise(rms[4:])]
    assert min(steps) > 0.05


def test_layernorm_scaling_slows_the_growth() -> None:
    pre = rms_over_depth(deep("pre", "xavier"))
    scaled = rms_over_depth(deep("layernorm_scaling", "xavier"))
    assert scaled[-1] < 0.6 * pre[-1]


def gradient_ratio(norm: Choice, residual: str) -> float:
    """Norm of dLoss/dx at the input of the second block over that of the last."""
    model = deep(norm, residual=residual)
    states: list[Tensor] = []
    for block in model.blocks:
        block.register_forward_pre_hook(lambda block, arguments: states.append(arguments[0]))
    windows = bytes_of_text()
    loss = token_loss(model(windows[:, :-1]), windows[:, 1:])
    first, last = torch.autograd.grad(loss, (states[1], states[-1]))
    return (first.norm() / last.norm()).item()


def test_without_residuals_the_first_blocks_get_no_gradient() -> None:
    assert gradient_ratio("none", "off") < 1e-6
    for norm in ("pre", "none"):
        assert 0.3 < gradient_ratio(norm, "on") < 50
