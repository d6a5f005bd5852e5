"""Rotary schemes: queries and keys are turned by an angle that grows with the position."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from ablate.errors import UserError
from ablate.model.position.base import Positions, PositionScheme, exact
from ablate.model.shape import Shape


def rotary_frequencies(width: int, base: float = 10000.0) -> Float[Tensor, "pairs"]:
    """θ_i = base^(−2i/width) for pairs i = 0 .. width/2 − 1, in float64.

    >>> rotary_frequencies(4).tolist()
    [1.0, 0.01]
    """
    return base ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)


def interleaved_table(
    angles: Float[Tensor, "length pairs"], magnitude: Tensor | float, dtype: torch.dtype
) -> Complex[Tensor, "length pairs"]:
    """magnitude · exp(i angle), the number that turns a pair seen as a complex number."""
    table = torch.polar(torch.ones_like(angles), angles) * magnitude
    return table.to(torch.complex128 if dtype == torch.float64 else torch.complex64)


def turn_interleaved(
    x: Float[Tensor, "... length width"], table: Complex[Tensor, "length pairs"]
) -> Float[Tensor, "... length width"]:
    """Turn the pairs (2i, 2i + 1): one complex product, twice as fast as sines and cosines.

    >>> table = interleaved_table(torch.tensor([[math.pi / 2]]), 1.0, torch.float32)
    >>> turn_interleaved(torch.tensor([[1.0, 0.0]]), table).round().tolist()
    [[-0.0, 1.0]]
    """
    turned = torch.view_as_complex(x.unflatten(-1, (-1, 2))) * table
    return torch.view_as_real(turned).flatten(-2)


def half_split_table(
    angles: Float[Tensor, "length pairs"], magnitude: Tensor | float, dtype: torch.dtype
) -> tuple[Float[Tensor, "length width"], Float[Tensor, "length width"]]:
    """Cosines and signed sines for every feature, so that a turn is two products and a sum."""
    cos, sin = angles.cos() * magnitude, angles.sin() * magnitude
    return torch.cat([cos, cos], dim=-1).to(dtype), torch.cat([-sin, sin], dim=-1).to(dtype)


def turn_half_split(
    x: Float[Tensor, "... length width"],
    table: tuple[Float[Tensor, "length width"], Float[Tensor, "length width"]],
) -> Float[Tensor, "... length width"]:
    """Turn the pairs (i, i + width/2)."""
    cos, sin = table
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, dims=-1), sin)


@dataclass(frozen=True)
class PairLayout:
    """Which features form a pair: how its table is made, and how the table turns it."""

    table: Callable[[Tensor, Tensor | float, torch.dtype], Any]
    turn: Callable[[Tensor, Any], Tensor]


LAYOUTS = {
    "interleaved": PairLayout(interleaved_table, turn_interleaved),
    "half_split": PairLayout(half_split_table, turn_half_split),
}


class Rotary(PositionScheme):
    """What rotary schemes share: queries and keys at position t turn by t · spectrum.

    Phases are computed in float64 and applied in float32 whatever the model's dtype, since
    rounded phases corrupt long positions.
    """

    facts = frozenset({"rotary"})
    relative = True

    def __init__(self, shape: Shape, *, base: float, layout: str, rotated: int) -> None:
        """`rotated` is how many features of a head turn; the others stay as they are."""
        super().__init__(shape)
        if rotated % 2:
            raise UserError(
                f"the number of rotated features must be even, but of the head width (width "
                f"{shape.width} / heads {shape.heads} = {shape.head_width}) it is {rotated}; "
                "try another width or heads"
            )
        if layout not in LAYOUTS:
            raise UserError(f"layout={layout}: allowed are {', '.join(LAYOUTS)}")
        if base <= 1:
            raise UserError(f"base={base}: must be above 1")
        self.base, self.layout, self.rotated = base, LAYOUTS[layout], rotated

    def spectrum(self, positions: Positions) -> Float[Tensor, "pairs"]:
        """Radians per position of each pair, in float64; RoPE's unless a scheme has another."""
        return rotary_frequencies(self.rotated, self.base)

    def magnitudes(self, positions: Positions) -> tuple[Tensor | float, Tensor | float]:
        """Factors on queries and on keys: [length, pairs], or one number."""
        return 1.0, 1.0

    def prepare(self, positions: Positions, dtype: torch.dtype) -> tuple[Any, Any]:
        query, key = positions.query, positions.key
        spectrum = self.spectrum(positions).to(query.device)
        q_factor, k_factor = self.magnitudes(positions)
        return (
            self.layout.table(query.double()[:, None] * spectrum, q_factor, exact(dtype)),
            self.layout.table(key.double()[:, None] * spectrum, k_factor, exact(dtype)),
        )

    def rotate(
        self, q: Tensor, k: Tensor, positions: Positions, layer: int
    ) -> tuple[Tensor, Tensor]:
        q_table, k_table = positions.shared
        return self._turn(q, q_table), self._turn(k, k_table)

    def _turn(self, x: Tensor, table: Any) -> Tensor:
        wide = x.to(exact(x.dtype))
        if self.rotated == x.shape[-1]:
            return self.layout.turn(wide, table).to(x.dtype)
        turned = self.layout.turn(wide[..., : self.rotated], table)
        return torch.cat([turned.to(x.dtype), x[..., self.rotated :]], dim=-1)


