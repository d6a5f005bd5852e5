"""What the model's tests share: choices from the YAML files, and small models made of them."""

import importlib
import json
import math
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import Tensor, nn

from ablate.model.init import InitRecipe, initialise
from ablate.model.position.base import NoPosition, PositionScheme
from ablate.model.recipes import TorchInit
from ablate.model.shape import Shape
from ablate.model.transformer import Parts, Transformer

ROOT = Path(__file__).parents[2]
GROUPS = ("norm", "norm_layer", "residual", "init", "feed_forward")


def names(group: str) -> list[str]:
    return sorted(path.stem for path in (ROOT / "configs" / group).glob("*.yaml"))


def path_of(group: str, name: str) -> Path:
    return ROOT / "configs" / group / f"{name}.yaml"


@cache
def content_of(group: str, name: str) -> dict[str, Any]:
    return yaml.safe_load(path_of(group, name).read_text(encoding="utf-8"))


def options_of(group: str, name: str) -> dict[str, Any]:
    content = content_of(group, name)
    return {key: value for key, value in content.items() if key not in ("_target_", "defaults")}


def class_of(group: str, name: str) -> type:
    module, _, attribute = content_of(group, name)["_target_"].rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def part(group: str, name: str, **options: Any) -> Callable[..., Any]:
    """The choice's class with the YAML's options, some of them changed."""
    return partial(class_of(group, name), **options_of(group, name) | options)


def golden(name: str) -> list[Any]:
    content = json.loads((ROOT / "tests" / "golden" / f"{name}.json").read_text(encoding="utf-8"))
    return content["cases"]


def facts_of(group: str, name: str) -> dict[str, str]:
    """The `# key: value` lines of a YAML."""
    lines = path_of(group, name).read_text(encoding="utf-8").splitlines()
    comments = [line[2:] for line in lines if line.startswith("# ")]
    return dict(line.split(": ", 1) for line in comments[1:])


Choice = str | tuple[str, dict[str, Any]]


def _part(group: str, choice: Choice | type) -> Callable[..., Any]:
    if isinstance(choice, type):
        return choice
    name, options = (choice, {}) if isinstance(choice, str) else choice
    return part(group, name, **options)


def build(
    norm: Choice = "pre",
    residual: Choice = "on",
    norm_layer: Choice = "layernorm",
    feed_forward: Choice | type = "gelu",
    *,
    width: int = 8,
    depth: int = 2,
    heads: int = 2,
    seq_len: int = 16,
    vocabulary: int = 11,
    causal: bool = True,
    position: Callable[[Shape], PositionScheme] = NoPosition,
    recipe: InitRecipe | None = None,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
    normalizer: Callable[[int], nn.Module] | None = None,
    **more: Any,
) -> Transformer:
    """A small model in evaluation mode, drawn from `seed`."""
    recipe = recipe or TorchInit()
    std = recipe.embedding_std(width)
    shape = Shape(width, depth, heads, seq_len, vocabulary, causal, std)
    parts = Parts(
        position(shape),
        _part("norm", norm)(normalizer or _part("norm_layer", norm_layer)),
        _part("residual", residual),
        _part("feed_forward", feed_forward),
    )
    model = Transformer(shape, parts, **more)
    initialise(model, recipe, seed)
    return model.to(dtype).eval()


@torch.no_grad()
def shake(model: nn.Module, size: float = 0.05) -> None:
    """Move every parameter to a generic point, since many start at 0, 1 or at each other."""
    generator = torch.Generator().manual_seed(1)
    for parameter in model.parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        parameter.add_(size * noise.to(parameter.dtype))


def tokens(batch: int = 2, length: int = 12, vocabulary: int = 11, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(vocabulary, (batch, length), generator=generator)


def copy_equal_names(source: nn.Module, target: nn.Module) -> None:
    """Give `target` the numbers of equally named parameters of `source`."""
    target.load_state_dict(source.state_dict(), strict=False)


def evaluate(expression: str, variables: dict[str, Any]) -> int:
    """A `# parameters:` or `# norms:` expression of a YAML."""
    return eval(expression, {"__builtins__": {}, "round": round, "math": math}, variables)
