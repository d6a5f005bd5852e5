"""Norm kinds, placements and constants against independent implementations; see tests/golden."""

from dataclasses import asdict
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ablate.model.normalizers import DynamicTanh, LayerNorm, MaskedBatchNorm, RMSNorm
from ablate.model.placement.depth import one_stack
from ablate.model.transformer import Transformer, token_loss
from tests.model.model_parts import build, golden

Case = dict[str, Any]


def cases(name: str) -> Any:
    content = golden(name)
    return pytest.mark.parametrize("case", content, ids=[case["name"] for case in content])


def tensor(values: Any) -> Tensor:
    """Nested lists in float64, null as NaN."""

    def cleaned(value: Any) -> Any:
        if isinstance(value, list):
            return [cleaned(v) for v in value]
        return float("nan") if value is None else value

    return torch.tensor(cleaned(values), dtype=torch.float64)


def assert_near(got: Tensor, expected: Any, tolerance: float) -> None:
    reference = tensor(expected)
    compared = ~reference.isnan()
    assert got.shape == reference.shape
    assert (got - reference)[compared].abs().max() <= tolerance


@torch.no_grad()
def fill(module: nn.Module, values: Case) -> None:
    for name, value in values.items():
        getattr(module, name).copy_(tensor(value))


def kind_of(case: Case) -> nn.Module:
    p, i = case["params"], case["inputs"]
    match p["kind"]:
        case "layer_norm":
            return LayerNorm(p["dim"], eps=float(p["eps"]), bias="bias" in i)
        case "rms_norm":
            return RMSNorm(p["dim"], eps=float(p["eps"]))
        case "dynamic_tanh":
            return DynamicTanh(p["dim"])
        case "masked_batch_norm":
            return MaskedBatchNorm(p["dim"], eps=float(p["eps"]), momentum=p["momentum"])
    raise AssertionError(p["kind"])


@cases("norm_kinds")
def test_norm_kinds(case: Case) -> None:
    kind, inputs, expected = kind_of(case).double(), case["inputs"], case["expected"]
    settable = ("weight", "bias", "alpha", "running_mean", "running_var")
    fill(kind, {name: inputs[name] for name in settable if name in inputs})
    if offset := case["params"].get("weight_offset"):
        kind.weight.data += offset
    if "valid" not in inputs:
        assert_near(kind(tensor(inputs["x"])), expected["output"], case["atol"])
        return
    kind.valid = torch.tensor(inputs["valid"])
    assert_near(kind.train()(tensor(inputs["x"])), expected["train_output"], case["atol"])
    assert_near(kind.running_mean, expected["running_mean"], case["atol"])
    assert_near(kind.running_var, expected["running_var"], case["atol"])
    assert_near(kind.eval()(tensor(inputs["x"])), expected["eval_output"], case["atol"])


SLOT = {
    "pre": "before",
    "pre_no_final": "before",
    "no_residual_pre": "before",
    "sandwich": "before",
    "layerscale": "before",
    "sub_ln": "before",
    "layernorm_scaling": "before.0",
    "branch_post": "branch",
    "post": "after",
    "deepnorm": "after",
    "b2t": "after",
    "residual_dual": "after",
}
"""Where a placement keeps the norm that the golden file calls a sublayer's own."""

CHOICE = {
    "pre_no_final": ("pre", "on"),
    "no_residual": ("none", "off"),
    "no_residual_pre": ("pre", "off"),
    "rezero": ("none", "rezero"),
    "layerscale": ("pre", "layerscale"),
    "mix": ("mix_ln", "on"),
}
"""Norm and residual where the golden file's name is not simply a norm."""


def model_of(case: Case, depth: int) -> Transformer:
    """A model whose token t is row t of the case's x and whose head is the identity."""
    p, inputs = case["params"], case["inputs"]
    name = p["placement"]
    norm, residual = CHOICE.get(name, (name, "on"))
    options: Case = {}
    if name != "residual_dual":
        options["final"] = "final_norm_weight" in inputs
    if "alpha" in p:
        options["alpha"] = p["alpha"]
    if "post_blocks" in p:
        options["share"] = p["post_blocks"] / depth
    model = build(
        (norm, options),
        residual,
        ("layernorm", {"eps": float(p["eps"])}),
        ("gelu", {"ratio": p["ffn_dim"] / p["dim"]}),
        width=p["dim"],
        depth=depth,
        heads=p["heads"],
        vocabulary=p["dim"],
        causal=p["causal"],
        dtype=torch.float64,
    )
    with torch.no_grad():
        model.embedding.weight[: len(inputs["x"])] = tensor(inputs["x"])
        model.head.weight.copy_(torch.eye(p["dim"]))
    for layer in range(depth):
        slot = SLOT.get(name, "after" if layer < p.get("post_blocks", 0) else "before")
        fill_block(model.blocks[layer], inputs["blocks"][layer], slot)
    if "final_norm_weight" in inputs:
        final = model.final_norm
        if name == "residual_dual":
            final = model.blocks[-1].feed_forward_wiring.dual_norm
        fill(final, {"weight": inputs["final_norm_weight"], "bias": inputs["final_norm_bias"]})
    return model


def fill_block(block: nn.Module, values: Case, slot: str) -> None:
    places = {
        "query": "attention.query",
        "key": "attention.key",
        "value": "attention.value",
        "output": "attention.output",
        "ffn_in": "feed_forward.up",
        "ffn_out": "feed_forward.down",
        "attention_norm": f"attention_wiring.{slot}",
        "ffn_norm": f"feed_forward_wiring.{slot}",
        "attention_post_norm": "attention_wiring.branch",
        "ffn_post_norm": "feed_forward_wiring.branch",
        "attention_inner_norm": "attention.inner_norm",
        "ffn_inner_norm": "feed_forward.inner_norm",
        "attention_layer": "attention_wiring.residual",
        "ffn_layer": "feed_forward_wiring.residual",
        "attention": "attention_wiring.residual",
        "ffn": "feed_forward_wiring.residual",
    }
    for key, value in values.items():
        place, _, name = key.rpartition("_")
        fill(block.get_submodule(places[place]), {name: value})


@cases("norm_placement")
def test_norm_placements(case: Case) -> None:
    tokens = torch.arange(len(case["inputs"]["x"]))[None]
    for depth, key in ((1, "one_block"), (2, "two_blocks")):
        got = model_of(case, depth)(tokens)[0].detach()
        assert_near(got, case["expected"][key], case["atol"])


@cases("deepnorm_constants")
def test_depth_constants(case: Case) -> None:
    sizes = case["params"]
    constants = one_stack(sizes.get("encoder_depth") or sizes["decoder_depth"])
    assert asdict(constants) == pytest.approx(case["expected"], abs=case["atol"])


@cases("first_loss")
def test_first_losses(case: Case) -> None:
    inputs, vocabulary = case["inputs"], case["params"]["vocabulary"]
    if "logits" in inputs:
        logits, targets = tensor(inputs["logits"])[None], torch.tensor([inputs["targets"]])
        got = token_loss(logits, targets).item()
    else:
        model = build(vocabulary=vocabulary, width=4)
        nn.init.zeros_(model.head.weight)
        tokens = torch.arange(8)[None] % vocabulary
        got = token_loss(model(tokens), tokens).item()
    assert got == pytest.approx(case["expected"]["loss"], rel=2e-6)
