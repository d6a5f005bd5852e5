"""A batch in parts against the whole batch: the same loss, gradients and norms, to rounding."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ablate.data.tasks import IGNORED, Batch
from ablate.model.feed_forward import ReLU
from ablate.model.init import initialise
from ablate.model.normalizers import BatchNorm, LayerNorm
from ablate.model.placement.rows import Pre
from ablate.model.position.rotary import Rope
from ablate.model.recipes import TorchInit
from ablate.model.residual import ResidualRule
from ablate.model.shape import Shape
from ablate.model.transformer import Parts, Transformer, token_loss
from ablate.train.batches import goal, part, predict
from ablate.train.block_instruments import AttentionInstrument, StreamInstrument
from ablate.train.distributed import Alone
from ablate.train.gradient import Passes, split_warnings
from ablate.train.instruments import GradientNorms, norm_of
from ablate.train.precision import Precision

CPU = torch.device("cpu")
ROWS, LENGTH, VOCABULARY = 6, 8, 13


def model(*, causal: bool = True, kind: Any = LayerNorm, dropout: float = 0.0) -> Transformer:
    shape = Shape(width=8, depth=3, heads=2, seq_len=LENGTH, vocabulary=VOCABULARY, causal=causal)
    parts = Parts(Rope(shape), Pre(kind), ResidualRule, ReLU)
    built = Transformer(shape, parts, dropout=dropout)
    initialise(built, TorchInit(), 0)
    return built


def language() -> Batch:
    tokens = np.random.default_rng(0).integers(0, VOCABULARY, (ROWS, LENGTH + 1))
    return Batch(tokens[:, :-1], tokens[:, 1:])


def unequal() -> Batch:
    """Rows with 1, 0, 5, 8, 2 and 3 targets; the second is mere padding after its first token."""
    batch = language()
    counts = np.array([1, 0, 5, 8, 2, 3])
    targets = np.where(np.arange(LENGTH) < counts[:, None], batch.targets, IGNORED)
    padding = np.arange(LENGTH) >= np.maximum(counts, 1)[:, None]
    return Batch(batch.inputs, targets, padding)


BATCHES = {"lm": language, "mlm": unequal}


def passes(built: Transformer, accumulate: int, **more: Any) -> Passes:
    precision = Precision(more.pop("precision", "float32"), CPU)
    settings = {"accumulate": accumulate, "seed": 3, "compiled": False, **more}
    return Passes.of(built, Alone(), precision, **settings)


def measured(built: Transformer, accumulate: int, batch: Batch) -> dict[str, Any]:
    norms = GradientNorms(built.blocks)
    loss, inputs = passes(built, accumulate).gradient(1, batch, norms, [])
    gradients = [p.grad for p in built.parameters() if p.grad is not None]
    norms.detach()
    return {
        "loss": loss,
        "inputs": inputs,
        "parameters": norms.parameters(),
        "norm": norm_of(gradients).item(),
        "gradients": torch.cat([g.flatten() for g in gradients]),
    }


def by_hand(built: Transformer, batch: Batch) -> dict[str, Any]:
    """One pass over the whole batch with torch alone; blocks' inputs are kept by hooks."""
    built.zero_grad(set_to_none=True)
    block_inputs: list[Tensor] = []

    def keep(block: nn.Module, arguments: tuple[Any, ...]) -> None:
        arguments[0].retain_grad()
        block_inputs.append(arguments[0])

    handles = [block.register_forward_pre_hook(keep) for block in built.blocks]
    loss = token_loss(predict(built, batch, CPU), goal(batch, CPU))
    loss.backward()
    for handle in handles:
        handle.remove()
    gradients = [p.grad for p in built.parameters() if p.grad is not None]
    blocks = [[p.grad.flatten() for p in block.parameters()] for block in built.blocks]
    return {
        "loss": loss.item(),
        "inputs": [x.grad.norm().item() for x in block_inputs],
        "parameters": [torch.cat(block).norm().item() for block in blocks],
        "norm": torch.cat([g.flatten() for g in gradients]).norm().item(),
        "gradients": torch.cat([g.flatten() for g in gradients]),
    }


