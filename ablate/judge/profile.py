"""Numbers by block: ratios and bars, and what depth does before anything is learned. Pure."""

import math
from collections.abc import Sequence
from statistics import median
from typing import Literal

from ablate.judge.thresholds import ALIKE, FEWEST_GROWING, GROWTH, STEEP

BARS = "▁▂▃▄▅▆▇█"
NOTHING = "·"  # a norm of zero, or none at all: the logarithm has no place for it
MOST = 12


def first_over_last(norms: Sequence[float | None]) -> float | None:
    """The first block's norm over the last one's; None where that has no value.

    >>> first_over_last([3.0, 2.0, 1.5]), first_over_last([1.0, 0.0]), first_over_last([])
    (2.0, None, None)
    """
    if not norms or norms[0] is None or not norms[-1]:
        return None
    return norms[0] / norms[-1]


def bins(norms: Sequence[float | None], count: int) -> list[float | None]:
    """The geometric means of `count` runs of neighbouring blocks.

    None where a norm is not above 0 or not finite.

    >>> [round(norm, 9) for norm in bins([1.0, 4.0, 9.0, 9.0], 2)]
    [2.0, 9.0]
    >>> bins([1.0, 1.0, 9.0, math.inf], 2)
    [1.0, None]
    """
    depth = len(norms)
    means: list[float | None] = []
    for place in range(count):
        part = [
            norm or 0.0 for norm in norms[place * depth // count : (place + 1) * depth // count]
        ]
        usable = all(0 < norm < math.inf for norm in part)
        means.append(math.exp(math.fsum(map(math.log, part)) / len(part)) if usable else None)
    return means


def profile(runs: Sequence[Sequence[float | None]]) -> list[float | None]:
    """The median over runs of the binned norms, block 1 first, at most 12 values.

    Runs of different depths are brought to the fewest blocks among them.

    >>> [round(norm, 9) for norm in profile([[1.0, 2.0], [3.0, 4.0], [5.0, 0.0]])]
    [3.0, 3.0]
    """
    runs = [norms for norms in runs if len(norms) > 0]
    if not runs:
        return []
    count = min(MOST, *(len(norms) for norms in runs))
    columns = zip(*(bins(norms, count) for norms in runs), strict=True)
    usable = ([value for value in column if value is not None] for column in columns)
    return [median(values) if values else None for values in usable]


def draw(values: Sequence[float | None], low: float, high: float) -> str:
    """A bar for each value, the lowest at `low` and the tallest at `high`; a dot for None.

    >>> draw([1.0, 2.0, None, 3.0], 1.0, 3.0), draw([2.0], 2.0, 2.0)
    ('▁▅·█', '▁')
    """
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(NOTHING if v is None else BARS[round((v - low) * scale)] for v in values)


def bars(values: Sequence[float | None]) -> str:
    """Bars on a log scale: the tallest is the largest value, the lowest the smallest.

    The height of the bars spans at least a factor of 10, so that a flat profile looks flat.

    >>> bars([1.0, 10.0, 100.0]), bars([1.0, 1.05, 1.1]), bars([1.0, None])
    ('▁▅█', '███', '█·')
    """
    logs, low, high = logarithms(values)
    return draw(logs, low, high) if any(log is not None for log in logs) else ""


def logarithms(values: Sequence[float | None]) -> tuple[list[float | None], float, float]:
    """Decadic logarithms with their bounds, at least 1 apart; None of what has none.

    >>> logarithms([1.0, 0.0, 100.0]), logarithms([10.0])
    (([0.0, None, 2.0], 0.0, 2.0), ([1.0], 0.0, 1.0))
    """
    logs = [math.log10(value) if value else None for value in values]
    known = [log for log in logs if log is not None]
    high = max(known, default=0.0)
    return logs, min((*known, high - 1)), high


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
