"""Each signature of a sick run, made up, is named; a healthy record is left alone."""

import copy
from typing import Any

import pytest

from ablate.diagnosis import cliff, diagnose

DEPTH = 12


def profile(values: list[Any]) -> dict[str, Any]:
    return {"first": values, "mean": values, "last": values, "slope_first": 0.0}


HEALTHY: dict[str, Any] = {
    "label": "healthy",
    "choices": {
        "pos": "alibi",
        "norm": "pre",
        "warmup": "none",
        "residual": "on",
        "norm_layer": "x",
    },
    "config": {"tied": False, "lr": 1e-3, "norm": {"final": True}},
    "loss": {"excess": 0.1, "final": 2.0, "validation": 2.1, "unigram_train": 3.2},
    "gradients": {"inputs_first": [0.02] * DEPTH},
    "instruments": {
        "token_cosine": profile([0.3] * DEPTH),
        "stream_rms": profile([1.0] * DEPTH),
        "block_cosine": profile([0.9] * DEPTH),
        "attention_max": profile([[3.0, 4.0]] * DEPTH),
    },
    "extrapolation": {
        "train_length": 16,
        "lengths": [16, 32, 64],
        "accuracy": [0.5, 0.5, 0.5],
        "retention": [1.0, 1.0, 1.0],
        "curve": {"position": [8, 16, 24, 32], "nll": [2.0, 2.0, 2.0, 2.0]},
    },
}

SICK: dict[str, tuple[dict[str, Any], str, str]] = {
    "high first loss": ({"loss.excess": 25.0, "config.tied": True}, "tied", "tied=false"),
    "low first loss": ({"loss.excess": -0.4}, "leaks", "causality"),
    "rank collapse": (
        {
            "instruments.token_cosine.last": [0.99] * DEPTH,
            "loss.final": 3.21,
            "label": "stuck",
            "choices.residual": "off",
        },
        "no residual",
        "residual=on",
    ),
    "vanishing gradient": (
        {"gradients.inputs_first": [1e-9] + [0.02] * (DEPTH - 1)},
        "does not pass",
        "residual=on",
    ),
    "stuck": (
        {"label": "stuck", "loss.final": 3.2, "choices.norm": "post"},
        "post-norm without warmup",
        "warmup=linear",
    ),
    "unstable": ({"label": "unstable"}, "lr=0.001", "smaller lr"),
    "diverged": ({"label": "diverged", "loss.final": None}, "lr=0.001", "clip=1"),
    "exponential growth": (
        {
            "instruments.stream_rms.slope_first": 0.5,
            "instruments.stream_rms.first": [1.6**i for i in range(DEPTH)],
            "choices.norm": "none",
        },
        "no norm",
        "norm placement",
    ),
    "idle late blocks": (
        {"instruments.block_cosine.last": [0.9] * 6 + [0.999] * 6},
        "depth curse",
        "layernorm_scaling",
    ),
    "sharp attention": (
        {"instruments.attention_max.last": [[3.0, 80.0]] * DEPTH},
        "queries and keys",
        "norm.qk=true",
    ),
    "evaluation gap": (
        {"loss.validation": 4.0, "choices.norm_layer": "batchnorm"},
        "running",
        "layernorm",
    ),
    "undefined past L": (
        {"extrapolation.accuracy": [0.5, None, None], "extrapolation.retention": [1.0, None, None]},
        "no such position",
        "relative",
    ),
    "cliff past L": (
        {
            "extrapolation.retention": [1.0, 0.4, 0.1],
            "extrapolation.curve.nll": [2.0, 2.0, 2.6, 3.0],
        },
        "absolute positions",
        "relative",
    ),
    "trained lengths alone": (
        {"extrapolation.retention": [1.0, 0.4, 0.1], "extrapolation.protocol": "exact-match"},
        "longer examples",
        "pos=randomized",
    ),
    "gradual rise past L": (
        {"extrapolation.retention": [1.0, 0.8, 0.5], "choices.pos": "rope"},
        "phases",
        "pos=yarn",
    ),
}


def changed(changes: dict[str, Any]) -> dict[str, Any]:
    record = copy.deepcopy(HEALTHY)
    for path, value in changes.items():
        *parents, last = path.split(".")
        place = record
        for key in parents:
            place = place[key]
        place[last] = value
    return record


def test_a_healthy_record_has_no_finding() -> None:
    assert diagnose(HEALTHY) == []


@pytest.mark.parametrize("name", SICK)
def test_a_signature_is_named_with_cause_evidence_and_advice(name: str) -> None:
    changes, cause, advice = SICK[name]
    (found,) = diagnose(changed(changes))
    assert found["name"] == name
    assert cause in found["cause"]
    assert advice in found["advice"]
    assert (
        any(character.isdigit() for character in found["evidence"]) or "label" in found["evidence"]
    )


def test_a_record_with_holes_is_no_reason_to_fail() -> None:
    holes = {
        "instruments": None,
        "extrapolation": None,
        "gradients.inputs_first": None,
        "loss.excess": None,
        "loss.validation": None,
    }
    assert diagnose(changed(holes)) == []
    assert diagnose(changed({"extrapolation.curve": None, "instruments": {}})) == []
    assert diagnose(changed({"gradients.inputs_first": [None] * DEPTH})) == []


def test_a_cliff_needs_both_sides() -> None:
    assert cliff({"position": [8, 16], "nll": [2.0, 2.0]}, 16) is None
    assert cliff({"position": [8, 16, 24], "nll": [2.0, None, 3.0]}, 16) is None
    assert cliff(None, 16) is None