@pytest.mark.parametrize("accumulate", [1, 2, 3, 6])
@pytest.mark.parametrize("name", sorted(BATCHES))
def test_parts_add_up_to_the_whole_batch(name: str, accumulate: int) -> None:
    batch = BATCHES[name]()
    # Weights in float64 leave rounding to the loss alone, which is in float32 everywhere.
    whole = by_hand(model(causal=name == "lm").double(), batch)
    in_parts = measured(model(causal=name == "lm").double(), accumulate, batch)
    for key in ("loss", "inputs", "parameters", "norm"):
        assert in_parts[key] == pytest.approx(whole[key], rel=2e-6), key
    torch.testing.assert_close(in_parts["gradients"], whole["gradients"], rtol=1e-5, atol=1e-8)


def test_a_mean_of_the_parts_means_would_be_another_loss() -> None:
    batch, built = unequal(), model(causal=False)
    halves = [part(batch, i, 2) for i in range(2)]
    means = [token_loss(predict(built, h, CPU), goal(h, CPU)).item() for h in halves]
    assert abs(sum(means) / 2 - measured(built, 2, batch)["loss"]) > 1e-3


def test_parts_are_the_rows_in_order_and_draw_dropout_of_their_own() -> None:
    batch = unequal()
    rows = [part(batch, i, 3) for i in range(3)]
    assert (np.concatenate([r.inputs for r in rows]) == batch.inputs).all()
    assert (np.concatenate([r.padding for r in rows]) == batch.padding).all()
    twice = Batch(np.tile(batch.inputs[:1], (2, 1)), np.tile(language().targets[:1], (2, 1)))
    built = model(dropout=0.5)
    draws: list[Tensor] = []
    handle = built.head.register_forward_hook(lambda _, given, out: draws.append(out.detach()))
    again = passes(built, 2)
    for _ in range(2):
        again.gradient(1, twice, idle(built), [])
    handle.remove()
    assert not torch.equal(draws[0], draws[1])
    assert torch.equal(torch.stack(draws[:2]), torch.stack(draws[2:]))


def idle(built: Transformer) -> GradientNorms:
    norms = GradientNorms(built.blocks)
    norms.active = False
    return norms


def test_instruments_see_the_first_part() -> None:
    batch, built = language(), model()
    instruments = [StreamInstrument(built), AttentionInstrument(built)]
    for instrument in instruments:
        instrument.active = True
    assert passes(built, 3).gradient(1, batch, idle(built), instruments)[1] == []
    assert all(instrument.active for instrument in instruments)
    reading = instruments[0].read() | instruments[1].read()
    passes(built, 1).gradient(1, part(batch, 0, 3), idle(built), instruments)
    assert reading == instruments[0].read() | instruments[1].read()


def test_batch_norm_sees_each_part_by_itself_and_a_run_is_told_so() -> None:
    batch = language()
    assert split_warnings(model(kind=BatchNorm), 1) == []
    assert split_warnings(model(), 2) == []
    (warning,) = split_warnings(model(kind=BatchNorm), 2)
    assert "each of the 2 parts" in warning
    whole, halves = (measured(model(kind=BatchNorm), n, batch)["loss"] for n in (1, 2))
    assert whole != pytest.approx(halves, rel=1e-4)


@pytest.mark.slow
def test_compiled_passes_give_the_same_gradient_and_a_look_takes_the_plain_ones() -> None:
    # In a process of its own: torch.compile cannot see through the shape checks of the tests.
    script = Path(__file__).with_name("compiled_passes.py")
    command = [sys.executable, "-W", "ignore", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed["graphs"] == [1, 1]
    assert printed["losses"] == pytest.approx([printed["losses"][0]] * 3, rel=1e-6)
    assert printed["gradients"][1] == pytest.approx(printed["gradients"][0], rel=1e-4, abs=1e-6)
    plain, quick, looked = printed["inputs"]
    assert quick == []
    assert looked == pytest.approx(plain, rel=1e-4)
