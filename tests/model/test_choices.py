"""Every choice's file tells the truth: comments, options, numbers of norms and of parameters.

The files are found by globbing, so a new one is taken in by itself.
"""

import inspect
import itertools
import math
import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ablate.errors import UserError
from ablate.model.feed_forward import FeedForward
from ablate.model.normalizers import LayerNorm
from ablate.model.placement.sphere import SphereNorm
from ablate.model.position.base import NoPosition
from ablate.model.projection import Maps
from ablate.model.shape import Shape
from ablate.model.transformer import Parts, Transformer, count_parameters
from tests.model.model_parts import (
    GROUPS,
    build,
    class_of,
    evaluate,
    facts_of,
    names,
    options_of,
    part,
    path_of,
    tokens,
)

CHOICES = [(group, name) for group in GROUPS for name in names(group)]
SIZES = [(8, 1, 2), (8, 4, 2)]
"""Width, depth, heads."""

each_choice = pytest.mark.parametrize(("group", "name"), CHOICES)


class Counted(LayerNorm):
    """A norm that can be told from every other module."""


class Nothing(FeedForward):
    """A feed-forward without a parameter."""

    def __init__(self, width: int, maps: Maps) -> None:
        nn.Module.__init__(self)
        self.down, self.inner_norm = nn.Identity(), nn.Identity()

    def features(self, x: Tensor) -> Tensor:
        return x


def norms_in(model: nn.Module) -> list[nn.Module]:
    named = model.named_modules(remove_duplicate=False)
    return [m for _, m in named if isinstance(m, Counted | SphereNorm)]


def switches(name: str) -> list[dict[str, bool]]:
    """Every setting of a placement's true-or-false options."""
    options = options_of("norm", name)
    flags = [key for key, value in options.items() if isinstance(value, bool)]
    settings = itertools.product([False, True], repeat=len(flags))
    return [dict(zip(flags, setting, strict=True)) for setting in settings]


def variables(model: Transformer, options: dict[str, Any]) -> dict[str, Any]:
    """What the expressions in a YAML may speak of."""

    def norm(features: int) -> int:
        return sum(p.numel() for p in part("norm_layer", "layernorm")(features).parameters())

    shape = model.shape
    return {
        "width": shape.width,
        "depth": shape.depth,
        "heads": shape.heads,
        "head_width": shape.head_width,
        "seq_len": shape.seq_len,
        "vocabulary": shape.vocabulary,
        "hidden": model.blocks[0].feed_forward.up.out_features,
        "norms": 2 * shape.depth + 1,
        "norm": norm,
        "bias": True,
        **options,
    }


@each_choice
def test_the_first_line_says_what_it_is(group: str, name: str) -> None:
    first = path_of(group, name).read_text(encoding="utf-8").splitlines()[0]
    summary, formula, paper = re.split(r" \|(?: |$)", first.removeprefix("# "))
    assert summary.endswith(".")
    assert formula
    assert paper or name == "none"


@each_choice
def test_every_option_is_told_and_is_the_constructors(group: str, name: str) -> None:
    options = options_of(group, name)
    documented = [key.removeprefix("option ") for key in facts_of(group, name) if "option " in key]
    assert documented == list(options)
    parameters = inspect.signature(class_of(group, name)).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert options == defaults


@each_choice
def test_the_class_says_formula_and_source(group: str, name: str) -> None:
    documentation = inspect.getdoc(class_of(group, name)) or ""
    assert documentation.count(".") >= 1
    if (group, name) not in (("norm", "none"), ("norm_layer", "none"), ("residual", "off")):
        assert re.search(r"\d{4}|torch|DeepNorm|GPT-2", documentation)


@pytest.mark.parametrize("name", names("norm_layer"))
def test_batch_statistics_are_admitted(name: str) -> None:
    if "momentum" in options_of("norm_layer", name):
        assert "later tokens" in facts_of("norm_layer", name)["needs"]
        assert "future" in inspect.getdoc(class_of("norm_layer", name))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", names("norm"))
def test_number_of_norms_each_its_own(name: str, size: tuple[int, int, int]) -> None:
    width, depth, heads = size
    for setting in switches(name):
        model = build((name, setting), width=width, depth=depth, heads=heads, normalizer=Counted)
        norms = norms_in(model)
        options = options_of("norm", name) | setting
        assert len(norms) == evaluate(facts_of("norm", name)["norms"], variables(model, options))
        assert len({id(m) for m in norms}) == len(norms), "a norm is used in two places"


