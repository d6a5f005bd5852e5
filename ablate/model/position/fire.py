"""FIRE: a small network maps a distance, measured against the query's position, to biases."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from ablate.errors import UserError
from ablate.model.position.base import Positions, PositionScheme, exact
from ablate.model.shape import Drawn, Shape

EPS = 1e-6
"""Added to the denominator as in the paper's listing, not its equation."""
MOST_HIDDEN = 2**24
"""Hidden numbers held at once, 64 MiB in float32: at 8 L all would be many times one bias."""


class FireNetwork(nn.Module, Drawn):
    """One bias network: 1 → hidden → heads with a ReLU, and its learned c and threshold."""

    def __init__(self, heads: int, hidden: int, c: float, threshold: float) -> None:
        super().__init__()
        self.threshold = threshold
        self.c = nn.Parameter(torch.tensor(c))
        self.threshold_factor = nn.Parameter(torch.tensor(1.0))
        self.hidden_weight = nn.Parameter(torch.zeros(hidden))
        self.hidden_bias = nn.Parameter(torch.zeros(hidden))
        self.output_weight = nn.Parameter(torch.zeros(heads, hidden))
        self.output_bias = nn.Parameter(torch.zeros(heads))

    def draw(self, generator: Generator) -> None:
        """U(±1/sqrt(inputs)) for weights and biases, torch's default, as in the listing."""
        bound = self.hidden_weight.numel() ** -0.5
        nn.init.uniform_(self.hidden_weight, -1, 1, generator=generator)
        nn.init.uniform_(self.hidden_bias, -1, 1, generator=generator)
        nn.init.uniform_(self.output_weight, -bound, bound, generator=generator)
        nn.init.uniform_(self.output_bias, -bound, bound, generator=generator)

    def normalised(
        self, distance: Float[Tensor, "query key"], query: Float[Tensor, "query"]
    ) -> Float[Tensor, "query key"]:
        """ψ(i − j) / ψ(max(i, threshold)) with ψ(v) = ln(c v + 1)."""
        # The listing takes |c|, without which a step below zero would end in NaN.
        c = self.c.abs()
        threshold = (self.threshold * self.threshold_factor).abs()
        reach = torch.log1p(c * torch.maximum(query, threshold)) + EPS
        return torch.log1p(c * distance) / reach[:, None]

    def forward(
        self, distance: Float[Tensor, "query key"], query: Float[Tensor, "query"]
    ) -> Float[Tensor, "heads query key"]:
        rows = max(1, MOST_HIDDEN // (distance.shape[1] * self.hidden_weight.numel()))
        if rows >= len(query):
            return self._biases(distance, query)
        parts = zip(distance.split(rows), query.split(rows), strict=True)
        return torch.cat([self._biases(*part) for part in parts], dim=1)

    def _biases(
        self, distance: Float[Tensor, "query key"], query: Float[Tensor, "query"]
    ) -> Float[Tensor, "heads query key"]:
        z = self.normalised(distance, query)[..., None]
        # In the dtype of the distances, which the many small ones need in a bf16 model too.
        hidden_weight, hidden_bias = self.hidden_weight.to(z), self.hidden_bias.to(z)
        output_weight, output_bias = self.output_weight.to(z), self.output_bias.to(z)
        x = torch.addcmul(hidden_bias, z, hidden_weight).relu()
        return F.linear(x, output_weight, output_bias).permute(2, 0, 1)


class Fire(PositionScheme):
    """Functional interpolation: a network of ψ(i − j)/ψ(max(i, T)), ψ(v) = ln(c v + 1), a layer.

    T = `threshold` · a learned factor that starts at 1. Scores follow i − j alone for queries up to
    T and are stretched beyond, so that no distance is ever out of range. Keys after the query are
    undefined: causal only. Li et al. 2023 (arXiv 2310.04418).
    """

    relative = True
    causal_only = True

    def __init__(
        self, shape: Shape, *, hidden: int = 32, c: float = 0.1, threshold: float = 512.0
    ) -> None:
        super().__init__(shape)
        self.layers = nn.ModuleList(
            checked_network(shape.heads, hidden, c, threshold) for _ in range(shape.depth)
        )

    def prepare(self, positions: Positions, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        return fire_inputs(positions, dtype)

    def bias(
        self, q: Tensor, k: Tensor, x: Tensor, positions: Positions, layer: int
    ) -> Float[Tensor, "heads query key"]:
        return self.layers[layer](*positions.shared)


class FireShared(PositionScheme):
    """FIRE-S: FIRE with one network for all layers.

    Li et al. 2023 (arXiv 2310.04418), section 4; the rest as in `Fire`.
    """

    relative = True
    causal_only = True

    def __init__(
        self, shape: Shape, *, hidden: int = 32, c: float = 0.1, threshold: float = 512.0
    ) -> None:
        super().__init__(shape)
        self.network = checked_network(shape.heads, hidden, c, threshold)

    def prepare(
        self, positions: Positions, dtype: torch.dtype
    ) -> Float[Tensor, "*batch heads query key"]:
        return positions.share(self.network(*fire_inputs(positions, dtype)))

    def bias(
        self, q: Tensor, k: Tensor, x: Tensor, positions: Positions, layer: int
    ) -> Float[Tensor, "*batch heads query key"]:
        return positions.shared


def fire_inputs(positions: Positions, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Distances, 0 where a key comes later and is masked, and query positions."""
    distance = positions.distance().clamp(min=0)
    return distance.to(exact(dtype)), positions.query.to(exact(dtype))


def checked_network(heads: int, hidden: int, c: float, threshold: float) -> FireNetwork:
    """A network; UserError where an option is out of range."""
    if hidden < 1:
        raise UserError(f"hidden={hidden}: must be at least 1")
    if c <= 0:
        raise UserError(f"c={c}: must be above 0")
    if threshold <= 0:
        raise UserError(f"threshold={threshold}: must be above 0 tokens")
    return FireNetwork(heads, hidden, c, threshold)
