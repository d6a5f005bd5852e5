"""Each signature of a sick run, made up, is named; a healthy record is left alone."""

import copy
from typing import Any

import pytest

from ablate.judge.beyond import cliff
from ablate.judge.diagnosis import diagnose
from ablate.record.evaluated import PositionCurve
from ablate.record.parsing import parse
from ablate.record.record import Record

DEPTH = 12


def profile(values: list[Any]) -> dict[str, Any]:
    return {"first": values, "mean": values, "last": values, "slope_first": 0.0}


def documents(right: list[int], windows: int) -> dict[str, Any]:
    """Twenty documents of 100 targets each, in which so many are right at each length."""
    return {
        "over": "documents",
        "windows": windows,
        "counts": [[100] * 20] * len(right),
        "correct": [[count + document % 2 for document in range(20)] for count in right],
        "nll": [[200.0] * 20] * len(right),
        "frequent": [20] * 20,
        "unigram": [320.0] * 20,
    }


HEALTHY: dict[str, Any] = {
    "name": "pos=rope,depth=24,seed=0-12f08036",
    "label": "healthy",
    "facts": {"pos": ["fading", "relative"], "warmup": ["absent"]},
    "config": {"tied": False, "lr": 1e-3, "norm": {"final": True}},
    "loss": {
        "uniform": 5.545,
        "repeats": 0.035,
        "excess": 0.1,
        "final": 2.0,
        "validation": 2.1,
        "unigram_train": 3.2,
    },
    "gradients": {"inputs_first": [0.02] * DEPTH},
    "instruments": {
        "token_cosine": profile([0.3] * DEPTH),
        "stream_rms": profile([1.0] * DEPTH),
        "feed_forward_rms": profile([0.2] * DEPTH),
        "logit_scale": {"first": 0.55, "mean": 1.0, "last": 1.5},
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
            "instruments.token_cosine": profile([0.9995] * DEPTH),
            "loss.final": 3.21,
            "label": "stuck",
            "facts.residual": ["absent"],
        },
        "no residual",
        "residual=on",
    ),
    "vanishing gradient": (
        {"gradients.inputs_first": [10.0 ** (block - DEPTH) for block in range(DEPTH)]},
        "does not pass",
        "less depth",
    ),
    "stuck": (
        {"label": "stuck", "loss.final": 3.2, "facts.norm": ["post-norm"]},
        "post-norm without warmup",
        "warmup=linear",
    ),
    "unstable": (
        {"label": "unstable", "loss.spike_score": 0.02, "loss.spike_max": 31.0},
        "lr=0.001",
        "smaller lr",
    ),
    "spike": ({"loss.spike_score": 0.002, "loss.spike_max": 9.0}, "lr=0.001", "smaller lr"),
    "order is not used": (
        {"shuffle": {"change": 0.004, "interval": [-0.004, 0.012]}, "facts.pos": ["absent"]},
        "no position scheme",
        "pos=rope",
    ),
    "far retrieval fails": (
        {
            "facts.task": ["retrieval"],
            "extrapolation.protocol": "exact-match",
            "extrapolation.retention": [1.0, 0.9, 0.1],
        },
        "falls with distance",
        "pos=rope",
    ),
    "diverged": ({"label": "diverged", "loss.final": None}, "lr=0.001", "clip=1"),
    "exponential growth": (
        {
            "instruments.stream_rms.slope_first": 0.5,
            "instruments.feed_forward_rms.slope_first": 0.5,
            "instruments.stream_rms.first": [1.6**i for i in range(DEPTH)],
            "facts.norm": ["absent"],
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
        {"loss.validation": 4.0, "facts.norm_layer": ["batch statistics"]},
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
            "facts.pos": [],
        },
        "absolute positions",
        "relative",
    ),
    "trained lengths alone": (
        {"extrapolation.retention": [1.0, 0.4, 0.1], "extrapolation.protocol": "exact-match"},
        "longer examples",
        "pos=randomized",
    ),
    "gradual fall of accuracy past L": (
        {
            "extrapolation.retention": [1.0, 0.8, 0.5],
            "facts.pos": ["relative", "rotary", "scalable"],
        },
        "phases",
        "ablate evaluate 12f08036 pos=yarn",
    ),
}


def changed(changes: dict[str, Any]) -> Record:
    content = copy.deepcopy(HEALTHY)
    for path, value in changes.items():
        *parents, last = path.split(".")
        place = content
        for key in parents:
            place = place[key]
        place[last] = value
    record, misfits = parse(Record, content)
    assert not misfits
    return record


def test_a_healthy_record_has_no_finding() -> None:
    assert diagnose(changed({})) == []


@pytest.mark.parametrize("name", SICK)
def test_a_signature_is_named_with_cause_evidence_and_advice(name: str) -> None:
    changes, cause, advice = SICK[name]
    (found,) = diagnose(changed(changes))
    assert found.name == name
    assert cause in found.cause
    assert advice in found.advice
    assert any(character.isdigit() for character in found.evidence) or "label" in found.evidence


