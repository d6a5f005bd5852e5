"""Documents of skewed lengths with made-up scores, whose true mean is known."""

from collections.abc import Sequence

import numpy as np

from ablate.judge.by_document import DocumentSums, sum_by_document

TARGETS = 8
"""Targets of a window."""


def lay(
    random: np.random.Generator, *, documents: int = 40, windows: int = 256, skew: float = 1.2
) -> np.ndarray:
    """The document of each window, [windows]: documents have log-normal lengths.

    The few that no window falls into are left out.
    """
    lengths = random.lognormal(0, skew, documents)
    of = np.repeat(np.arange(documents), random.multinomial(windows, lengths / lengths.sum()))
    return np.unique(of, return_inverse=True)[1]


def score(
    random: np.random.Generator,
    of: np.ndarray,
    *,
    means: Sequence[float],
    between: float = 0.1,
    own: float = 0.0,
    within: float = 0.3,
) -> list[DocumentSums]:
    """Sums by document of one run a mean, all on the same documents.

    `between` is the spread of documents that all runs share (heavy tails: t with 5 degrees of
    freedom), `own` that of documents for each run apart, `within` that of windows.
    """
    documents, counts = int(of.max()) + 1, np.full(len(of), TARGETS)
    shared = between * random.standard_t(5, documents) / np.sqrt(5 / 3)
    runs = []
    for mean in means:
        place = mean + shared + random.normal(0, own, documents)
        values = place[of] + random.normal(0, within, len(of))
        runs.append(sum_by_document((TARGETS * values).tolist(), counts.tolist(), of.tolist()))
    return runs
