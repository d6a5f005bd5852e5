"""A mean over seeds, with the error of the seeds and that of the text that all of them share.

And the difference of two arms at a length, paired by seed and by target.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot, sqrt
from statistics import fmean, stdev

from ablate.judge.by_document import LEVEL, DocumentEstimate, DocumentSums, estimate
from ablate.judge.intervals import t_quantile


@dataclass(frozen=True)
class SeedsMean:
    """A mean over seeds, with standard errors from documents and from seeds.

    `interval` counts both errors: what other documents and other seeds would bring. `here` counts
    seeds alone: on this text. Of one seed there is no `seed_error` and no `here`; where documents
    are too few there is no `document_error` and no `interval`. `largest` is the share of all
    targets that the largest document has; `effective` documents of one length would tell as much
    as these, which have `windows`.
    """

    mean: float
    seeds: int
    document_error: float | None
    seed_error: float | None
    interval: tuple[float, float] | None
    here: tuple[float, float] | None
    largest: float
    effective: float
    windows: int


def over_text_and_seeds(estimates: Sequence[DocumentEstimate], level: float = LEVEL) -> SeedsMean:
    """The mean m of one estimate a seed, all of them on the same documents.

    m ± sqrt(t² v + u² s²/S): v is the mean of the estimates' variances by document and is not
    divided by the number of seeds S, since an odd document is odd for all of them; s² is the
    variance over seeds. t has k - 1 degrees of freedom for k effective documents, u has S - 1, so
    that the interval is never narrower than that of either error alone. (One quantile for the sum,
    with the degrees of freedom of Satterthwaite 1946, covers .89 with two seeds that differ.)
    Raises ValueError without an estimate.
    """
    if not estimates:
        raise ValueError("a mean over seeds needs one seed at least")
    values = [each.value for each in estimates]
    effective = min(each.effective for each in estimates)
    mean, seeds = fmean(values), len(values)
    by_text = by_seed = here = interval = None
    if seeds > 1:
        by_seed = stdev(values) / sqrt(seeds)
        here = around(mean, t_quantile(seeds - 1, level) * by_seed)
    if all(each.sufficient() for each in estimates):
        by_text = sqrt(fmean(each.variance for each in estimates))
        half = t_quantile(effective - 1, level) * by_text
        interval = around(mean, half if here is None else hypot(half, here[1] - mean))
    return SeedsMean(
        mean=mean,
        seeds=seeds,
        document_error=by_text,
        seed_error=by_seed,
        interval=interval,
        here=here,
        largest=max(each.largest for each in estimates),
        effective=effective,
        windows=min(each.windows for each in estimates),
    )


def around(mean: float, half: float) -> tuple[float, float]:
    """The interval of a mean and a half-width."""
    return mean - half, mean + half


def paired_difference(
    arm: Mapping[int, DocumentSums | None],
    other: Mapping[int, DocumentSums | None],
    level: float = LEVEL,
) -> SeedsMean | None:
    """Arm less other, a target, over the seeds that both have; sums by document for each seed.

    The difference is taken target by target within a seed, so that hard documents and lucky seeds
    cancel as far as both arms share them. A seed is left out where an arm lacks it (None: a length
    that cannot be done) or a number is not finite; None where no seed is left. Raises ValueError
    where the targets of a seed are not the same for both.
    """
    pairs = ((arm[seed], other[seed]) for seed in sorted(arm.keys() & other.keys()))
    differences = [
        estimate(sums - others) for sums, others in pairs if sums is not None and others is not None
    ]
    known = [difference for difference in differences if difference is not None]
    return over_text_and_seeds(known, level) if known else None
