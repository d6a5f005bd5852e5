"""What the tests of position schemes share: choices from the YAML files, and small models."""

import importlib
import json
import math
import re
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from omegaconf import OmegaConf
from torch import Tensor, nn

from ablate.model.cache import Cache
from ablate.model.feed_forward import GELU
from ablate.model.init import initialise
from ablate.model.normalizers import LayerNorm
from ablate.model.placement.rows import Pre
from ablate.model.position.base import Positions, PositionScheme
from ablate.model.recipes import TorchInit
from ablate.model.residual import ResidualRule
from ablate.model.shape import Shape
from ablate.model.transformer import Parts, Transformer

ROOT = Path(__file__).parents[3]
CONFIGS = ROOT / "configs"
NAMES = sorted(path.stem for path in (CONFIGS / "pos").glob("*.yaml"))
SHAPE = Shape(width=32, depth=2, heads=2, seq_len=64, vocabulary=11)


@cache
def _composed(name: str) -> dict[str, Any]:
    with initialize_config_dir(str(CONFIGS), version_base=None):
        config = compose(config_name=f"pos/{name}").pos
    return OmegaConf.to_container(config)


def options_of(name: str) -> dict[str, Any]:
    """A choice's options with their defaults; one that is a scheme itself is a dict."""
    return {k: v for k, v in deepcopy(_composed(name)).items() if k != "_target_"}


def class_of(name: str) -> type[PositionScheme]:
    module, _, attribute = _composed(name)["_target_"].rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def as_partials(node: Any) -> Any:
    """As the build does: everything with a `_target_` becomes a partial."""
    if not isinstance(node, dict):
        return node
    node = {key: as_partials(value) for key, value in node.items()}
    return node | {"_partial_": True} if "_target_" in node else node


def nested(name: str, **options: Any) -> dict[str, Any]:
    """A choice as the value of another's option."""
    return deepcopy(_composed(name)) | options


def make(name: str, shape: Shape = SHAPE, **options: Any) -> PositionScheme:
    """The choice as its YAML has it, with some options changed and random parameters."""
    scheme = instantiate(as_partials(nested(name, **options)))(shape)
    stir(scheme)
    return scheme.eval()


def parts_of(name: str, shape: Shape, **options: Any) -> Parts:
    """Plain parts around the choice, as it is built."""
    scheme = instantiate(as_partials(nested(name, **options)))(shape)
    return Parts(scheme, Pre(LayerNorm), ResidualRule, GELU)


def model_of(
    name: str,
    shape: Shape = SHAPE,
    *,
    dtype: torch.dtype = torch.float64,
    stirred: float = 0.1,
    kv_heads: int | None = None,
    **options: Any,
) -> Transformer:
    """A small model in evaluation mode whose parameters lie at a generic point."""
    model = Transformer(shape, parts_of(name, shape, **options), bias=False, kv_heads=kv_heads)
    initialise(model, TorchInit(), seed=0)
    stir(model, stirred)
    return model.to(dtype).eval()


@torch.no_grad()
def stir(module: nn.Module, size: float = 0.1) -> None:
    """Move every parameter away from where it starts, since many start at zero."""
    generator = torch.Generator().manual_seed(1)
    for parameter in module.parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        parameter.add_(size * noise.to(parameter.dtype))


def tokens(batch: int = 2, length: int = 8, seed: int = 0, vocabulary: int = 11) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(vocabulary, (batch, length), generator=generator)


def shift_positions(model: Transformer, by: int) -> None:
    """Let every token stand `by` positions later."""
    plain = model.position.positions
    model.position.positions = lambda length, offset=0: plain(length, offset) + by


def decode(model: Transformer, text: Tensor, chunks: list[int]) -> Tensor:
    """Logits of cached decoding, so many tokens at a time."""
    memory = Cache.empty(model.shape.depth)
    return torch.cat([model(chunk, cache=memory) for chunk in text.split(chunks, dim=1)], dim=1)


def at(query: list[int], key: list[int], causal: bool = True) -> Positions:
    """Positions of a forward pass, with the mask that they imply where they are not a square."""
    q, k = torch.tensor(query), torch.tensor(key)
    visible = None if not causal or query == key else k[None, :] <= q[:, None]
    return Positions(q, k, visible, causal)


def scores(
    scheme: PositionScheme,
    q: Tensor,
    k: Tensor,
    positions: Positions,
    x: Tensor | None = None,
    layer: int = 0,
) -> Tensor:
    """What attention would give to softmax, before any mask: [heads, query, key]."""
    positions.shared = scheme.prepare(positions, q.dtype)
    q, k = scheme.rotate(q[None], k[None], positions, layer)
    x = torch.zeros(1, q.shape[2], scheme.shape.width, dtype=q.dtype) if x is None else x[None]
    product = scheme.scale * q @ k.transpose(-1, -2)
    bias = scheme.bias(q, k, x, positions, layer)
    return (product if bias is None else product + bias)[0]


def golden(name: str) -> list[Any]:
    """The cases of a reference file."""
    text = (ROOT / "tests" / "golden" / f"{name}.json").read_text(encoding="utf-8")
    return json.loads(text)["cases"]


def array(value: Any) -> Tensor:
    """Numbers of a case in float64; null becomes nan."""
    return torch.tensor(np.array(value, dtype=float))


def agree(got: Tensor, expected: Any, atol: float) -> None:
    """Equal within `atol` wherever the reference is defined."""
    want = array(expected)
    assert tuple(got.shape) == tuple(want.shape)
    defined = ~want.isnan()
    assert defined.any()
    torch.testing.assert_close(got.detach()[defined].double(), want[defined], atol=atol, rtol=0)


def heading_of(name: str) -> tuple[list[str], dict[str, str], dict[str, str]]:
    """The first comment's parts, the facts and the options' explanations of a YAML."""
    lines = (CONFIGS / "pos" / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    comments = [line[2:] for line in lines if line.startswith("# ")]
    pairs = [line.split(": ", 1) for line in comments[1:]]
    facts = {key: value for key, value in pairs if not key.startswith("option ")}
    helps = {key.removeprefix("option "): value for key, value in pairs if key not in facts}
    return [part.strip() for part in comments[0].split(" | ")], facts, helps


def evaluate(expression: str, name: str, options: dict[str, Any], shape: Shape) -> Any:
    """An expression of a YAML's comments; null options stand for what their help says."""
    sizes = vars(shape) | {"head_width": shape.head_width}
    words = {"__builtins__": {}, "max": max, "ln": math.log} | sizes
    helps = heading_of(name)[2]
    values: dict[str, Any] = {}
    for key, value in options.items():
        default = re.search(r"null takes (.*?)\.?$", helps[key])
        if isinstance(value, dict):
            values[key] = sum(
                p.numel() for p in instantiate(as_partials(value))(shape).parameters()
            )
        elif value is None and default:
            values[key] = eval(default[1], words, dict(options))
        else:
            values[key] = value
    return eval(expression, words, values)
