"""What instruments read, by hand, and that they change nothing."""

import math
from typing import Any

import pytest
import torch

from ablate.model.feed_forward import ReLU
from ablate.model.init import initialise
from ablate.model.normalizers import BatchNorm, LayerNorm
from ablate.model.placement.rows import NoPlacement, Pre
from ablate.model.position.base import NoPosition
from ablate.model.position.bias import Alibi
from ablate.model.position.t5 import T5
from ablate.model.recipes import TorchInit
from ablate.model.residual import NoResidual, ResidualRule
from ablate.model.shape import Shape
from ablate.model.transformer import Parts, Transformer, token_loss
from ablate.train.block_instruments import (
    AttentionInstrument,
    Instrument,
    LogitInstrument,
    StreamInstrument,
    WeightInstrument,
)
from ablate.train.instruments import cosine, likeness, slope

SHAPE = Shape(width=8, depth=3, heads=2, seq_len=6, vocabulary=11)
TOKENS = torch.randint(0, 11, (4, 7), generator=torch.Generator().manual_seed(0))


def model(
    scheme: Any = NoPosition, residual: Any = ResidualRule, placement: Any = Pre
) -> Transformer:
    parts = Parts(scheme(SHAPE), placement(LayerNorm), residual)
    built = Transformer(SHAPE, parts)
    initialise(built, TorchInit(), 0)
    return built


def pass_through(built: Transformer) -> None:
    token_loss(built(TOKENS[:, :-1]), TOKENS[:, 1:]).backward()


def read(instrument: Instrument, built: Transformer) -> dict[str, Any]:
    instrument.active = True
    pass_through(built)
    return instrument.read()


def test_the_stream_of_a_plain_stack_by_hand() -> None:
    built = model()
    inputs, outputs, branches = [], [], []

    def keep(block: Any, arguments: Any, out: Any) -> None:
        inputs.append(arguments[0])
        outputs.append(out)

    for block in built.blocks:
        block.register_forward_hook(keep)
        block.attention.register_forward_hook(lambda _, arguments, out: branches.append(out))
    reading = read(StreamInstrument(built), built)
    for layer in range(3):
        x, y = inputs[layer].detach(), outputs[layer].detach()
        size = branches[layer].detach().square().mean().sqrt().item()
        assert reading["stream_rms"][layer] == pytest.approx(
            y.square().mean().sqrt().item(), rel=1e-5
        )
        assert reading["stream_max"][layer] == pytest.approx(y.abs().max().item())
        assert reading["attention_rms"][layer] == pytest.approx(size, rel=1e-5)
        largest = branches[layer].detach().abs().max().item()
        assert reading["attention_output_max"][layer] == pytest.approx(largest)
        assert reading["attention_ratio"][layer] == pytest.approx(
            size / x.square().mean().sqrt().item(), rel=1e-5
        )
        turned = torch.nn.functional.cosine_similarity(x, y, dim=-1).mean().item()
        assert reading["block_cosine"][layer] == pytest.approx(turned, rel=1e-5)
    assert [len(v) for v in reading.values()] == [3] * 10


def test_without_residuals_tokens_become_alike() -> None:
    with_residual = read(StreamInstrument(built := model(placement=NoPlacement)), built)[
        "token_cosine"
    ]
    without_residual = read(
        StreamInstrument(built := model(residual=NoResidual, placement=NoPlacement)), built
    )["token_cosine"]
    assert without_residual[-1] > 0.99
    assert with_residual[-1] < 0.8


def test_attention_that_is_even_has_the_entropy_of_a_uniform_choice() -> None:
    built = model()
    with torch.no_grad():
        for block in built.blocks:
            block.attention.query.weight.zero_()
            block.attention.query.bias.zero_()
    reading = read(AttentionInstrument(built), built)
    even = sum(math.log(n) for n in range(1, 7)) / 6
    middle = sum((n - 1) / 2 for n in range(1, 7)) / 6
    for layer in range(3):
        assert reading["attention_entropy"][layer] == pytest.approx([even, even], rel=1e-5)
        assert reading["attention_distance"][layer] == pytest.approx([middle, middle], rel=1e-5)
        assert reading["attention_max"][layer] == [0.0, 0.0]


