"""Studies in which nothing matters, of many shapes, as runs in memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import numpy as np

from ablate.report.runs.collect import Run
from tests.report.conftest import make_run

POSITIONS = ("rope", "none", "learned", "sinusoidal", "alibi")
WARMUP = ("none", "linear")


@dataclass(frozen=True)
class NullStudy:
    """The shape of a study: its grid, its seeds, and how its numbers come about.

    `noise` is of the losses around what a seed's arms share: "unequal" gives every arm a spread of
    its own, "heavy" is Student's t with 3 degrees of freedom. `lost` is the share of runs that are
    not there; `failing` that of runs that fail, each by itself or, with `luck`, by the luck of the
    seed, which all arms share. In an `undefined` study one arm in four has no number at all.
    """

    factors: dict[str, Sequence[Any]]
    seeds: int
    noise: Literal["normal", "unequal", "heavy"] = "normal"
    lost: float = 0.0
    failing: float = 0.0
    luck: bool = False
    ending: Literal["stuck", "diverged"] = "stuck"
    undefined: bool = False

    @property
    def metric(self) -> str:
        """What is judged: an accuracy at 8L where lengths are undefined."""
        return "acc_8L" if self.undefined else "val_loss"

    def arms(self) -> list[dict[str, Any]]:
        """The settings of every arm."""
        return [dict(zip(self.factors, values, strict=True)) for values in product(*self.levels)]

    @property
    def levels(self) -> list[Sequence[Any]]:
        """The levels of each factor."""
        return list(self.factors.values())

    def draw(self, generator: np.random.Generator) -> list[Run]:
        """One study of this shape."""
        return list(self._runs(generator))

    def _runs(self, generator: np.random.Generator) -> Iterator[Run]:
        arms = self.arms()
        shared = generator.normal(0, 0.1, self.seeds)
        chance = generator.uniform(0, 2 * self.failing, self.seeds)
        for place, arm in enumerate(arms):
            spread = 0.05 * (generator.uniform(0.2, 5) if self.noise == "unequal" else 1)
            for seed in range(self.seeds):
                error = generator.standard_t(3) if self.noise == "heavy" else generator.normal()
                value = float(2 + shared[seed] + spread * error)
                failed = generator.random() < (chance[seed] if self.luck else self.failing)
                if generator.random() >= self.lost:
                    undefined = self.undefined and place % 4 == 3
                    yield self._run(arm, seed, value, failed, undefined)

    def _run(
        self, arm: dict[str, Any], seed: int, value: float, failed: bool, undefined: bool
    ) -> Run:
        parts: dict[str, Any] = {"loss__validation": value}
        if self.undefined:
            end = None if undefined else 0.1 * value
            parts = {"extrapolation__accuracy": [0.4, 0.4, 0.4, 0.4, end]}
        if failed and self.ending == "diverged":
            parts["status"] = "diverged"
        run = make_run(arm, seed=seed, **parts)
        return replace(run, label=self.ending) if failed else run


def grid(*numbers: int) -> dict[str, Sequence[Any]]:
    """Factors with so many levels each."""
    keys = ("lr", "depth", "width")
    return {key: range(1, number + 1) for key, number in zip(keys, numbers, strict=False)}


SHAPES = {
    "two arms, three seeds": NullStudy({"pos": POSITIONS[:2]}, 3),
    "five arms": NullStudy({"pos": POSITIONS}, 5),
    "ten arms, heavy tails": NullStudy(grid(10), 5, noise="heavy"),
    "2×2": NullStudy({"norm": ("pre", "post"), "warmup": WARMUP}, 4),
    "5×2": NullStudy({"pos": POSITIONS, "norm": ("pre", "post")}, 5),
    "3×3, unequal": NullStudy(grid(3, 3), 6, noise="unequal"),
    "2×2×2": NullStudy(grid(2, 2, 2), 5),
    "2×2×3, heavy, holes": NullStudy(grid(2, 2, 3), 6, noise="heavy", lost=0.1),
    "five arms, stuck": NullStudy({"pos": POSITIONS}, 6, failing=0.3),
    "2×2×3, stuck by luck": NullStudy(grid(2, 2, 3), 5, failing=0.4, luck=True),
    "2×2×2, stuck": NullStudy(grid(2, 2, 2), 6, failing=0.2),
    "ten arms, diverged": NullStudy(grid(10), 8, failing=0.2, ending="diverged"),
    "2×3, diverged, holes": NullStudy(grid(2, 3), 5, failing=0.2, ending="diverged", lost=0.1),
    "2×4, undefined": NullStudy(grid(2, 4), 5, undefined=True),
    "ten arms, undefined, unequal": NullStudy(grid(10), 4, undefined=True, noise="unequal"),
}
