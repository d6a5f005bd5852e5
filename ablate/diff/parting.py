"""Where two training curves part. Pure functions.

Runs of one seed see the same text in the same order, so that their losses differ step by step only
by what differs between them; the mean of such differences over the shared seeds is looked at.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ablate.judge.profile import NOTHING, draw

Curve = Mapping[int, float | None]
"""Loss by logged step, in nats; None where it is not finite."""

FEWEST = 10  # logged steps that noise can be told from
WINDOW = 10  # most logged steps that the difference is smoothed over
SIGMAS = 4.0


@dataclass(frozen=True)
class Points:
    """Losses of both sides at the steps that all their curves have, averaged over pairs."""

    steps: tuple[int, ...]
    first: tuple[float, ...]
    second: tuple[float, ...]

    @property
    def differences(self) -> list[float]:
        """Second less first."""
        return [b - a for a, b in zip(self.first, self.second, strict=True)]


def average(pairs: Sequence[tuple[Curve, Curve]]) -> Points:
    """Return the mean curves of pairs of curves over the steps that are finite in all of them.

    >>> average([({1: 5.0, 2: 4.0}, {1: 5.0, 2: 3.0, 3: 1.0})]).differences
    [0.0, -1.0]
    """
    curves = [curve for pair in pairs for curve in pair]
    steps = sorted(set(curves[0]).intersection(*curves[1:])) if curves else []
    shared = [step for step in steps if all(curve[step] is not None for curve in curves)]
    sides = [
        tuple(math.fsum(pair[side][step] or 0.0 for pair in pairs) / len(pairs) for step in shared)
        for side in (0, 1)
    ]
    return Points(tuple(shared), sides[0], sides[1])


def last_equal(pairs: Sequence[tuple[Curve, Curve]]) -> tuple[int | None, int | None]:
    """Return the last logged step up to which all pairs are equal to the bit, and the next one.

    None for a step that there is not: the curves differ at once, or never do.

    >>> last_equal([({1: 5.0, 10: 4.0}, {1: 5.0, 10: 3.9})])
    (1, 10)
    """
    equal = None
    curves = [curve for pair in pairs for curve in pair]
    for step in sorted(set(curves[0]).intersection(*curves[1:])) if curves else []:
        if any(first[step] != second[step] for first, second in pairs):
            return equal, step
        equal = step
    return equal, None


def noise(differences: Sequence[float]) -> float:
    """Return the standard deviation of one difference around a slow trend.

    From successive ones, whose trend cancels: σ² = Σ(d' - d)² / 2(n - 1) (von Neumann 1941).

    >>> noise([0.0, 1.0, 2.0, 3.0]), round(noise([0.1, -0.1, 0.1, -0.1]), 4)
    (0.7071067811865476, 0.1414)
    """
    squares = [(b - a) ** 2 for a, b in pairwise(differences)]
    return math.sqrt(math.fsum(squares) / (2 * max(1, len(squares))))


def parting(points: Points) -> int | None:
    """Return the step from which on the smoothed difference exceeds its noise up to the end.

    It exceeds it where a trailing mean over w logged steps (a tenth of them, at most 10) lies more
    than 4 σ/√w from 0. None where it does not at the end, or with fewer than 10 logged steps.
    """
    differences = points.differences
    if len(differences) < FEWEST:
        return None
    window = max(1, min(WINDOW, len(differences) // 10))
    limit = SIGMAS * noise(differences) / math.sqrt(window)
    sign, step = 0.0, None
    for end in range(len(differences), window - 1, -1):
        mean = math.fsum(differences[end - window : end]) / window
        sign = sign or math.copysign(1.0, mean)
        if mean * sign <= limit:
            break
        # Of the first window it is not known where in it they parted.
        step = points.steps[0 if end == window else end - 1]
    return step


def spark(values: Sequence[float], low: float, high: float, width: int) -> str:
    """Return a row of at most `width` bars between two bounds, each the mean of its share.

    >>> spark([1.0, 2.0, 3.0], 1.0, 3.0, 40), spark([3.0, 1.0], 1.0, 3.0, 1), spark([], 0.0, 1.0, 9)
    ('▁▅█', '▅', '·')
    """
    count = min(width, len(values))
    if not count:
        return NOTHING
    means = []
    for place in range(count):
        part = values[place * len(values) // count : (place + 1) * len(values) // count]
        means.append(math.fsum(part) / len(part))
    return draw(means, low, high)