def test_alibis_steeper_head_looks_less_far() -> None:
    reading = read(AttentionInstrument(built := model(Alibi)), built)
    steep, flat = reading["attention_distance"][0]
    assert steep < flat


def test_scores_are_those_that_attention_uses() -> None:
    built = model(T5).eval()
    passes: list[Any] = []
    attention = built.blocks[1].attention
    attention.register_forward_hook(lambda _, arguments, out: passes.append((arguments, out)))
    with torch.no_grad():
        built(TOKENS[:, :-1])
        (x, scheme, positions, *_), out = passes[0]
        weights = attention.scores(x, scheme, positions).softmax(-1)
        values = attention.value(x).unflatten(-1, (2, 4)).transpose(1, 2)
        mixed = (weights @ values).transpose(1, 2).flatten(2)
        torch.testing.assert_close(attention.output(mixed), out)


def test_an_update_and_the_parts_of_a_gradient_by_hand() -> None:
    built = model()
    instrument = WeightInstrument(built)
    pass_through(built)
    block = built.blocks[0]
    parts = [block.attention.query, block.attention.key]
    grads = torch.cat([p.grad.flatten() for m in parts for p in m.parameters()])
    before = torch.cat([p.detach().flatten() for p in block.parameters()])
    with instrument.around_update(), torch.no_grad():
        for p in built.parameters():
            p.mul_(0.99)
    reading = instrument.read()
    assert reading["update_ratio"] == pytest.approx([0.01] * 3, rel=1e-3)
    assert reading["gradient_query_key"][0] == pytest.approx(grads.norm().item(), rel=1e-5)
    assert before.norm() > 0


KINDS = [StreamInstrument, AttentionInstrument, WeightInstrument, LogitInstrument]


@pytest.mark.parametrize("kind", KINDS)
def test_watching_changes_no_gradient_no_statistic_and_no_random_number(kind: Any) -> None:
    def build() -> Transformer:
        parts = Parts(NoPosition(SHAPE), Pre(BatchNorm, qk=True), ResidualRule, feed_forward=ReLU)
        built = Transformer(SHAPE, parts, dropout=0.2)
        initialise(built, TorchInit(), 0)
        return built

    plain, watched = build(), build()
    instrument = kind(watched)
    instrument.active = True
    for built in (plain, watched):
        torch.manual_seed(1)
        pass_through(built)
    instrument.read()
    for a, b in zip(plain.parameters(), watched.parameters(), strict=True):
        assert a.grad is None if b.grad is None else torch.equal(a.grad, b.grad)
    for a, b in zip(plain.buffers(), watched.buffers(), strict=True):
        assert torch.equal(a, b)
    instrument.detach()
    hooks = [m._forward_hooks or m._forward_pre_hooks for m in watched.modules()]
    assert not any(hooks)


def test_an_inactive_instrument_reads_nothing() -> None:
    built = model()
    instruments = [kind(built) for kind in KINDS]
    pass_through(built)
    assert [instrument.read() for instrument in instruments] == [{}] * 4


def test_measures() -> None:
    a = [torch.tensor([[1.0, 0.0], [0.0, 1.0]])]
    assert cosine(a, [2 * a[0]]) == pytest.approx(1.0)
    assert likeness(torch.ones(3, 2)) == pytest.approx(1.0)
    assert math.isnan(likeness(torch.ones(1, 2)))
    assert math.isnan(slope([1.0, 0.0]))


def test_the_scale_of_logits_by_hand() -> None:
    built = model()
    logits: list[Any] = []
    built.head.register_forward_hook(lambda module, given, out: logits.append(out.detach()))
    reading = read(LogitInstrument(built), built)
    centred = logits[0] - logits[0].mean(-1, keepdim=True)
    assert reading["logit_scale"] == pytest.approx(centred.square().mean().sqrt().item(), rel=1e-5)
    assert reading["logit_max"] == pytest.approx(logits[0].abs().max().item())


def test_a_common_shift_of_all_logits_is_no_scale() -> None:
    built = model()
    with torch.no_grad():
        built.head.weight.copy_(built.head.weight[:1].expand_as(built.head.weight))
    reading = read(LogitInstrument(built), built)
    assert reading["logit_scale"] == pytest.approx(0.0, abs=1e-6)
    assert reading["logit_max"] > 0.1
