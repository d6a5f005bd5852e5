"""Every scheme against the published implementations' numbers, in float64."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from ablate.model.attention import Attention
from ablate.model.position.additive import sinusoid_table
from ablate.model.position.bias import alibi_slopes
from ablate.model.position.contextual import contextual_positions
from ablate.model.position.rotary_scaled import ntk_base
from ablate.model.position.t5 import t5_bucket
from ablate.model.position.xpos import xpos_decay
from ablate.model.projection import Maps
from ablate.model.shape import Shape
from tests.model.position.position_parts import agree, array, at, golden, make, scores


def cases(name: str) -> pytest.MarkDecorator:
    content = golden(name)
    return pytest.mark.parametrize("case", content, ids=[case["name"] for case in content])


def shape_of(params: dict[str, Any], **more: Any) -> Shape:
    width = params["heads"] * params.get("dim", 2)
    return replace(Shape(width, 1, params["heads"], 64, 11), **more)


def put(parameter: nn.Parameter, value: Any) -> None:
    parameter.data = array(value).reshape(parameter.shape)


@cases("sinusoidal")
def test_sinusoidal(case: Any) -> None:
    p = case["params"]
    table = sinusoid_table(
        torch.tensor(case["inputs"]["positions"]), p["dim"], float(p["base"]), p["layout"]
    )
    agree(table, case["expected"]["table"], case["atol"])


ROTARY = {
    "rope_interleaved": ("rope", {}),
    "rope_half_split": ("rope", {}),
    "rope_partial": ("rope_partial", {}),
    "p_rope": ("p_rope", {"proportion": "p"}),
    "rope_linear": ("rope_linear", {"factor": "factor"}),
    "rope_ntk": ("rope_ntk", {"factor": "factor"}),
    "rope_dynamic_ntk": (
        "rope_dynamic_ntk",
        {"factor": "factor", "original_length": "original_length"},
    ),
    "rope_yarn": (
        "yarn",
        {
            key: key
            for key in (
                "factor",
                "original_length",
                "beta_fast",
                "beta_slow",
                "round_range",
                "attention_factor",
            )
        },
    ),
}
ROTARY_CASES = [(file, case) for file in ROTARY for case in golden(file)]


def number(value: Any, option: str) -> Any:
    """The files write whole numbers for floats; options are checked for their type in tests."""
    return float(value) if isinstance(value, int) and option in FLOATS else value


FLOATS = ("p", "factor", "beta_fast", "beta_slow", "base", "scale_base")


@pytest.mark.parametrize(
    ("file", "case"), ROTARY_CASES, ids=[f"{f}-{c['name']}" for f, c in ROTARY_CASES]
)
def test_rotary(file: str, case: Any) -> None:
    name, renamed = ROTARY[file]
    p, inputs, expected = case["params"], case["inputs"], case["expected"]
    options = {ours: number(p[theirs], ours) for theirs, ours in renamed.items()}
    if file == "rope_partial":
        options["fraction"] = p["rotary_dim"] / p["dim"]
    scheme = make(name, shape_of(p), base=float(p["base"]), layout=p["layout"], **options)
    q, k = array(inputs["query"]), array(inputs["key"])
    positions = at(inputs["query_positions"], inputs["key_positions"])
    positions.shared = scheme.prepare(positions, torch.float64)
    turned_q, turned_k = scheme.rotate(q[None], k[None], positions, 0)
    agree(turned_q[0], expected["rotated_query"], case["atol"])
    agree(turned_k[0], expected["rotated_key"], case["atol"])
    agree(scores(scheme, q, k, positions) / scheme.scale, expected["scores"], case["atol"])
    length = max(inputs["query_positions"] + inputs["key_positions"]) + 1
    if "inverse_frequencies" in expected:
        agree(scheme.spectrum(positions), expected["inverse_frequencies"], case["atol"])
    if "ramp_low" in expected:
        agree(array(scheme.range), [expected["ramp_low"], expected["ramp_high"]], case["atol"])
        agree(array(scheme.magnitudes(positions)), [expected["attention_factor"]] * 2, case["atol"])
    if "scaled_base" in expected:
        beyond = (
            max(length, p["original_length"]) / p["original_length"]
            if "original_length" in p
            else None
        )
        growth = p["factor"] if beyond is None else p["factor"] * beyond - (p["factor"] - 1)
        got = array(ntk_base(float(p["base"]), float(growth), p["dim"]))
        agree(got, expected["scaled_base"], case["atol"])


@cases("xpos")
def test_xpos(case: Any) -> None:
    p, inputs = case["params"], case["inputs"]
    options = {key: number(p[key], key) for key in ("base", "scale_base", "layout")}
    scheme = make("xpos", shape_of(p), **options)
    positions = at(inputs["query_positions"], inputs["key_positions"])
    got = scores(scheme, array(inputs["query"]), array(inputs["key"]), positions) / scheme.scale
    agree(xpos_decay(p["dim"]), case["expected"]["zeta"], case["atol"])
    agree(got, case["expected"]["scores"], case["atol"])


@cases("pope")
def test_pope(case: Any) -> None:
    p, inputs = case["params"], case["inputs"]
    scheme = make("pope", shape_of(p), base=float(p["base"]))
    put(scheme.layers[0], inputs["phase_bias"])
    positions = at(inputs["query_positions"], inputs["key_positions"])
    got = scores(scheme, array(inputs["query"]), array(inputs["key"]), positions) / scheme.scale
    agree(got, case["expected"]["scores"], case["atol"])


@cases("alibi")
def test_alibi(case: Any) -> None:
    p, inputs = case["params"], case["inputs"]
    scheme = make("alibi", shape_of(p, causal=p["causal"]))
    positions = at(inputs["query_positions"], inputs["key_positions"], p["causal"])
    agree(array(alibi_slopes(p["heads"])), case["expected"]["slopes"], case["atol"])
    agree(scheme.prepare(positions, torch.float64), case["expected"]["bias"], case["atol"])


@cases("t5_bias")
def test_t5(case: Any) -> None:
    p, inputs = case["params"], case["inputs"]
    options = {"buckets": p["buckets"], "max_distance": p["max_distance"]}
    relative = torch.tensor(inputs["relative_positions"])
    buckets = t5_bucket(relative, bidirectional=p["bidirectional"], **options)
    assert buckets.tolist() == case["expected"]["buckets"]
    if "table" not in inputs:
        return
    scheme = make("t5", shape_of(p, causal=not p["bidirectional"]), **options)
    put(scheme.table, inputs["table"])
    query = [i + p["query_offset"] for i in range(p["query_length"])]
    # The reference gives a value for later keys too, so nothing is masked here.
    positions = at(query, list(range(p["key_length"])), causal=False)
    assert scheme.scale == 1
    agree(scheme.prepare(positions, torch.float64), case["expected"]["bias"], case["atol"])


@cases("kerple")
def test_kerple(case: Any) -> None:
    p, inputs = case["params"], case["inputs"]
    scheme = make(f"kerple_{p['kind']}", shape_of(p))
    put(scheme.layers[0].r1, inputs["r1"])
    put(scheme.layers[0].r2, inputs["r2"])
    positions = at(inputs["query_positions"], inputs["key_positions"])
    positions.shared = scheme.prepare(positions, torch.float64)
    nothing = torch.zeros(0)
    agree(
        scheme.bias(nothing, nothing, nothing, positions, 0), case["expected"]["bias"], case["atol"]
    )


@cases("fire")
@pytest.mark.parametrize("name", ["fire", "fire_shared"])
def test_fire(case: Any, name: str) -> None:
    p, inputs = case["params"], case["inputs"]
    options = {"hidden": p["width"], "c": float(p["c"]), "threshold": float(p["threshold"])}
    scheme = make(name, shape_of(p), **options)
    network = scheme.layers[0] if name == "fire" else scheme.network
    for key in ("hidden_weight", "hidden_bias", "output_weight", "output_bias"):
        put(getattr(network, key), inputs[key])
    put(network.c, p["c"])
    put(network.threshold_factor, 1)
    positions = at(inputs["query_positions"], inputs["key_positions"])
    distance = positions.distance().clamp(min=0).double()
    z = network.normalised(distance, positions.query.double())
    agree(z, case["expected"]["normalised_distance"], case["atol"])
    agree(network(distance, positions.query.double()), case["expected"]["bias"], case["atol"])
    q = torch.zeros(p["heads"], len(positions.query), 2, dtype=torch.float64)
    k = torch.zeros(p["heads"], len(positions.key), 2, dtype=torch.float64)
    agree(scores(scheme, q, k, positions), case["expected"]["bias"], case["atol"])


@cases("shaw")
def test_shaw(case: Any) -> None:
    """Relative values are not built (see the docstring), so outputs with them are not compared."""
    p, inputs = case["params"], case["inputs"]
    scheme = make("shaw", shape_of(p, causal=p["causal"]), max_distance=p["max_distance"])
    put(scheme.layers[0].weight, inputs["relative_keys"])
    q, k, v = (array(inputs[key]) for key in ("query", "key", "value"))
    query = [i + p["query_offset"] for i in range(q.shape[1])]
    positions = at(query, list(range(k.shape[1])), p["causal"])
    got = scores(scheme, q, k, positions)
    agree(got, case["expected"]["scores"], case["atol"])
    if "relative_values" not in inputs:
        weights = positions.masked(got).softmax(-1)
        agree(weights @ v, case["expected"]["output"], case["atol"])


@cases("transformer_xl")
def test_transformer_xl(case: Any) -> None:
    p, inputs = case["params"], case["inputs"]
    scheme = make("transformer_xl", Shape(p["model_dim"], 1, p["heads"], 64, 11, p["causal"]))
    assert scheme.shape.head_width == p["dim"]
    # In a model width = heads · head width; one case has other shapes, so parameters are put in.
    scheme.content_bias = nn.Parameter(array(inputs["content_bias"]))
    scheme.position_bias = nn.Parameter(array(inputs["position_bias"]))
    scheme.layers[0].weight = nn.Parameter(array(inputs["relative_weight"]))
    q, k = array(inputs["query"]), array(inputs["key"])
    query = [i + p["memory"] for i in range(q.shape[1])]
    got = scores(scheme, q, k, at(query, list(range(k.shape[1])), p["causal"]))
    agree(got, case["expected"]["scores"], case["atol"])


@cases("deberta")
def test_deberta(case: Any) -> None:
    p, inputs, expected = case["params"], case["inputs"], case["expected"]
    shape = shape_of(p, causal=False)
    scheme = make(
        "deberta",
        shape,
        terms=["c2c", *p["terms"]],
        max_distance=p["max_distance"],
        p2c_index=p["p2c_index"],
        share_projections=True,
    )
    if "whole_module" in p:
        got, output = whole_deberta(scheme, inputs, shape)
        agree(output, expected["output"], case["atol"])
    else:
        for term, key in (("c2p", "relative_key"), ("p2c", "relative_query")):
            if term in p["terms"]:
                lay_rows(scheme, term, array(inputs[key]))
        q, k = array(inputs["query"]), array(inputs["key"])
        query = [i + p["query_offset"] for i in range(q.shape[1])]
        got = scores(scheme, q, k, at(query, list(range(k.shape[1])), causal=False))
    agree(got, expected["scores"], case["atol"])


def lay_rows(scheme: Any, term: str, rows: torch.Tensor) -> None:
    """Let a term's map give the case's rows [heads, 2k, dim], which come without a table there.

    The table becomes the identity's rows, so that the map's weights are the rows themselves.
    """
    heads, count, dim = rows.shape
    scheme.table.weight = nn.Parameter(torch.eye(count, dtype=torch.float64))
    linear = nn.Linear(count, heads * dim, bias=False, dtype=torch.float64)
    linear.weight.data = rows.transpose(1, 2).reshape(heads * dim, count)
    scheme.maps = scheme.maps or [{}]
    scheme.maps[0][term] = linear


def whole_deberta(scheme: Any, inputs: Any, shape: Shape) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores and the mixed values of attention with the case's weights."""

    def loaded(linear: nn.Linear, name: str) -> nn.Linear:
        put(linear.weight, inputs[f"{name}_weight"])
        put(linear.bias, inputs[f"{name}_bias"])
        return linear

    width, hidden = shape.width, array(inputs["hidden"])
    attention = Attention(shape, 0, Maps(bias=True)).double()
    for name in ("query", "key", "value"):
        loaded(getattr(attention, name), name)
    attention.output.weight.data = torch.eye(width, dtype=torch.float64)
    attention.output.bias.data.zero_()
    query_map, key_map = (nn.Linear(width, width, dtype=torch.float64) for _ in range(2))
    scheme.bind(0, loaded(query_map, "relative_query"), loaded(key_map, "relative_key"))
    put(scheme.table.weight, inputs["relative_table"])
    positions = at(list(range(len(hidden))), list(range(len(hidden))), causal=False)
    heads = [attention._heads(m(hidden[None]))[0] for m in (attention.query, attention.key)]
    got = scores(scheme, *heads, positions)
    return got, attention(hidden[None], scheme, positions)[0]


