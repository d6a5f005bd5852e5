"""One cell of the grid, built but not trained; a check of it, and what a check returns."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor

from ablate.build import Bench
from ablate.check.initial import BATCH_TOKENS, Depth, measure_depth
from ablate.check.passes import made_up, undisturbed
from ablate.errors import in_a_line
from ablate.model.init import named_generator
from ablate.model.transformer import Transformer

Mark = Literal["ok", "warning", "broken"]
TEXT_TOKENS = 16
"""Tokens of text on which properties are tried."""


@dataclass(frozen=True)
class CheckResult:
    """What a check says: its sentence `text`, the numbers behind it by name, and what to try.

    `broken` is a property that must hold and does not; `warning` is a cell that may be meant so but
    is risky. `name` says what was looked at, in place of the check's own name.
    """

    name: str
    mark: Mark
    text: str
    values: dict[str, Any] = field(default_factory=dict)
    advice: str = ""


def ok(text: str, values: dict[str, Any], *, name: str = "") -> CheckResult:
    """As it should be."""
    return CheckResult(name, "ok", text, values)


def warning(text: str, values: dict[str, Any], advice: str, *, name: str = "") -> CheckResult:
    """Risky, unless it is meant so."""
    return CheckResult(name, "warning", text, values, advice)


def broken(text: str, values: dict[str, Any], advice: str, *, name: str = "") -> CheckResult:
    """A property that must hold does not."""
    return CheckResult(name, "broken", text, values, advice)


@dataclass(frozen=True)
class Cell:
    """The objects of a run before its first step, with what its config files claim of them.

    `facts` are the comment facts of the chosen files by group, `options` what a fact's expression
    may speak of, and `longest` the longest context in tokens that evaluation asks for.
    """

    bench: Bench
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    longest: int = 0

    @cached_property
    def depth(self) -> Depth:
        """The first batch through the model as the first step of a run would take it."""
        with undisturbed(self.bench.model):
            return measure_depth(self.bench, BATCH_TOKENS)

    @cached_property
    def perturbed(self) -> Transformer:
        """A copy in float64 on the CPU in evaluation mode, with every parameter moved a little.

        Many parameters start at 0 or at each other, which would hide what they do later.
        """
        copy = deepcopy(self.bench.model).to("cpu", torch.float64).eval()
        generator = named_generator(self.bench.task.seed, "perturbed")
        with torch.no_grad():
            for parameter in copy.parameters():
                noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
                parameter.add_(0.02 * noise)
        return copy

    @cached_property
    def text(self) -> Tensor:
        """Two made-up sequences of at most 16 tokens and half the train length: [2, length]."""
        return made_up(self.bench.model, TEXT_TOKENS)


Rule = Callable[[Cell], CheckResult | None]
"""What a check says of a cell, or None where the question does not arise."""


def named_result(name: str, rule: Callable[[], CheckResult | None]) -> CheckResult | None:
    """What a rule returns, under a name unless it has one; a model that fails is broken."""
    try:
        result = rule()
    except Exception as error:
        text = f"fails with {in_a_line(error)}"
        return broken(text, {"error": text}, "the part that this check runs", name=name)
    return result and replace(result, name=result.name or name)


def faint(effect: float, values: dict[str, float], *, name: str = "") -> CheckResult:
    """A property that cannot be told here from rounding."""
    text = f"cannot be told: other tokens move the logits by no more than {effect:.1g} of their rms"
    return warning(text, values, "a look at the gradients; or check with depth=2", name=name)
