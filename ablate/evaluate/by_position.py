"""Accuracy and nll at each position of the longest windows: a curve, and a table of buckets."""

from collections.abc import Sequence

import numpy as np

from ablate.record.evaluated import PositionBuckets, PositionCurve


def position_curve(nll: np.ndarray, correct: np.ndarray, bucket: int) -> PositionCurve:
    """Means over windows and over `bucket` neighbouring positions, from [windows, context].

    `position` is the number of context tokens at the end of a bucket. All buckets have equally many
    targets, but different ones.
    """
    last = nll.shape[1] // bucket * bucket
    shape = (nll.shape[0], last // bucket, bucket)
    return PositionCurve(
        position=list(range(bucket, last + 1, bucket)),
        nll=nll[:, :last].reshape(shape).mean(axis=(0, 2)).tolist(),
        accuracy=correct[:, :last].reshape(shape).mean(axis=(0, 2)).tolist(),
    )


def bucket_table(nll: np.ndarray, correct: np.ndarray, edges: Sequence[int]) -> PositionBuckets:
    """Means over buckets of positions between neighbouring `edges`, from [windows, context].

    The first bucket begins at 0. Each has as many targets as the narrowest has, taken at evenly
    spaced positions. None where a bucket reaches beyond the windows.
    """
    starts = [0, *edges[:-1]]
    width = min(end - start for start, end in zip(starts, edges, strict=True))
    places = [bucket_places(a, b, width) for a, b in zip(starts, edges, strict=True)]

    def means(values: np.ndarray) -> list[float | None]:
        return [
            float(values[:, bucket].mean()) if end <= values.shape[1] else None
            for bucket, end in zip(places, edges, strict=True)
        ]

    return PositionBuckets(
        from_=starts,
        to=list(edges),
        targets=len(nll) * width,
        nll=means(nll),
        accuracy=means(correct),
    )


def bucket_places(start: int, end: int, count: int) -> np.ndarray:
    """`count` evenly spaced indices from `start` to before `end`.

    >>> bucket_places(4, 8, 4).tolist(), bucket_places(8, 16, 4).tolist()
    ([4, 5, 6, 7], [9, 11, 13, 15])
    """
    return start + ((np.arange(count) + 0.5) * (end - start) / count).astype(int)
