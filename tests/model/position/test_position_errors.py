"""What a scheme cannot do it says."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from ablate.errors import UserError
from tests.model.position.position_parts import SHAPE, make, model_of, nested, tokens

ODD = replace(SHAPE, width=6, heads=2)


@pytest.mark.parametrize(
    ("name", "options", "shape", "message"),
    [
        ("learned", {"rows": 10}, SHAPE, "rows=10"),
        ("sinusoidal", {"layout": "foo"}, SHAPE, "interleaved, half_split"),
        ("sinusoidal", {"base": 0.0}, SHAPE, "base=0"),
        ("sinusoidal", {"embedding_norm": "yes"}, SHAPE, "none, before, after"),
        ("concatenated", {"position_width": 32}, SHAPE, "position_width=32"),
        ("rope", {}, ODD, "width 6 / heads 2 = 3"),
        ("rope", {"layout": "foo"}, SHAPE, "layout=foo"),
        ("rope", {"base": 1.0}, SHAPE, "base=1"),
        ("rope_partial", {"fraction": 0.0}, SHAPE, "fraction=0"),
        ("rope_partial", {"fraction": 0.2}, SHAPE, "it is 3"),
        ("rope_partial", {"fraction": 0.01}, SHAPE, "none is left"),
        ("p_rope", {"p": 1.5}, SHAPE, "p=1.5"),
        ("rope_linear", {"factor": 0.5}, SHAPE, "factor=0.5"),
        ("rope_linear", {"when": "never"}, SHAPE, "always, evaluation"),
        ("rope_ntk", {}, replace(SHAPE, width=4), "above 2"),
        ("rope_dynamic_ntk", {}, replace(SHAPE, width=4), "above 2"),
        ("rope_dynamic_ntk", {"original_length": 0}, SHAPE, "original_length=0"),
        ("yarn", {"beta_slow": 40.0}, SHAPE, "beta_slow=40"),
        ("xpos", {"scale_base": 0.0}, SHAPE, "scale_base=0"),
        ("t5", {"buckets": 3}, SHAPE, "buckets=3"),
        ("t5", {"max_distance": 16}, SHAPE, "max_distance=16"),
        ("shaw", {"max_distance": 0}, SHAPE, "max_distance=0"),
        ("deberta", {"terms": []}, SHAPE, "c2c, c2p, p2c"),
        ("deberta", {"terms": ["c2c", "p2p"]}, SHAPE, "p2p"),
        ("deberta", {"p2c_index": "code"}, SHAPE, "paper, released_code"),
        ("deberta", {"max_distance": 0}, SHAPE, "max_distance=0"),
        ("fire", {"hidden": 0}, SHAPE, "hidden=0"),
        ("fire", {"c": 0.0}, SHAPE, "c=0"),
        ("fire_shared", {"threshold": 0.0}, SHAPE, "threshold=0"),
        ("cope", {"positions": 0}, SHAPE, "positions=0"),
        ("pope", {"base": 1.0}, SHAPE, "base=1"),
        ("randomized", {"maximum": 10}, SHAPE, "maximum=10"),
        ("randomized", {"evaluation": "x"}, SHAPE, "consecutive, drawn"),
        ("randomized", {"inner": nested("randomized")}, SHAPE, "goes around"),
        ("randomized", {"inner": nested("learned", rows=70)}, SHAPE, "rows=70"),
        ("interleaved", {"a": nested("randomized")}, SHAPE, "goes around"),
        ("interleaved", {"pattern": "abc"}, SHAPE, "pattern=abc"),
        ("interleaved", {"pattern": ""}, SHAPE, "letters a and b"),
        (
            "interleaved",
            {"pattern": "ab", "b": nested("deberta", terms=["c2p"])},
            SHAPE,
            "without the product",
        ),
        ("interleaved", {"a": nested("xpos")}, replace(SHAPE, causal=False), "causal"),
    ],
)
def test_refuses(name: str, options: dict[str, Any], shape: Any, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        make(name, shape, **options)
    assert len(str(error.value)) < 240


def test_a_range_of_positions_is_asserted() -> None:
    model = model_of("randomized", maximum=70)
    with pytest.raises(UserError, match="71 tokens need as many positions, but there are 70"):
        model(tokens(1, 71))
    with pytest.raises(UserError, match="70"):
        model.train()(tokens(1, 71))


def test_drawn_positions_and_a_cache_do_not_go_together() -> None:
    scheme = make("randomized", evaluation="drawn")
    with pytest.raises(UserError, match="cache"):
        scheme.positions(1, offset=4)
    with pytest.raises(UserError, match="cache"):
        make("randomized").train().positions(1, offset=4)


def test_xpos_beyond_float32_is_refused() -> None:
    model = model_of("xpos", scale_base=1.0, dtype=torch.float32)
    assert model(tokens(1, 30)).isfinite().all()
    with pytest.raises(UserError, match="scale_base=1"):
        model(tokens(1, 300))