@cases("cope")
def test_cope(case: Any) -> None:
    p, inputs, expected = case["params"], case["inputs"], case["expected"]
    scheme = make(
        "cope", shape_of(p), positions=p["max_positions"], gate_scale=float(p["gate_scale"])
    )
    put(scheme.layers[0], inputs["position_embeddings"])
    q, k = array(inputs["query"]), array(inputs["key"])
    length = list(range(q.shape[1]))
    positions = at(length, length)
    agree(scores(scheme, q, k, positions), expected["scores"], case["atol"])
    agree(scheme.bias(q[None], k[None], q, positions, 0)[0], expected["bias"], case["atol"])
    gates = (p["gate_scale"] * q @ k.transpose(-1, -2)).sigmoid().tril()
    place = contextual_positions(gates[None], p["max_positions"] - 1)[0]
    agree(place, expected["positions"], case["atol"])


@cases("forgetting")
def test_forgetting(case: Any) -> None:
    p, inputs, expected = case["params"], case["inputs"], case["expected"]
    scheme = make("forgetting", shape_of(p))
    # Here width = heads · head width always; a gate may read inputs of another width.
    scheme.layers[0].weight = nn.Parameter(array(inputs["gate_weight"]))
    put(scheme.biases[0], inputs["gate_bias"])
    q, k, v = (array(inputs[key]) for key in ("query", "key", "value"))
    length = list(range(q.shape[1]))
    positions, x = at(length, length), array(inputs["hidden"])
    got = scores(scheme, q, k, positions, x)
    agree(got, expected["scores"], case["atol"])
    agree(scheme.bias(q[None], k[None], x[None], positions, 0)[0], expected["bias"], case["atol"])
    agree(positions.masked(got).softmax(-1) @ v, expected["output"], case["atol"])


@cases("randomized_positions")
def test_randomized_positions(case: Any) -> None:
    p, draws = case["params"], 400
    shape = Shape(4, 1, 1, p["length"], 11)
    scheme = make("randomized", shape, maximum=p["maximum"]).train()
    torch.manual_seed(0)
    drawn = torch.stack([scheme.positions(p["length"]) for _ in range(draws)])
    assert (drawn.diff(dim=1) > 0).all()
    assert drawn.min() >= 1
    assert drawn.max() <= p["maximum"]
    mean, variance = array(case["expected"]["mean"]), array(case["expected"]["variance"])
    off = (drawn.double().mean(0) - mean).abs()
    assert (off <= 5 * (variance / draws).sqrt() + 1e-12).all()
    often = torch.stack([(drawn == v + 1).any(1) for v in range(p["maximum"])]).double().mean(1)
    chance = array(case["expected"]["inclusion_probability"])
    spread = (chance * (1 - chance) / draws).sqrt()
    assert ((often - chance).abs() <= 5 * spread + 1e-12).all()
