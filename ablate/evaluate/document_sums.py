"""What was scored at each length, added up by document, and the intervals that follow."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np

from ablate.evaluate.windows import Scores, Windows
from ablate.judge.at_length import effect_at, sums_at
from ablate.judge.by_document import LEVEL, estimate
from ablate.judge.keeping import Measure
from ablate.record.evaluated import DocumentScores, Extrapolation, LengthIntervals

DIGITS = 4
"""Decimals of nats that are kept of a sum."""


def documents_of(ends: np.ndarray, documents: np.ndarray) -> np.ndarray:
    """By window the document of its last target, numbered from 0 among those that have a window.

    `documents` are the positions where documents begin, `ends` those of last targets.

    >>> documents_of(np.array([5, 19, 20, 45]), np.array([0, 10, 20, 30, 40])).tolist()
    [0, 1, 2, 3]
    """
    numbers = np.searchsorted(documents, ends, side="right")
    return np.unique(numbers, return_inverse=True)[1]


def add_up(values: np.ndarray, scored: np.ndarray, of: np.ndarray) -> list[float]:
    """Sums over scored targets by document, from [windows, targets]."""
    sums = np.where(scored, values, 0).sum(axis=1, dtype=np.float64)
    return [round(total, DIGITS) for total in np.bincount(of, sums).tolist()]


def text_documents(
    scores: Mapping[int, Scores],
    lengths: Sequence[int],
    trained: int,
    layout: Windows,
    documents: np.ndarray,
    costs: np.ndarray,
) -> DocumentScores:
    """Sums by document of the target groups at each length.

    `documents` are the positions where documents begin; `costs` what each token costs a model that
    knows only frequencies, nats.
    """
    of = documents_of(layout.ends, documents)
    by_length = [scores.get(length) for length in lengths]
    at_trained = scores[trained]
    targets = np.where(at_trained.scored, at_trained.targets, 0)
    return DocumentScores(
        over="documents",
        windows=len(of),
        places=[int(layout.ends[0]), int(layout.ends[-1]), layout.width],
        counts=[
            None if each is None else np.bincount(of, each.scored.sum(axis=1)).astype(int).tolist()
            for each in by_length
        ],
        correct=[
            add_up(each.correct, each.scored, of) if each and each.finite else None
            for each in by_length
        ],
        nll=[
            add_up(each.nll, each.scored, of) if each and each.finite else None
            for each in by_length
        ],
        frequent=add_up(targets == costs.argmin(), at_trained.scored, of),
        unigram=add_up(costs[targets], at_trained.scored, of),
    )


def length_intervals(measured: Extrapolation) -> LengthIntervals:
    """The intervals at each length, of values and of differences to the train length's."""
    trained, documents = measured.train_length, measured.documents
    bounds: dict[str, Any] = {}
    measures: tuple[Measure, ...] = get_args(Measure)
    for measure in measures:
        if measure == "exact" and not documents.exact:
            continue
        values, differences = [], []
        for context in measured.lengths:
            sums = sums_at(measured, measure, context)
            values.append(pair(None if sums is None else estimate(sums)))
            effect = effect_at(measured, measure, context)
            better = pair(effect)
            if better is not None and measure == "nll":  # told as nll(c) - nll(L)
                better = [-better[1], -better[0]]
            differences.append([0.0, 0.0] if better and context == trained else better)
        bounds[measure], bounds[f"{measure}_difference"] = values, differences
    units = next((len(row) for row in documents.counts if row is not None), None)
    return LengthIntervals(level=LEVEL, over=documents.over, groups=units, **bounds)


def pair(measured: Any) -> list[float] | None:
    """The interval of an estimate as a record has it."""
    bounds = None if measured is None else measured.interval()
    return None if bounds is None else list(bounds)
