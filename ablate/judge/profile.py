"""The gradient norm by depth as a row of bars. Pure functions."""

import math
from collections.abc import Sequence
from statistics import median

BARS = "▁▂▃▄▅▆▇█"
NOTHING = "·"  # a norm of zero, or none at all: the logarithm has no place for it
MOST = 12


def bins(norms: Sequence[float | None], count: int) -> list[float | None]:
    """Return the geometric means of `count` runs of neighbouring blocks.

    None where a norm is not above 0 or not finite.

    >>> [round(norm, 9) for norm in bins([1.0, 4.0, 9.0, 9.0], 2)]
    [2.0, 9.0]
    >>> bins([1.0, 1.0, 9.0, math.inf], 2)
    [1.0, None]
    """
    depth = len(norms)
    found: list[float | None] = []
    for place in range(count):
        part = [
            norm or 0.0 for norm in norms[place * depth // count : (place + 1) * depth // count]
        ]
        usable = all(0 < norm < math.inf for norm in part)
        found.append(math.exp(math.fsum(map(math.log, part)) / len(part)) if usable else None)
    return found


def profile(runs: Sequence[Sequence[float | None]]) -> list[float | None]:
    """Return the median over runs of the binned norms, block 1 first, at most 12 values.

    Runs of different depths are brought to the fewest blocks among them.

    >>> [round(norm, 9) for norm in profile([[1.0, 2.0], [3.0, 4.0], [5.0, 0.0]])]
    [3.0, 3.0]
    """
    runs = [norms for norms in runs if len(norms) > 0]
    if not runs:
        return []
    count = min(MOST, *(len(norms) for norms in runs))
    columns = zip(*(bins(norms, count) for norms in runs), strict=True)
    kept = ([value for value in column if value is not None] for column in columns)
    return [median(values) if values else None for values in kept]


def bars(values: Sequence[float | None]) -> str:
    """Draw values on a log scale: the tallest bar is the largest, the lowest the smallest.

    The height of the bars spans at least a factor of 10, so that a flat profile looks flat.

    >>> bars([1.0, 10.0, 100.0]), bars([1.0, 1.05, 1.1]), bars([1.0, None])
    ('▁▅█', '███', '█·')
    """
    logs = [math.log10(value) for value in values if value is not None]
    if not logs:
        return ""
    top, span = max(logs), max(1.0, max(logs) - min(logs))

    def bar(value: float | None) -> str:
        if value is None:
            return NOTHING
        below = (top - math.log10(value)) / span
        return BARS[round((len(BARS) - 1) * (1 - below))]

    return "".join(map(bar, values))
