"""How sure numbers at each length are: bootstrap intervals, and the flags that follow from them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ablate.evaluate.resampling import DRAWS, interval
from ablate.evaluate.tolerance import DEFINITION, beats, flags
from ablate.judge.thresholds import MARGIN
from ablate.record.evaluated import BootstrapIntervals, LengthFlags, ToleranceFlags


def uncertainty(
    drawn: Mapping[str, np.ndarray],
    lengths: Sequence[int],
    trained: int,
    *,
    over: str,
    groups: int,
    guess: Mapping[str, float],
) -> tuple[BootstrapIntervals, ToleranceFlags]:
    """`interval` and `flags` of a record, from draws of each measure, [draws, lengths].

    Of each value and of its difference to the train length's; null where draws are not finite.
    `guess` has what guessing gets at L, of accuracy at least; a measure that it lacks is learned
    where accuracy is.
    """
    own = lengths.index(trained)
    bounds: dict[str, Any] = {}
    judged: dict[str, LengthFlags] = {}
    for measure, values in drawn.items():
        differences = [interval(column - values[:, own]) for column in values.T]
        bounds[measure] = [interval(column) for column in values.T]
        bounds[f"{measure}_difference"] = differences
        known = measure if measure in guess else "accuracy"
        judged[measure] = flags(
            lengths,
            trained,
            differences,
            lower_is_better=measure == "nll",
            learned=beats(interval(drawn[known][:, own]), guess[known]),
        )
    intervals = BootstrapIntervals(0.95, DRAWS, over, groups, **bounds)
    return intervals, ToleranceFlags(MARGIN, DEFINITION, **judged)
