"""Whether a run tolerates, or gains from, more context than it was trained with.

e(c) is how much better the same targets are predicted with c tokens of context than with the train
length L. With a margin δ, a run tolerates c where e(c) ≥ −δ, and extrapolates to c where e(c) > δ.
The interval of e(c) decides: "yes" where all of it says so, "no" where none of it does, else
"undecided". A run that is no better than guessing at L has nothing to lose at c: where its interval
would say "yes" to tolerating c, the answer is "undecided".
"""

from collections.abc import Sequence
from typing import Literal

from ablate.evaluate.resampling import Interval
from ablate.judge.thresholds import MARGIN
from ablate.record.evaluated import LengthFlags

DEFINITION = (
    "tolerates c: at c no worse than at L by more than the margin; extrapolates to c: better by "
    "more than it; yes or no where the whole interval of the difference says so, and not yes to "
    "the first where guessing is as good as the run at L; for c above L"
)

Flag = Literal["yes", "no", "undecided"]


def tolerates(effect: Interval) -> Flag:
    """Whether an effect with this interval is at least −δ.

    >>> tolerates([-0.01, 0.0]), tolerates([-0.1, -0.05]), tolerates([-0.03, 0.0])
    ('yes', 'no', 'undecided')
    """
    low, high = effect
    return "yes" if low >= -MARGIN else "no" if high < -MARGIN else "undecided"


def gains(effect: Interval) -> Flag:
    """Whether an effect with this interval is above δ.

    >>> gains([0.03, 0.1]), gains([-0.1, 0.02]), gains([0.0, 0.1])
    ('yes', 'no', 'undecided')
    """
    low, high = effect
    return "yes" if low > MARGIN else "no" if high <= MARGIN else "undecided"


def beats(values: Interval | None, guessing: float) -> bool:
    """Whether all of a value's interval is above what guessing gets.

    >>> beats([0.2, 0.3], 0.15), beats([0.1, 0.3], 0.15), beats(None, 0.0)
    (True, False, False)
    """
    return values is not None and values[0] > guessing


def flags(
    lengths: Sequence[int],
    trained: int,
    differences: Sequence[Interval | None],
    *,
    lower_is_better: bool,
    learned: bool,
) -> LengthFlags:
    """Both flags at each length c, from intervals of value(c) − value(L).

    None at lengths up to L, and where there is no interval. `trained` is L; `learned` says that the
    value at L beats guessing.
    """
    effects = [
        None
        if bounds is None or length <= trained
        else [-bounds[1], -bounds[0]]
        if lower_is_better
        else bounds
        for length, bounds in zip(lengths, differences, strict=True)
    ]
    return LengthFlags(
        tolerates=[None if effect is None else kept(effect, learned) for effect in effects],
        extrapolates=[None if effect is None else gains(effect) for effect in effects],
    )


def kept(effect: Interval, learned: bool) -> Flag:
    """`tolerates(effect)`, but "undecided" for a yes where nothing was learned at L."""
    flag = tolerates(effect)
    return "undecided" if flag == "yes" and not learned else flag
