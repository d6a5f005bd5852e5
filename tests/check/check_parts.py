"""Cells for the tests of `ablate check`, and parts that are broken on purpose."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from torch import Tensor, nn

from ablate import build
from ablate.check.cell import Cell, CheckResult
from ablate.check.checks import check_cell
from ablate.check.command import PlannedCell, make_cell, make_plan
from ablate.check.listed import CHECKS
from ablate.config.compose import Composer
from ablate.data.lm import LanguageModelling
from ablate.data.tasks import Batch
from ablate.model.placement.rows import Pre
from ablate.model.position.additive import Sinusoidal
from ablate.model.position.base import NoPosition, Positions, PositionScheme
from ablate.model.position.rotary import Rope
from ablate.model.residual import ResidualRule, Site
from ablate.model.shape import Shape
from ablate.model.wiring import Row

SMALL = ("depth=2", "width=16", "heads=2", "seq_len=16", "batch_size=4", "evaluate.lengths=[1,2]")
DEEP = ("depth=24", "width=32", "heads=2", "seq_len=16", "batch_size=4", "evaluate.lengths=[1]")


class Cells:
    """Builds cells over one small corpus."""

    def __init__(self, words: Path) -> None:
        self.composer = Composer()
        corpus = ["corpus=text", f"corpus.files={words}"]
        (self.usual,) = make_plan(self.composer, corpus, sweep=False)
        self.corpus = build.build_corpus(self.usual.config)

    def __call__(self, *overrides: str, **patch: type) -> Cell:
        """A cell of these overrides; `patch` puts a class of a group in place of the chosen one."""
        plan = self.compose([*SMALL, *overrides])
        for group, target in patch.items():
            options = plan.config[group] if group == "norm" else {}
            name = f"{target.__module__}.{target.__qualname__}"
            plan.config[group] = {**options, "_target_": name}
        return make_cell(plan, self.corpus, self.composer)

    def compose(self, overrides: Sequence[str]) -> PlannedCell:
        """What Hydra makes of overrides, without the tenth of a second that it takes."""
        config, choices = deepcopy(self.usual.config), dict(self.usual.choices)
        for key, _, value in (override.partition("=") for override in overrides):
            group, _, option = key.partition(".")
            if key in choices:
                config[key], choices[key] = self.choice(key, value), value
            elif option:
                config[group][option] = yaml.safe_load(value)
            else:
                config[key] = yaml.safe_load(value)
        return PlannedCell({}, config, "", choices)

    def choice(self, group: str, name: str) -> dict[str, Any]:
        """What a file holds; Hydra is asked for those that take other files in."""
        content = yaml.safe_load(self.composer.catalogue.path(group, name).read_text())
        if "defaults" in content:
            (plan,) = make_plan(self.composer, [f"{group}={name}"], sweep=False)
            return plan.config[group]
        return content


def look(cell: Cell, *names: str) -> CheckResult | list[CheckResult]:
    """The finding of one check, or of several."""
    results = check_cell(cell, [check for check in CHECKS if check.name in names])
    return results[0] if len(names) == 1 else results


def broken(findings: Sequence[CheckResult]) -> list[tuple[str, str]]:
    """Names and texts of crosses."""
    return [(f.name, f.text) for f in findings if f.mark == "broken"]


class SeesTheMean(PositionScheme):
    """Every token sees all tokens of its sequence."""

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        return x + x.mean(1, keepdim=True)


class SeesTheNext(PositionScheme):
    """Queries are made from the next token's stream."""

    def attend_to(self, x: Tensor, positions: Positions, layer: int) -> Tensor:
        return x.roll(-1, 1)


class SeesTheBatch(PositionScheme):
    """Every sequence sees the others, token by token."""

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        return x + x.mean(0, keepdim=True)


class LeaksInTraining(PositionScheme):
    """A leak that evaluation does not have."""

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        return x + x.mean(1, keepdim=True) if self.training else x


class UnmasksItself(PositionScheme):
    """A bias that says it is masked already."""

    def bias(self, q: Tensor, k: Tensor, x: Tensor, positions: Positions, layer: int) -> Tensor:
        bias = torch.zeros(q.shape[1], q.shape[2], k.shape[2], dtype=q.dtype)
        positions._masked.append(bias)
        return bias


class ForgetsTheOffset(Rope):
    """Cached decoding begins at position 0 with every step."""

    def positions(self, length: int, offset: int = 0) -> Tensor:
        return torch.arange(length)


class CallsItselfRelative(Sinusoidal):
    """Absolute, but says otherwise."""

    relative = True


class LimitThatIsNone(PositionScheme):
    """States a limit that it does not keep."""

    @property
    def max_length(self) -> int:
        return 20


class SilentLimit(PositionScheme):
    """Breaks beyond its table, without having stated a limit."""

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        return x if len(positions.query) <= 16 else x * float("nan")


class TellsOrderByItself(NoPosition):
    """Says that it knows no order and does."""

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        return x + torch.outer(positions.query, torch.arange(x.shape[-1]))


class BuildsTooMuch(PositionScheme):
    """Has a parameter that nothing uses."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.unused = nn.Parameter(torch.zeros(3))


class Crashes(PositionScheme):
    """Does not run at all."""

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        raise RuntimeError("broke on purpose\nwith more below")


class OneNormTooMany(Pre):
    """Pre-norm with a second norm before each sublayer."""

    def wire(self, site: Site, residual: ResidualRule) -> Row:
        return Row(
            residual,
            before=nn.Sequential(self.normalizer(site.width), self.normalizer(site.width)),
        )


class OneNormForAll(Pre):
    """Pre-norm whose sublayers share a single norm."""

    def __init__(
        self, normalizer: Callable[[int], nn.Module], *, final: bool = True, qk: bool = False
    ) -> None:
        super().__init__(normalizer, final=final, qk=qk)
        self.only: list[nn.Module] = []

    def wire(self, site: Site, residual: ResidualRule) -> Row:
        if not self.only:
            self.only.append(self.normalizer(site.width))
        return Row(residual, before=self.only[0])


class NotShifted(LanguageModelling):
    """Targets are the inputs themselves."""

    def view(self, rows: np.ndarray, last: int, random: np.random.Generator) -> Batch:
        return Batch(rows[:, :-1], rows[:, :-1].copy())