FALLING = {"steps": list(range(0, 300, 10)), "loss": [5.0 - 0.05 * i for i in range(30)]}

HARMLESS: dict[str, dict[str, Any]] = {
    "a stream whose variance grows along a line, as in pre-norm": {
        "instruments.stream_rms.first": [(1 + 9 * i) ** 0.5 for i in range(DEPTH)],
        "instruments.stream_rms.slope_first": 0.18,
    },
    "late blocks that still do something": {
        "instruments.block_cosine.last": [0.9] * 9 + [0.98] * 3,
    },
    "sharp attention that was there from the start": {
        "instruments.attention_max": profile([[60.0, 70.0]] * DEPTH),
    },
    "a first loss as large as its logits cost": {"loss.excess": 0.45},
    "alike tokens in a run that learns": {"instruments.token_cosine": profile([0.9995] * DEPTH)},
    "a gradient that is smaller at the first block": {
        "gradients.inputs_first": [0.02 * 1.4 ** (block - DEPTH) for block in range(DEPTH)]
    },
    "a gradient that is small at the embeddings alone, which are large": {
        "gradients.inputs_first": [1e-9] + [0.02] * (DEPTH - 1)
    },
    "an order that matters": {
        "shuffle": {"change": 0.8, "interval": [0.7, 0.9]},
        "facts.pos": ["absent"],
    },
    "an order that may matter": {"shuffle": {"change": 0.018, "interval": [-0.023, 0.058]}},
    "an order of which too little was seen for an interval": {"shuffle": {"change": 0.004}},
    "validation a little above training": {"loss.validation": 2.3},
    "a first loss above ln V by the chance of four targets": {
        "loss.excess": 0.85,
        "loss.repeats": 0.75,
        "loss.unigram_train": 0.69,
        "loss.final": 0.2,
        "loss.targets": 4,
        "loss.validation": 0.2,
    },
    "a retention of what guessing gets too": {
        "extrapolation.retention": [1.0, 0.4, 0.1],
        "extrapolation.accuracy_unigram": 0.48,
        "extrapolation.interval": {"accuracy": [[0.45, 0.55], [0.4, 0.6], [0.4, 0.6]]},
    },
    "a retention that may be noise": {
        "extrapolation.retention": [1.0, 0.8, 0.5],
        "extrapolation.documents": documents(right=[50, 40, 25], windows=200),
    },
    "an order whose worth is open": {
        "shuffle": {"change": 0.018, "interval": [-0.023, 0.058]},
    },
    "an order of which it is open whether anything was learned": {
        "learning": {"word": "undecided"},
        "shuffle": {"change": 0.0, "interval": [-0.01, 0.01]},
    },
    "retention that fades little": {"extrapolation.retention": [1.0, 0.97, 0.93]},
    "a deviation short of a spike": {"loss.spike_score": 0.0, "loss.spike_max": 5.0},
}


@pytest.mark.parametrize("what", HARMLESS)
def test_what_only_looks_like_a_signature_is_left_alone(what: str) -> None:
    assert diagnose(changed(HARMLESS[what])) == []


def test_a_run_that_still_falls_is_not_told_to_lower_its_learning_rate() -> None:
    (found,) = diagnose(changed({"label": "stuck", "loss.final": 3.4, "curve": FALLING}))
    assert found.name == "stuck"
    assert "too few steps" in found.cause
    assert "larger lr" in found.advice


def test_a_run_above_the_unigram_loss_is_not_told_that_its_learning_rate_is_too_high() -> None:
    (found,) = diagnose(changed({"label": "stuck", "loss.final": 3.6}))
    assert "not come down to the unigram loss" in found.cause
    assert found.advice.startswith("more steps")


def test_a_run_that_learned_nothing_does_not_say_what_order_is_worth() -> None:
    none = {"change": 0.0, "interval": [0.0, 0.0]}
    stuck = {"label": "stuck", "loss.final": 3.2, "shuffle": none}
    assert [found.name for found in diagnose(changed(stuck))] == ["stuck"]
    decoder = stuck | {"facts.pos": ["absent"]}
    assert [found.name for found in diagnose(changed(decoder))] == ["stuck"]
    (found,) = diagnose(changed(decoder | {"shuffle": none | {"causal": False}}))
    assert found.name == "order is not used"


def test_gates_that_are_closed_are_not_the_curse_of_depth() -> None:
    idle = {"instruments.block_cosine.last": [0.9999] * DEPTH, "facts.residual": ["gated"]}
    (found,) = diagnose(changed(idle))
    assert "gates" in found.cause


