"""What depth does to gradients, stream and tokens before anything is learned. Pure functions."""

import math
from collections.abc import Sequence
from typing import Literal

from ablate.judge.profile import first_over_last
from ablate.judge.thresholds import ALIKE, FEWEST_GROWING, GROWTH, STEEP

Norms = Sequence[float | None]
"""By block, the first one first; None where the number was not finite."""


def inner(inputs: Norms) -> Norms:
    """Norms at the inputs of all blocks but the first, or of the only one.

    Block 1's input carries the scale of the embeddings, which says nothing of the depth: with
    post-norm and init=gpt2 the gradient there is 50 times that of the blocks.
    """
    return inputs[1:] or inputs


def gradient_flow(parameters: Norms, inputs: Norms) -> Literal["vanishing", "exploding"] | None:
    """Whether gradient norms fall or rise 100 times from the last block to the first.

    `parameters` are norms over the parameters of each block, `inputs` at each block's input, of
    which the first is left out (`inner`). A stack that no gradient reaches counts as vanishing.

    >>> gradient_flow([1.0, 1.0, 1.0], [9.0, 1e-5, 1.0]), gradient_flow([1.0, 1.0], [1e-3, 1.0])
    ('vanishing', None)
    """
    ends = [
        (norms[0], norms[-1])
        for norms in (parameters, inner(inputs))
        if norms and norms[0] is not None and norms[-1] is not None
    ]
    if any(first * STEEP < last or first == last == 0 for first, last in ends):
        return "vanishing"
    return "exploding" if any(first > STEEP * last for first, last in ends) else None


def vanished(norms: Norms) -> float | None:
    """The norm of the first block over that of the last where it is below 0.01, else None.

    >>> vanished([1e-6, 1e-3, 1.0]), vanished([0.5, 1.0])
    (1e-06, None)
    """
    ratio = first_over_last(norms)
    return ratio if ratio is not None and ratio < 1 / STEEP else None


def grows_exponentially(stream_slope: float, added_slope: float, blocks: int) -> bool:
    """Whether the stream grows by a factor a block, because what blocks add grows with it.

    The slopes are those of ln rms a block: of the stream after each block, and of what each block
    adds. The stream grows 3 times over the stack, and what is added at least half as fast. In
    pre-norm each block adds as much as the last, and the variance grows along a line.

    >>> grows_exponentially(0.5, 0.5, 12), grows_exponentially(0.18, 0.0, 12)
    (True, False)
    """
    if blocks < FEWEST_GROWING:
        return False
    return stream_slope * (blocks - 1) > math.log(GROWTH) and added_slope >= stream_slope / 2


def collapsed(cosine: float) -> bool:
    """Whether tokens with this mean cosine between them have become one.

    At initialisation 0.97 is met in stacks that train well (norm=hybrid, 24 blocks).
    """
    return cosine > ALIKE
