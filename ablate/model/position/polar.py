"""PoPE: what in the magnitude, where in the angle."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from ablate.errors import UserError
from ablate.model.position.base import Positions, PositionScheme, exact
from ablate.model.shape import Shape

TURN = 2 * torch.pi


def polar_frequencies(width: int, base: float = 10000.0) -> Float[Tensor, "width"]:
    """θ_c = base^(−c/width), one for each feature and not for each pair, in float64.

    >>> polar_frequencies(4).tolist()
    [1.0, 0.1, 0.01, 0.001]
    """
    return base ** -(torch.arange(width, dtype=torch.float64) / width)


def circle(angle: Float[Tensor, "*heads length width"]) -> Float[Tensor, "*heads length double"]:
    """Cosines, then sines, of each angle."""
    return torch.cat([angle.cos(), angle.sin()], dim=-1)


class PoPE(PositionScheme):
    """Polar positions: Σ_c softplus(q_c) softplus(k_c) cos((j − i)θ_c + δ_c)/sqrt(d).

    Each feature is a complex number whose magnitude is content and whose angle is position, so
    queries and keys are twice as wide. δ [heads, d] is learned a layer, starts at 0 and is held in
    [−2π, 0]; it turns the query back where the paper turns the key on.
    Gopalakrishnan et al. 2025 (arXiv 2509.10534).
    """

    relative = True

    def __init__(self, shape: Shape, *, base: float = 10000.0) -> None:
        super().__init__(shape)
        if base <= 1:
            raise UserError(f"base={base}: must be above 1")
        self.base = base
        self.layers = nn.ParameterList(
            torch.zeros(shape.heads, shape.head_width) for _ in range(shape.depth)
        )

    def prepare(self, positions: Positions, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        frequencies = polar_frequencies(self.shape.head_width, self.base)
        frequencies = frequencies.to(positions.query.device)
        query = positions.query.double()[:, None] * frequencies
        key = positions.key.double()[:, None] * frequencies
        return query.to(exact(dtype)), circle(key).to(exact(dtype))

    def rotate(
        self, q: Tensor, k: Tensor, positions: Positions, layer: int
    ) -> tuple[Tensor, Tensor]:
        q_angle, k_circle = positions.shared
        delta = self.layers[layer].clamp(-TURN, 0)
        q_circle = circle(q_angle - delta[:, None])
        return with_magnitude(q, q_circle), with_magnitude(k, k_circle)


def with_magnitude(
    x: Float[Tensor, "batch heads length width"], circle: Float[Tensor, "*heads length double"]
) -> Float[Tensor, "batch heads length double"]:
    """softplus(x) times the cosines, then times the sines, of its angles."""
    size = F.softplus(x.to(circle.dtype))
    return (torch.cat([size, size], dim=-1) * circle).to(x.dtype)
