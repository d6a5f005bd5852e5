"""The difference of two arms at a length, paired by seed and by target."""

from collections.abc import Mapping

from ablate.judge.by_document import LEVEL, DocumentSums, estimate
from ablate.judge.text_and_seeds import SeedsMean, over_text_and_seeds


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