def test_the_evidence_of_a_high_first_loss_gives_the_price_of_its_logits() -> None:
    small = {"loss.excess": 0.55, "instruments.logit_scale.first": 1.1}
    assert "half their variance 0.61" in diagnose(changed(small))[0].evidence
    large = {"loss.excess": 25.0, "instruments.logit_scale.first": 8.0}
    assert "half" not in diagnose(changed(large))[0].evidence


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
    assert diagnose(changed({"instruments.attention_max": profile([[None, None]] * DEPTH)})) == []
    assert diagnose(changed({"shuffle": None})) == diagnose(changed({"shuffle": {}})) == []


def test_a_retention_that_surely_falls_is_named() -> None:
    fading = {
        "extrapolation.retention": [1.0, 0.8, 0.5],
        "extrapolation.documents": documents(right=[50, 40, 25], windows=300),
    }
    (found,) = diagnose(changed(fading))
    assert found.name == "gradual fall of accuracy past L"


def test_an_order_that_is_surely_not_used_is_named() -> None:
    (found,) = diagnose(changed({"shuffle": {"change": 0.004, "interval": [-0.01, 0.018]}}))
    assert found.name == "order is not used"


def test_the_word_on_validation_windows_goes_before_the_training_loss() -> None:
    """A pre-norm run 0.15 below unigram in validation is not collapsed for its training batches."""
    alike = {"instruments.token_cosine": profile([0.9995] * DEPTH), "loss.final": 3.21}
    assert [found.name for found in diagnose(changed(alike))] == ["rank collapse"]
    assert diagnose(changed(alike | {"learning": {"word": "learned"}})) == []
    stuck = {"label": "stuck", "loss.final": 2.0, "learning": {"word": "stuck", "value": 0.01}}
    (found,) = diagnose(changed(stuck))
    assert "+0.010 nats against frequencies on the same targets" in found.evidence


def test_a_cliff_needs_both_sides() -> None:
    assert cliff(PositionCurve(position=[8, 16], nll=[2.0, 2.0]), 16) is None
    assert cliff(PositionCurve(position=[8, 16, 24], nll=[2.0, None, 3.0]), 16) is None
    assert cliff(None, 16) is None


PAST_L: dict[str, dict[str, Any]] = {
    "undefined past L": SICK["undefined past L"][0],
    "cliff past L": SICK["cliff past L"][0],
    "gradual fall of accuracy past L": {"extrapolation.retention": [1.0, 0.8, 0.5]},
    "far retrieval fails": SICK["far retrieval fails"][0],
}
KINDS: dict[str, list[str]] = {
    "rope": ["relative", "rotary", "scalable"],
    "alibi": ["fading", "relative"],
    "xpos": ["fading", "relative", "rotary"],
    "rope_of_an_old_record": ["relative", "scalable"],
}


@pytest.mark.parametrize("name", PAST_L)
@pytest.mark.parametrize("kind", KINDS)
def test_no_scheme_is_advised_to_its_own_kind(name: str, kind: str) -> None:
    """A rotary run was told to try RoPE, and that its positions are absolute."""
    record = changed(PAST_L[name] | {"facts.pos": KINDS[kind]})
    for finding in diagnose(record):
        tried = {remedy.value for remedy in finding.remedies or []}
        assert not ("fading" in KINDS[kind] and "alibi" in tried)
        assert not ({"rotary", "scalable"} & set(KINDS[kind]) and "rope" in tried)
        assert finding.advice
        assert "absolute" not in finding.cause


@pytest.mark.parametrize("name", ["cliff past L", "gradual fall of accuracy past L"])
@pytest.mark.parametrize(
    ("facts", "cause"),
    [
        ({"pos": ["absent", "relative"]}, "attention spread"),
        ({"pos": ["drawn", "relative"]}, "attention spread"),
        ({"pos": ["relative", "rotary"]}, "phases"),
        ({"pos": ["fading", "relative"]}, "distances"),
        ({"warmup": ["absent"]}, "absolute positions"),
        (None, "positions or distances"),
    ],
)
def test_what_is_new_past_l_is_what_the_scheme_has(
    name: str, facts: dict[str, list[str]] | None, cause: str
) -> None:
    """A run without a scheme was told of phases, distances and absolute positions."""
    (finding,) = diagnose(changed(PAST_L[name] | {"facts": facts}))
    assert finding.name == name
    assert finding.cause.removeprefix("maybe ").startswith(f"{cause} ")


def test_nothing_is_advised_that_the_run_has() -> None:
    clipped = {"label": "diverged", "loss.final": None, "config.clip": 1}
    (finding,) = diagnose(changed(clipped | {"choices": {"warmup": "linear"}}))
    assert [remedy.words for remedy in finding.remedies or []] == ["a smaller lr"]
    (finding,) = diagnose(changed(clipped | {"config.clip": 5, "choices": {"warmup": "none"}}))
    assert finding.advice == "a smaller lr, warmup=linear, clip=1"
