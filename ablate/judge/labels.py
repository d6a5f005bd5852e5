"""What became of a training: healthy, undecided, unstable, stuck or diverged. Pure functions.

`final` is the mean training loss of the last tenth of the steps; "smoothed" is the trailing
mean over `smoothing_window(steps)` steps. Losses are in nats per token.
"""

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Literal

from ablate.judge.learning import LearningWord
from ablate.judge.spikes import spikes
from ablate.judge.thresholds import (
    ABOVE_BEST,
    ABOVE_UNIFORM,
    BELOW_UNIGRAM,
    EXEMPT_STEPS,
    LARGEST_LOSS,
    MARGIN,
    SPIKE_SHARE,
)

Label = Literal["healthy", "undecided", "unstable", "stuck", "diverged"]
LABELS: tuple[Label, ...] = ("healthy", "undecided", "unstable", "stuck", "diverged")


def smoothing_window(steps: int) -> int:
    """Return the steps that a smoothed loss averages over: a twentieth of the run, 1 to 50.

    >>> [smoothing_window(steps) for steps in (1, 39, 150, 5000)]
    [1, 1, 7, 50]
    """
    return max(1, min(50, steps // 20))


def final_loss(losses: Sequence[float]) -> float:
    """Return the mean loss of the last tenth of the steps, at least one. Raises ValueError if none.

    >>> final_loss([5.0, 4.0, 3.0]), final_loss([4.0] * 18 + [2.0, 3.0])
    (3.0, 2.5)
    """
    if len(losses) == 0:
        raise ValueError("a training curve needs at least one step")
    tail = losses[-max(1, len(losses) // 10) :]
    return math.fsum(tail) / len(tail) if all(map(math.isfinite, tail)) else math.nan


def smooth(losses: Sequence[float], window: int) -> list[float]:
    """Return the trailing mean over `window` steps, over fewer at the start.

    >>> smooth([4.0, 2.0, 3.0], 2)
    [4.0, 3.0, 2.5]
    """
    sums = list(accumulate((min(loss, LARGEST_LOSS) for loss in losses), initial=0.0))
    starts = (max(0, end - window) for end in range(1, len(sums)))
    return [(sums[end] - sums[start]) / (end - start) for end, start in enumerate(starts, 1)]


def has_diverged(losses: Sequence[float], uniform: float) -> bool:
    """Whether a loss is not finite, or the final tenth lies above ln V + 0.5 or best + 1 nat.

    "Best" is the lowest smoothed loss. A rise that has come back down by the final tenth is not
    divergence (`spikes` sees it). Against ln V only steps after the 50th count.

    >>> has_diverged([5.5, 4.0, float("nan")], 5.545), has_diverged([30.0] * 50, 5.545)
    (True, False)
    """
    if not all(map(math.isfinite, losses)):
        return True
    if len(losses) == 0:
        return False
    if final_loss(losses) > min(smooth(losses, smoothing_window(len(losses)))) + ABOVE_BEST:
        return True
    judged = losses[max(EXEMPT_STEPS, len(losses) - max(1, len(losses) // 10)) :]
    return len(judged) > 0 and math.fsum(judged) / len(judged) > uniform + ABOVE_UNIFORM


def label(
    losses: Sequence[float],
    *,
    uniform: float,
    learning: LearningWord | None,
    targets: int | None = None,
) -> Label | None:
    """Return the label of a run that ended from its training losses and `judge.learning`'s word.

    `uniform` is ln V in nats, `targets` those of a batch. The first that fits of: diverged
    (`has_diverged`); stuck; unstable (at least 1 % of the steps are `spikes`); undecided; healthy,
    which is learned and none of these. None where there is no word, as of a run in its warmup.

    >>> falling = [5.5 - 0.02 * step for step in range(150)]
    >>> [label(falling, uniform=5.545, learning=word) for word in ("learned", None)]
    ['healthy', None]
    >>> label([5.5] * 150, uniform=5.545, learning="stuck")
    'stuck'
    """
    if has_diverged(losses, uniform):
        return "diverged"
    if learning == "stuck":
        return "stuck"
    if len(spikes(losses, targets)) >= SPIKE_SHARE * len(losses):
        return "unstable"
    return "healthy" if learning == "learned" else learning


def progress_label(
    losses: Sequence[float],
    *,
    uniform: float,
    unigram: float,
    steps: int,
    targets: int | None = None,
) -> Label | None:
    """Return how a run looks at `len(losses)` of `steps` steps, None if it is too early to say.

    By its training losses alone, and for the display alone: a record's label rests on validation.
    Stuck here is a final tenth that is not 0.05 nats below `unigram`, the loss of a model that
    knows only frequencies. Divergence shows at once. The rest waits for 50 steps and a fifth of the
    run (or its end): a run in its warmup is not yet stuck. Costs about a microsecond a step so far.

    >>> progress_label([5.5] * 20, uniform=5.545, unigram=3.3, steps=150) is None
    True
    """
    if has_diverged(losses, uniform):
        return "diverged"
    if len(losses) == 0 or len(losses) < min(steps, max(EXEMPT_STEPS, steps / 5)):
        return None
    at_unigram = final_loss(losses) >= unigram - BELOW_UNIGRAM
    learning: LearningWord = "stuck" if at_unigram else "learned"
    return label(losses, uniform=uniform, learning=learning, targets=targets)


def still_falling(steps: Sequence[float], losses: Sequence[float], margin: float = MARGIN) -> bool:
    """Whether the last third of a (thinned) curve falls by more than `margin` nats and its noise.

    By a least-squares line over that third: its fall exceeds the margin and two standard errors.
    Fewer than 3 points in that third say nothing: False.

    >>> still_falling(range(30), [3.0 - 0.05 * step for step in range(30)])
    True
    """
    points = list(zip(steps, losses, strict=True))
    points = points[len(points) - len(points) // 3 :]
    if len(points) < 3:
        return False
    x_mean = math.fsum(x for x, _ in points) / len(points)
    y_mean = math.fsum(y for _, y in points) / len(points)
    spread = math.fsum((x - x_mean) ** 2 for x, _ in points)
    if spread == 0:
        return False
    slope = math.fsum((x - x_mean) * (y - y_mean) for x, y in points) / spread
    rest = math.fsum((y - y_mean - slope * (x - x_mean)) ** 2 for x, y in points)
    error = math.sqrt(rest / (len(points) - 2) / spread)
    length = points[-1][0] - points[0][0]
    return -slope * length > max(margin, 2 * error * length)
