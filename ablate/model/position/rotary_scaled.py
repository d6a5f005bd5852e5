"""Rotary schemes whose spectrum is stretched to reach beyond the train length."""

import math
from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.errors import UserError
from ablate.model.position.base import Positions
from ablate.model.position.rotary import Rotary, rotary_frequencies
from ablate.model.shape import Shape

WHEN = ("always", "evaluation")


def ntk_base(base: float, factor: float, width: int) -> float:
    """base · factor^(d/(d−2)): the lowest frequency is divided by `factor`, the highest kept.

    >>> round(ntk_base(10000.0, 4.0, 64), 2)
    41829.37
    """
    return base * factor ** (width / (width - 2))


def yarn_range(
    width: int, base: float, length: int, fast: float, slow: float, round_range: bool
) -> tuple[float, float]:
    """The pair indices between which YaRN blends: where `fast` and `slow` turns fit in `length`.

    >>> yarn_range(128, 10000.0, 2048, 32.0, 1.0, True)
    (16.0, 41.0)
    """

    def pair(turns: float) -> float:
        return width * math.log(length / (2 * math.pi * turns)) / (2 * math.log(base))

    low, high = pair(fast), pair(slow)
    if round_range:
        low, high = float(math.floor(low)), float(math.ceil(high))
    return max(low, 0.0), min(high, width - 1.0)


class ScaledRotary(Rotary, ABC):
    """What scalings share: where `when` is "evaluation", training is with plain RoPE."""

    def __init__(self, shape: Shape, *, base: float, layout: str, when: str, factor: float) -> None:
        super().__init__(shape, base=base, layout=layout, rotated=shape.head_width)
        if when not in WHEN:
            raise UserError(f"when={when}: allowed are {', '.join(WHEN)}")
        if factor < 1:
            raise UserError(f"factor={factor}: must be at least 1")
        self.in_training, self.factor = when == "always", factor

    @abstractmethod
    def scaled(self, positions: Positions) -> Float[Tensor, "pairs"]:
        """The scaled spectrum: radians per position of each pair, in float64."""

    def acts(self) -> bool:
        """Whether the scaling is on in the module's present mode."""
        return self.in_training or not self.training

    def spectrum(self, positions: Positions) -> Float[Tensor, "pairs"]:
        return self.scaled(positions) if self.acts() else super().spectrum(positions)


class RopeLinear(ScaledRotary):
    """Position interpolation: RoPE at t/s, which squeezes s·L positions into those of training.

    Chen et al. 2023 (arXiv 2306.15595).
    """

    def __init__(
        self,
        shape: Shape,
        *,
        factor: float = 4.0,
        when: str = "always",
        base: float = 10000.0,
        layout: str = "interleaved",
    ) -> None:
        super().__init__(shape, base=base, layout=layout, when=when, factor=factor)

    def scaled(self, positions: Positions) -> Float[Tensor, "pairs"]:
        return rotary_frequencies(self.rotated, self.base) / self.factor


class RopeNtk(ScaledRotary):
    """NTK-aware scaling: RoPE with the base grown to base · s^(d/(d−2)).

    Undefined at a head width of 2, which is refused. bloc97 2023; written out by Peng et al. 2023
    (arXiv 2309.00071), section 3.1.
    """

    def __init__(
        self,
        shape: Shape,
        *,
        factor: float = 4.0,
        when: str = "always",
        base: float = 10000.0,
        layout: str = "interleaved",
    ) -> None:
        super().__init__(shape, base=base, layout=layout, when=when, factor=factor)
        refuse_one_pair(shape)

    def scaled(self, positions: Positions) -> Float[Tensor, "pairs"]:
        return rotary_frequencies(self.rotated, ntk_base(self.base, self.factor, self.rotated))


class RopeDynamicNtk(ScaledRotary):
    """NTK scaling by the present length L': RoPE with base · (s L'/L − (s − 1))^(d/(d−2)), L' > L.

    L is `original_length` in tokens (None: the train length) and up to it this is RoPE. The rule
    keeps no state: frequencies follow the length attended, so keys are rotated anew as it grows
    (released code keeps the rotations of keys cached earlier).
    emozilla 2023; written out by Peng et al. 2023 (arXiv 2309.00071), section 3.3.
    """

    facts = frozenset({"rotary", "scalable"})
    whole_length = True

    def __init__(
        self,
        shape: Shape,
        *,
        factor: float = 1.0,
        original_length: int | None = None,
        when: str = "always",
        base: float = 10000.0,
        layout: str = "interleaved",
    ) -> None:
        super().__init__(shape, base=base, layout=layout, when=when, factor=factor)
        refuse_one_pair(shape)
        self.original_length = checked_length(original_length, shape)

    def scaled(self, positions: Positions) -> Float[Tensor, "pairs"]:
        beyond = max(positions.span(), self.original_length) / self.original_length
        growth = self.factor * beyond - (self.factor - 1)
        return rotary_frequencies(self.rotated, ntk_base(self.base, growth, self.rotated))


class Yarn(ScaledRotary):
    """YaRN: θ_i (1 − g_i) + g_i θ_i/s with g_i from 0 to 1, and q and k each × (0.1 ln s + 1).

    g_i rises linearly in the pair index i between the pairs that turn `beta_fast` and `beta_slow`
    times in L = `original_length` tokens (None: the train length). So do both released codes; the
    paper's ramp is linear in the number of turns. `round_range` rounds the bounds outwards as they
    do. `attention_factor` None derives 0.1 ln s + 1. Peng et al. 2023 (arXiv 2309.00071).
    """

    def __init__(
        self,
        shape: Shape,
        *,
        factor: float = 4.0,
        original_length: int | None = None,
        beta_fast: float = 32.0,
        beta_slow: float = 1.0,
        round_range: bool = True,
        attention_factor: float | None = None,
        when: str = "always",
        base: float = 10000.0,
        layout: str = "interleaved",
    ) -> None:
        super().__init__(shape, base=base, layout=layout, when=when, factor=factor)
        if not 0 < beta_slow < beta_fast:
            raise UserError(
                f"beta_slow={beta_slow}: must be above 0 and below beta_fast={beta_fast}"
            )
        length = checked_length(original_length, shape)
        self.range = yarn_range(self.rotated, base, length, beta_fast, beta_slow, round_range)
        derived = 0.1 * math.log(factor) + 1
        self.attention_factor = derived if attention_factor is None else attention_factor

    def scaled(self, positions: Positions) -> Float[Tensor, "pairs"]:
        frequencies = rotary_frequencies(self.rotated, self.base)
        low, high = self.range
        pairs = torch.arange(self.rotated // 2, dtype=torch.float64)
        # Equal bounds make a step instead of a ramp; the released codes part them by as much.
        ramp = ((pairs - low) / max(high - low, 0.001)).clamp(0, 1)
        return frequencies * (1 - ramp) + frequencies / self.factor * ramp

    def magnitudes(self, positions: Positions) -> tuple[float, float]:
        factor = self.attention_factor if self.acts() else 1.0
        return factor, factor


def refuse_one_pair(shape: Shape) -> None:
    """Raise UserError at a head width of 2, where the exponent d/(d−2) is undefined."""
    if shape.head_width == 2:
        raise UserError(
            f"the head width must be above 2, but width {shape.width} / heads {shape.heads} = 2"
        )


def checked_length(original_length: int | None, shape: Shape) -> int:
    """`original_length`, or the train length where it is None; UserError below 1."""
    if original_length is not None and original_length < 1:
        raise UserError(f"original_length={original_length}: must be at least 1 token")
    return shape.seq_len if original_length is None else original_length
