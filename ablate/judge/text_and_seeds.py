"""A mean over seeds, with the error of the seeds and that of the text that all of them share."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, variance

from ablate.judge.by_document import DocumentEstimate, t_quantile


@dataclass(frozen=True)
class SeedsMean:
    """A mean over seeds, with standard errors from documents and from seeds.

    `interval` counts both errors: what other documents and other seeds would bring. `here` counts
    seeds alone: on this text. Of one seed there is no `seed_error` and no `here`; where documents
    are too few there is no `document_error` and no `interval`. `largest` is the share of all
    targets that the largest document has.
    """

    mean: float
    seeds: int
    document_error: float | None
    seed_error: float | None
    freedom: float | None
    interval: tuple[float, float] | None
    here: tuple[float, float] | None
    largest: float


def over_text_and_seeds(estimates: Sequence[DocumentEstimate]) -> SeedsMean:
    """The mean of one estimate a seed, all of them on the same documents.

    m ± t · sqrt(v + s²/S): v is the mean of the estimates' variances by document and is not
    divided by the number of seeds S, since an odd document is odd for all of them; s² is the
    variance over seeds. Degrees of freedom of the sum are those of Satterthwaite (1946), from
    k - 1 of the documents and S - 1 of the seeds. Raises ValueError without an estimate.
    """
    if not estimates:
        raise ValueError("a mean over seeds needs one seed at least")
    values = [each.value for each in estimates]
    mean, seeds = fmean(values), len(values)
    by_text = fmean(each.variance for each in estimates)
    by_seed = variance(values) / seeds if seeds > 1 else 0.0
    effective = min(each.effective for each in estimates)
    sufficient = all(each.sufficient() for each in estimates)
    freedom = satterthwaite(by_text, effective - 1, by_seed, seeds - 1) if sufficient else None
    return SeedsMean(
        mean=mean,
        seeds=seeds,
        document_error=sqrt(by_text) if sufficient else None,
        seed_error=sqrt(by_seed) if seeds > 1 else None,
        freedom=freedom,
        interval=None if freedom is None else around(mean, by_text + by_seed, freedom),
        here=around(mean, by_seed, seeds - 1) if seeds > 1 else None,
        largest=max(each.largest for each in estimates),
    )


def around(mean: float, error: float, freedom: float) -> tuple[float, float]:
    """The 95 % interval of a mean with squared standard error `error`."""
    half = t_quantile(freedom) * sqrt(error)
    return mean - half, mean + half


def satterthwaite(
    first: float, first_freedom: float, second: float, second_freedom: float
) -> float:
    """Degrees of freedom of the sum of two variances: (a + b)² / (a²/f + b²/g).

    A variance of 0 adds nothing; where both are 0 the larger freedom is taken, since any does.

    >>> satterthwaite(1.0, 10.0, 0.0, 0.0), satterthwaite(1.0, 10.0, 1.0, 10.0)
    (10.0, 20.0)
    """
    parts = ((first, first_freedom), (second, second_freedom))
    spread = sum(value**2 / freedom for value, freedom in parts if value > 0)
    return (first + second) ** 2 / spread if spread else max(first_freedom, second_freedom)
