"""Schemes made of other schemes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate.errors import UserError
from ablate.model.position.base import Positions, PositionScheme
from ablate.model.shape import Shape

Part = Callable[[Shape], PositionScheme]

MOST = 2**26
"""Positions that `Randomized` can draw from: 512 MiB of them."""


class Composed(PositionScheme):
    """What composed schemes share: every layer's hooks are those of one of the parts.

    `route[l]` is the number of the part that serves layer l; each part counts its layers from 0.
    """

    def __init__(self, shape: Shape, parts: Sequence[PositionScheme], route: Sequence[int]) -> None:
        super().__init__(shape)
        for part in parts:
            if type(part).positions is not PositionScheme.positions:
                raise UserError(
                    "a scheme that draws positions goes around other schemes, not inside: "
                    "use pos=randomized with it as pos@pos.inner"
                )
        self.parts = nn.ModuleList(parts)
        self.route = [
            (number, list(route[:layer]).count(number)) for layer, number in enumerate(route)
        ]
        self.relative = all(part.relative for part in parts)
        self.needs_inputs = any(part.needs_inputs for part in parts)
        self.whole_length = any(part.whole_length for part in parts)
        # One `scale` serves all layers, so queries make up for a part that has another.
        scales = [part.scale for part in parts]
        self.common_scale = max(scales)
        if min(scales) == 0 < self.common_scale:
            raise UserError(
                "a scheme without the product q·k cannot share a model with one with it"
            )
        self.factors = [scale / (self.common_scale or 1.0) for scale in scales]

    def _parts(self) -> list[PositionScheme]:
        return cast(list[PositionScheme], list(self.parts))

    def _part(self, number: int) -> PositionScheme:
        return self._parts()[number]

    @property
    def max_length(self) -> int | None:
        """The shortest of the parts' limits."""
        limits = [part.max_length for part in self._parts()]
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def scale(self) -> float:
        """The parts' largest."""
        return self.common_scale

    def bind(self, layer: int, query: nn.Linear, key: nn.Linear) -> None:
        number, part_layer = self.route[layer]
        self._part(number).bind(part_layer, query, key)

    def prepare(self, positions: Positions, dtype: torch.dtype) -> list[Positions]:
        """A view of the positions for each part, with what that part shares over its layers."""
        views = [replace(positions) for _ in self.parts]
        for part, view in zip(self._parts(), views, strict=True):
            view.shared = part.prepare(view, dtype)
        return views

    def embed(self, x: Float[Tensor, "batch query width"], positions: Positions) -> Tensor:
        for part, view in zip(self._parts(), positions.shared, strict=True):
            x = part.embed(x, view)
        return x

    def enter_block(self, x: Tensor, positions: Positions, layer: int) -> Tensor:
        number, part_layer = self.route[layer]
        return self._part(number).enter_block(x, positions.shared[number], part_layer)

    def attend_to(self, x: Tensor, positions: Positions, layer: int) -> Tensor:
        number, part_layer = self.route[layer]
        return self._part(number).attend_to(x, positions.shared[number], part_layer)

    def rotate(
        self, q: Tensor, k: Tensor, positions: Positions, layer: int
    ) -> tuple[Tensor, Tensor]:
        number, part_layer = self.route[layer]
        q, k = self._part(number).rotate(q, k, positions.shared[number], part_layer)
        return (q if self.factors[number] == 1 else self.factors[number] * q), k

    def bias(
        self, q: Tensor, k: Tensor, x: Tensor, positions: Positions, layer: int
    ) -> Float[Tensor, "*batch heads query key"] | None:
        number, part_layer = self.route[layer]
        if self.factors[number] not in (0, 1):  # undo what `rotate` did for the product alone
            q = q / self.factors[number]
        return self._part(number).bias(q, k, x, positions.shared[number], part_layer)


class Randomized(Composed):
    """Randomised positions: in training, `inner` at a sorted random subset of 1 .. maximum.

    The subset has as many members as the sequence tokens and is drawn anew for each step from
    torch's global generator; N = maximum is the identity. In evaluation tokens stand at 1, 2, 3 and
    so on ("consecutive"), or as the paper has it at a subset as well ("drawn"): the same one
    whenever the length is the same, and with no cached decoding, which cannot know the length.
    `maximum` None is 8 train lengths. Ruoss et al. 2023 (arXiv 2305.16843).
    """

    facts = frozenset({"drawn"})

    def __init__(
        self,
        shape: Shape,
        *,
        inner: Part,
        maximum: int | None = None,
        evaluation: str = "consecutive",
    ) -> None:
        if evaluation not in ("consecutive", "drawn"):
            raise UserError(f"evaluation={evaluation}: allowed are consecutive, drawn")
        self.evaluation = evaluation
        maximum = 8 * shape.seq_len if maximum is None else maximum
        if maximum < shape.seq_len:
            raise UserError(
                f"maximum={maximum}: must be at least seq_len={shape.seq_len}, or the positions "
                "of a sequence could not differ"
            )
        if maximum > MOST:
            raise UserError(f"maximum={maximum}: at most {MOST}: each step draws from all of them")
        # Row 0 of an inner table stays unused, since positions count from 1.
        part = inner(replace(shape, seq_len=maximum + 1))
        super().__init__(shape, [part], [0] * shape.depth)
        self.maximum = maximum

    @property
    def max_length(self) -> int:
        """The positions there are, or what `inner` takes."""
        inner = self._part(0).max_length
        return self.maximum if inner is None else min(self.maximum, inner - 1)

    def positions(self, length: int, offset: int = 0) -> Int[Tensor, "length"]:
        if offset + length > self.max_length:
            raise UserError(
                f"{offset + length} tokens need as many positions, but there are "
                f"{self.max_length} (pos.maximum)"
            )
        random = self.training or self.evaluation == "drawn"
        if random and offset:
            raise UserError(
                "drawn positions follow the length of the whole sequence: decoding with a cache "
                "needs evaluation mode and pos.evaluation=consecutive"
            )
        if not random:
            return torch.arange(offset + 1, offset + length + 1)
        generator = None if self.training else torch.Generator().manual_seed(length)
        return torch.randperm(self.maximum, generator=generator)[:length].sort().values + 1


class Interleaved(Composed):
    """Schemes by layer: letter l of `pattern`, repeated over the depth, says which serves layer l.

    "aaab" is three layers of `a` to one of `b`. What a scheme does to the embedding it does once,
    for all layers. Yang et al. 2025 (RNoPE, arXiv 2501.18795).
    """

    def __init__(self, shape: Shape, *, pattern: str = "aaab", a: Part, b: Part) -> None:
        if not pattern or set(pattern) - {"a", "b"}:
            raise UserError(f"pattern={pattern}: allowed are the letters a and b")
        letters = (pattern * shape.depth)[: shape.depth]
        used = sorted(set(letters))
        parts = [{"a": a, "b": b}[u](replace(shape, depth=letters.count(u))) for u in used]
        super().__init__(shape, parts, [used.index(letter) for letter in letters])