class Rope(Rotary):
    """Rotary position embedding: q and k turned by R(tθ), θ_i = base^(−2i/d), so q·k sees i − j.

    `layout` names the pairs: "interleaved" (2i, 2i + 1) is the paper's, "half_split" (i, i + d/2)
    that of GPT-NeoX and Llama; the two differ by a permutation of a head's features.
    Su et al. 2021 (arXiv 2104.09864).
    """

    facts = frozenset({"rotary", "scalable"})

    def __init__(self, shape: Shape, *, base: float = 10000.0, layout: str = "interleaved") -> None:
        super().__init__(shape, base=base, layout=layout, rotated=shape.head_width)


class PartialRope(Rotary):
    """RoPE on the first r features of a head with their own spectrum base^(−2i/r).

    r = ⌊fraction · d⌋ must be even (GPT-NeoX silently turns one more when it is odd); fraction 1
    is RoPE. Black et al. 2022 (GPT-NeoX-20B, arXiv 2204.06745).
    """

    def __init__(
        self,
        shape: Shape,
        *,
        fraction: float = 0.25,
        base: float = 10000.0,
        layout: str = "interleaved",
    ) -> None:
        if not 0 < fraction <= 1:
            raise UserError(f"fraction={fraction}: must be above 0 and at most 1")
        # The summand keeps 0.29 · 100 from falling to 28.
        rotated = math.floor(fraction * shape.head_width + 1e-9)
        if rotated == 0:
            raise UserError(
                f"fraction={fraction}: of the head width {shape.head_width} none is left"
            )
        super().__init__(shape, base=base, layout=layout, rotated=rotated)


class PRope(Rotary):
    """RoPE's full spectrum with the lowest frequencies, a share of 1 − p, not turned at all.

    θ_i = base^(−2i/d) for i < ⌊p d/2⌋, else 0; p = 0 is no position, p = 1 is RoPE.
    Barbero et al. 2024 (arXiv 2410.06205).
    """

    def __init__(
        self,
        shape: Shape,
        *,
        p: float = 0.75,
        base: float = 10000.0,
        layout: str = "interleaved",
    ) -> None:
        super().__init__(shape, base=base, layout=layout, rotated=shape.head_width)
        if not 0 <= p <= 1:
            raise UserError(f"p={p}: must be between 0 and 1")
        self.turning = math.floor(p * shape.head_width / 2 + 1e-9)

    def spectrum(self, positions: Positions) -> Float[Tensor, "pairs"]:
        frequencies = super().spectrum(positions)
        frequencies[self.turning :] = 0
        return frequencies
