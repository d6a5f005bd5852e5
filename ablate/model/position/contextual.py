"""Schemes whose positions depend on what the tokens are."""

from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ablate.errors import UserError
from ablate.model.position.base import Positions, PositionScheme, exact
from ablate.model.projection import Projection
from ablate.model.shape import Shape


def contextual_positions(
    gates: Float[Tensor, "batch heads query key"], highest: int
) -> Float[Tensor, "batch heads query key"]:
    """p_ij = Σ_{l=j..i} g_il, at most `highest`; gates are 0 where a query may not look.

    >>> contextual_positions(torch.tensor([[[[0.5, 0.5, 0.5]]]]), 1).tolist()
    [[[[1.0, 1.0, 0.5]]]]
    """
    return gates.flip(-1).cumsum(-1).flip(-1).clamp(max=highest)


class CoPE(PositionScheme):
    """Contextual positions: + q_i·e[p_ij], p_ij = Σ_{l=j..i} σ(g q_i·k_l), e interpolated.

    g is `gate_scale` (None: 1/sqrt(d), as in the paper's listing; its equation 3 has 1), q·e has no
    factor. e has `positions` rows (None: the train length) a layer, shared by heads, and starts at
    zero as in the listing; farther positions take the last row, by definition of the scheme.
    Golovneva et al. 2024 (arXiv 2405.18719).
    """

    relative = True
    causal_only = True

    def __init__(
        self, shape: Shape, *, positions: int | None = None, gate_scale: float | None = None
    ) -> None:
        super().__init__(shape)
        if positions is not None and positions < 1:
            raise UserError(f"positions={positions}: must be at least 1")
        self.highest = (positions or shape.seq_len) - 1
        self.gate_scale = shape.head_width**-0.5 if gate_scale is None else gate_scale
        self.layers = nn.ParameterList(
            torch.zeros(self.highest + 1, shape.head_width) for _ in range(shape.depth)
        )

    def prepare(self, positions: Positions, dtype: torch.dtype) -> Bool[Tensor, "*batch query key"]:
        return ~cast(Tensor, positions.seen())

    def bias(
        self, q: Tensor, k: Tensor, x: Tensor, positions: Positions, layer: int
    ) -> Float[Tensor, "batch heads query key"]:
        logits = (self.gate_scale * q @ k.transpose(-1, -2)).to(exact(q.dtype))
        gates = logits.sigmoid().masked_fill(positions.shared, 0)
        place = contextual_positions(gates, self.highest)
        # For a bf16 model the place keeps its float32 fraction, the products do not.
        products = q @ self.layers[layer].T
        below = place.detach().floor()
        above = (below + 1).clamp(max=self.highest)
        lower, upper = products.gather(-1, below.long()), products.gather(-1, above.long())
        return torch.lerp(lower.to(place.dtype), upper.to(place.dtype), place - below)


class ForgettingGate(PositionScheme):
    """+ Σ_{l=j+1..i} ln σ(w_h·x_l + b_h), the log of what the gates from key to query let through.

    x is attention's input. A constant gate f is ALiBi with slope −ln f. Gates start at σ(b) with b
    = `gate_bias`; 0 as in the released code. Lin et al. 2025 (arXiv 2503.02130).
    """

    facts = frozenset({"fading"})
    relative = True
    causal_only = True
    needs_inputs = True

    def __init__(self, shape: Shape, *, gate_bias: float = 0.0) -> None:
        super().__init__(shape)
        # A gate on keys: recipes that treat roles apart leave "key" as it is.
        self.layers = nn.ModuleList(
            Projection(shape.width, shape.heads, "key", bias=False) for _ in range(shape.depth)
        )
        self.biases = nn.ParameterList(
            torch.full((shape.heads,), float(gate_bias)) for _ in range(shape.depth)
        )

    def bias(
        self, q: Tensor, k: Tensor, x: Tensor, positions: Positions, layer: int
    ) -> Float[Tensor, "batch heads query key"]:
        gates = (self.layers[layer](x) + self.biases[layer]).to(exact(x.dtype))
        passed = F.logsigmoid(gates).cumsum(dim=1).transpose(1, 2)
        return passed[:, :, -q.shape[2] :, None] - passed[:, :, None, :]