@pytest.mark.parametrize("name", sorted(set(names("norm")) - {"none"}))
def test_each_sublayer_has_a_norm(name: str) -> None:
    for block in build(name, normalizer=Counted).blocks:
        attention = norms_in(block.attention_wiring) + norms_in(block.attention)
        feed_forward = norms_in(block.feed_forward_wiring) + norms_in(block.feed_forward)
        assert attention
        # Hybrid's norm before the feed-forward stands on the skip path and ends attention's row.
        assert feed_forward or name == "hybrid"


@pytest.mark.parametrize("size", [(8, 4, 2), (12, 3, 1)])
@each_choice
def test_parameters_are_those_of_the_formula(
    group: str, name: str, size: tuple[int, int, int]
) -> None:
    sizes = dict(zip(("width", "depth", "heads"), size, strict=True))
    for setting in switches(name) if group == "norm" else [{}]:
        with_it, without = {
            "norm": ({"norm": (name, setting)}, {"norm": "none"}),
            "norm_layer": ({"norm_layer": name}, {"norm_layer": "none"}),
            "residual": ({"residual": name}, {}),
            "init": ({"recipe": part("init", name)()} if group == "init" else {}, {}),
            "feed_forward": ({"feed_forward": name}, {"feed_forward": Nothing}),
        }[group]
        model = build(**with_it, **sizes)
        added = count_parameters(model) - count_parameters(build(**without, **sizes))
        sizes_and_options = variables(model, options_of(group, name) | setting)
        assert added == evaluate(facts_of(group, name)["parameters"], sizes_and_options), setting


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("size", [(8, 1, 2), (12, 3, 4)])
@each_choice
def test_builds_and_runs(
    group: str, name: str, size: tuple[int, int, int], dtype: torch.dtype
) -> None:
    width, depth, heads = size
    choice = {"recipe": part("init", name)()} if group == "init" else {group: name}
    model = build(**choice, width=width, depth=depth, heads=heads, dtype=dtype)
    logits = model(tokens())
    assert logits.shape == (2, 12, 11)
    assert logits.dtype == dtype
    assert logits.isfinite().all()


@each_choice
def test_builds_without_memory(group: str, name: str) -> None:
    """A config is checked on the meta device before a run starts."""
    parts = {"norm": "pre", "norm_layer": "layernorm", "residual": "on", "feed_forward": "gelu"}
    if group in parts:
        parts[group] = name
    shape = Shape(8, 2, 2, 16, 11)
    with torch.device("meta"):
        model = Transformer(
            shape,
            Parts(
                NoPosition(shape),
                part("norm", parts["norm"])(part("norm_layer", parts["norm_layer"])),
                part("residual", parts["residual"]),
                part("feed_forward", parts["feed_forward"]),
            ),
        )
    assert all(p.is_meta for p in model.parameters())


WRONG = [
    ("norm", "mix_ln", {"share": 1.5}, "share=1.5"),
    ("norm", "deepnorm", {"alpha": 0.0}, "alpha=0"),
    ("norm", "sub_ln", {"init_gain": -1.0}, "init_gain=-1"),
    ("norm", "admin", {"omega": 0.0}, "omega=0"),
    ("norm", "ngpt", {"alpha": 0.0}, "alpha=0"),
    ("residual", "stochastic_depth", {"rate": 1.0}, "rate=1"),
    ("residual", "hyper_connections", {"streams": 0}, "streams=0"),
    ("feed_forward", "gelu", {"ratio": 0.0}, "ratio=0"),
    ("init", "gpt2", {"std": 0.0}, "std=0"),
    ("init", "gpt2", {"std": math.nan}, "std=nan"),
    ("init", "deepnorm", {"beta": math.inf}, "beta=inf"),
]


@pytest.mark.parametrize(("group", "name", "options", "message"), WRONG)
def test_wrong_options_are_refused(
    group: str, name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        # A recipe has no shape to be built with, the other parts are built by the model.
        part(group, name, **options)() if group == "init" else build(**{group: (name, options)})
