"""xPos: rotary positions with a decay."""

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.errors import UserError
from ablate.model.position.base import Positions
from ablate.model.position.rotary import Rotary
from ablate.model.shape import Shape


def xpos_decay(width: int) -> Float[Tensor, "pairs"]:
    """ζ_m = (2m/d + 0.4)/1.4 for the pairs m = 0 .. d/2 − 1, in float64.

    >>> [round(z, 6) for z in xpos_decay(4).tolist()]
    [0.285714, 0.642857]
    """
    return (torch.arange(0, width, 2, dtype=torch.float64) / width + 0.4) / 1.4


class XPos(Rotary):
    """RoPE with pair m of a query at i × ζ_m^(i/s), of a key at j × ζ_m^(−j/s), s = scale_base.

    Scores decay with i − j and would grow for keys that come later: causal only. Exponents count
    from the middle of the keys, which cancels in the scores and keeps both factors in range.
    Sun et al. 2022 (arXiv 2212.10554).
    """

    facts = frozenset({"fading", "rotary"})
    causal_only = True

    def __init__(
        self,
        shape: Shape,
        *,
        scale_base: float = 512.0,
        base: float = 10000.0,
        layout: str = "interleaved",
    ) -> None:
        super().__init__(shape, base=base, layout=layout, rotated=shape.head_width)
        if scale_base <= 0:
            raise UserError(f"scale_base={scale_base}: must be above 0 tokens")
        self.scale_base = scale_base

    def magnitudes(self, positions: Positions) -> tuple[Tensor, Tensor]:
        decay = xpos_decay(self.rotated).to(positions.query.device)
        middle = (positions.key.max() + positions.key.min()).double() / 2
        reach = float(positions.key.max() - middle) / self.scale_base
        if decay[0].item() ** reach < torch.finfo(torch.float32).tiny:
            raise UserError(
                f"scale_base={self.scale_base}: too small for {len(positions.key)} tokens, "
                "whose decay leaves the range of float32"
            )
        query = (positions.query.double() - middle)[:, None] / self.scale_base
        key = (positions.key.double() - middle)[:, None] / self.scale_base
        return decay**query, decay**-key
