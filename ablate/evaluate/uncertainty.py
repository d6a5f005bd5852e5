"""Bootstrap intervals of the numbers at each length, and the flags that follow from them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ablate.evaluate.resampling import DRAWS, interval
from ablate.evaluate.tolerance import DEFINITION, beats, flags
from ablate.judge.thresholds import MARGIN
from ablate.record.evaluated import BootstrapIntervals, LengthFlags, ToleranceFlags


def uncertainty(
    draws: Mapping[str, np.ndarray],
    lengths: Sequence[int],
    trained: int,
    *,
    over: str,
    groups: int,
    guess: Mapping[str, float],
) -> tuple[BootstrapIntervals, ToleranceFlags]:
    """`interval` and `flags` of a record, from draws of each measure, [draws, lengths].

    Intervals are of each value and of its difference to the value at the train length `trained`;
    null where draws are not finite. `guess` holds what guessing gets at L, for accuracy at least;
    any other measure counts as learned where accuracy does.
    """
    at_trained = lengths.index(trained)
    bounds: dict[str, Any] = {}
    flags_of: dict[str, LengthFlags] = {}
    for measure, values in draws.items():
        differences = [interval(column - values[:, at_trained]) for column in values.T]
        bounds[measure] = [interval(column) for column in values.T]
        bounds[f"{measure}_difference"] = differences
        guessed = measure if measure in guess else "accuracy"
        flags_of[measure] = flags(
            lengths,
            trained,
            differences,
            lower_is_better=measure == "nll",
            learned=beats(interval(draws[guessed][:, at_trained]), guess[guessed]),
        )
    intervals = BootstrapIntervals(0.95, DRAWS, over, groups, **bounds)
    return intervals, ToleranceFlags(MARGIN, DEFINITION, **flags_of)
