"""Differences judged together: Holm over all of them, and intervals as strict as the verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ablate.judge.intervals import t_quantile
from ablate.report.inference.testing import LEVEL, Difference, holm

Size = Literal[
    "beyond",  # the margin: the difference matters
    "within",  # the margin: it does not
    "apart",  # there is a difference; whether it is beyond the margin is open
    "open",  # neither a difference nor its absence was shown
    "untested",  # no interval: one seed, or no spread
]


@dataclass(frozen=True)
class Corrected:
    """What a difference shows as one of a family of `family` tests.

    `low` and `high` are the interval at `level`, the one at which Holm's procedure decided: they
    are beyond, or within, the margin, or exclude 0, exactly where `size` says so. `only_alone`
    tells that the 95 % interval excludes 0 and this one does not: clear alone, not after the
    correction.
    """

    size: Size
    p_holm: float | None
    p_margin_holm: float | None
    p_equivalence_holm: float | None
    level: float | None
    low: float | None
    high: float | None
    family: int
    only_alone: bool


def least_p(family: Sequence[Corrected]) -> float:
    """Return the smallest corrected p of no difference, 0 where nothing could be tested."""
    return min((one.p_holm for one in family if one.p_holm is not None), default=0.0)


def corrected(
    family: Sequence[Difference], at_least: float = 0.0, shares: Sequence[float] = ()
) -> list[Corrected]:
    """Judge the differences of one family: main effects and interactions together, say.

    No corrected p of a difference is below `at_least`: that of a family which is told first, so
    that two families together claim nothing more often than the first does alone. Equivalence,
    which claims no difference, needs no such gate. `shares` are how much of the
    level each may use up: 1 without them, less where the rest is for failures or for other looks.

    >>> from ablate.report.inference.testing import difference
    >>> clear, weak = difference([0.4, 0.5, 0.6], 0.02), difference([0.1, 0.2, 0.15], 0.02)
    >>> [(one.size, one.level) for one in corrected([weak, clear])]
    [('beyond', 0.05), ('beyond', 0.025)]
    >>> [(one.size, one.level, one.only_alone) for one in corrected([weak, weak])]
    [('open', 0.025, True), ('open', 0.025, True)]
    """
    p_zero, p_margin, p_equal = (
        [one.p for one in family],
        [one.p_margin for one in family],
        [one.p_equivalence for one in family],
    )
    tests = {"beyond": p_margin, "within": p_equal, "apart": p_zero}
    shares = shares or [1.0] * len(family)
    tests = {size: list(map(_divided, values, shares)) for size, values in tests.items()}
    adjusted = {size: holm(values) for size, values in tests.items()}
    for size in ("beyond", "apart"):
        adjusted[size] = [None if p is None else max(p, at_least) for p in adjusted[size]]
    levels = {size: _levels(values) for size, values in tests.items()}
    judged = []
    for place, one in enumerate(family):
        size = _size(one, {name: values[place] for name, values in adjusted.items()})
        level = levels["apart" if size == "open" else size][place] if size != "untested" else None
        level = level and level * shares[place]
        low, high = at_level(one, level)
        judged.append(
            Corrected(
                size=size,
                p_holm=adjusted["apart"][place],
                p_margin_holm=adjusted["beyond"][place],
                p_equivalence_holm=adjusted["within"][place],
                level=level,
                low=low,
                high=high,
                family=sum(p is not None for p in p_zero),
                only_alone=size == "open" and one.p is not None and one.p <= LEVEL,
            )
        )
    return judged


def _divided(p: float | None, share: float) -> float | None:
    return None if p is None else min(1.0, p / share)


def _size(one: Difference, adjusted: dict[str, float | None]) -> Size:
    if one.p is None:
        return "untested"
    sizes: tuple[Size, ...] = ("beyond", "within", "apart")
    shown = (size for size in sizes if (adjusted[size] or 0.0) <= LEVEL)
    return next(shown, "open")


def _levels(values: Sequence[float | None]) -> list[float]:
    """The level at which Holm's procedure decides each test.

    0.05 / m for the smallest of m, then 0.05 / (m - 1), and so on up to the first that is not
    rejected, at whose level the procedure stops for all that are left.

    >>> [round(level, 4) for level in _levels([0.001, 0.2, 0.02, 0.03])]
    [0.0125, 0.0167, 0.0167, 0.0167]
    """
    order = sorted((p, place) for place, p in enumerate(values) if p is not None)
    levels = [LEVEL] * len(values)
    level = LEVEL
    stopped = False
    for rank, (p, place) in enumerate(order):
        level = level if stopped else LEVEL / (len(order) - rank)
        stopped = stopped or p > level
        levels[place] = level
    return levels


def at_level(one: Difference, level: float | None) -> tuple[float | None, float | None]:
    """Return the interval of a difference at another level than 0.05.

    >>> from ablate.report.inference.testing import difference
    >>> [round(end, 2) for end in at_level(difference([0.4, 0.5, 0.6], 0.02), 0.01)]
    [-0.07, 1.07]
    """
    if level is None or one.mean is None or one.low is None or one.high is None:
        return None, None
    if one.low == one.high:
        return one.low, one.high
    half = (one.high - one.low) / 2 * t_quantile(one.n - 1, 1 - level) / t_quantile(one.n - 1)
    return one.mean - half, one.mean + half
