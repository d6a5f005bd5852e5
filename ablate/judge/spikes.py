"""Steps whose loss stands far above its trend. Pure functions; losses in nats per token."""

import math
from collections import deque
from collections.abc import Sequence

from ablate.judge.thresholds import (
    LARGEST_LOSS,
    ONE_WRONG,
    SIGMA_FLOOR,
    SPIKE_MINIMUM,
    SPIKE_SIGMAS,
    SPIKE_WINDOW,
)


def sigma_floor(targets: int | None) -> float:
    """Return the least sigma in nats of a batch's loss, the mean over so many targets.

    Where nearly all are right, one wrong answer among few is a rise and no spike.

    >>> sigma_floor(1024), sigma_floor(16), sigma_floor(None)
    (0.01, 0.075, 0.01)
    """
    return max(SIGMA_FLOOR, ONE_WRONG / math.sqrt(targets)) if targets else SIGMA_FLOOR


def deviations(losses: Sequence[float], targets: int | None = None) -> list[float]:
    """Return how many sigma each step lies above the trailing mean; NaN before 10 steps are known.

    Mean and sigma are those of the `SPIKE_WINDOW` steps before that were not spikes themselves, so
    that one spike does not hide the next and a jump that never recovers counts at every step.
    `targets` are those of a batch, see `sigma_floor`.

    >>> [round(z) for z in deviations([2.0, 2.1] * 10 + [2.05, 9.0])[-2:]]
    [0, 139]
    """
    sigmas: list[float] = []
    floor = sigma_floor(targets)
    recent: deque[float] = deque()
    total = squares = 0.0
    for loss in losses:
        loss = min(loss, LARGEST_LOSS)
        count, z = len(recent), math.nan
        if count >= SPIKE_MINIMUM:
            mean = total / count
            variance = max(0.0, squares - count * mean * mean) / (count - 1)
            z = (loss - mean) / max(math.sqrt(variance), floor)
        sigmas.append(z)
        if z > SPIKE_SIGMAS:
            continue
        recent.append(loss)
        total, squares = total + loss, squares + loss * loss
        if len(recent) > SPIKE_WINDOW:
            oldest = recent.popleft()
            total, squares = total - oldest, squares - oldest * oldest
    return sigmas


def spikes(losses: Sequence[float], targets: int | None = None) -> list[int]:
    """Return the 1-based steps more than 7 sigma above the trailing mean; see `deviations`.

    >>> spikes([2.0, 2.1] * 10 + [9.0, 9.0] + [2.0, 2.1] * 5)
    [21, 22]
    """
    return [step for step, z in enumerate(deviations(losses, targets), 1) if z > SPIKE_SIGMAS]


def spike_score(losses: Sequence[float], targets: int | None = None) -> tuple[float, float | None]:
    """Return the share of steps that are spikes and the largest deviation in sigma, None without.

    Takase et al. 2023 (arXiv 2312.16903) and Wortsman et al. 2023 (arXiv 2309.14322) count so.

    >>> spike_score([2.0, 2.1] * 10)[0], spike_score([2.0] * 3)
    (0.0, (0.0, None))
    """
    zs = deviations(losses, targets)
    known = [z for z in zs if not math.isnan(z)]
    share = sum(z > SPIKE_SIGMAS for z in known) / max(1, len(zs))
    return share, max(known, default=None)
