"""How a model's number would vary with other documents: ratio estimates with a jackknife. Pure.

Windows of one document are no independent evidence, and documents differ much in length: an
interval asks how the number moves as each document is left out in turn. Standard library only, as
all that a report needs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ablate.judge.intervals import t_quantile

FEWEST_DOCUMENTS = 8.0
"""Effective number of documents below which an interval covers too little to be told."""
FEWEST_WINDOWS = 256
"""Number of windows below which the same holds."""
BLOCKS = 16
"""Stretches into which a text of too few documents is cut."""
LEVEL = 0.95
"""Of every interval."""


@dataclass(frozen=True)
class DocumentSums:
    """A quantity added up over the targets of each document, `totals` over `counts`, [documents].

    `windows` is the number of windows, or of examples, that all documents have together.
    """

    totals: Sequence[float]
    counts: Sequence[float]
    windows: int

    def __sub__(self, other: "DocumentSums") -> "DocumentSums":
        """The difference target by target. Raises ValueError where the targets are not the same."""
        if list(self.counts) != list(other.counts):
            raise ValueError("sums over different targets have no difference target by target")
        pairs = zip(self.totals, other.totals, strict=True)
        return DocumentSums([own - less for own, less in pairs], self.counts, self.windows)


@dataclass(frozen=True)
class DocumentEstimate:
    """A number a target, and the variance that other documents of this kind would bring.

    `effective` is k = (Σ n)² / Σ n² of documents with n targets: how many documents of one length
    would tell as much. `largest` is the share of all targets that the largest document has.
    """

    value: float
    variance: float
    documents: int
    effective: float
    largest: float
    windows: int

    def sufficient(self, fewest_windows: int = FEWEST_WINDOWS) -> bool:
        """Whether there are documents and windows enough for an interval that can be trusted."""
        return self.effective >= FEWEST_DOCUMENTS and self.windows >= fewest_windows

    def interval(self, fewest_windows: int = FEWEST_WINDOWS) -> tuple[float, float] | None:
        """The 95 % interval of the value; None where documents or windows are too few."""
        if not self.sufficient(fewest_windows):
            return None
        half = t_quantile(self.effective - 1, LEVEL) * self.variance**0.5
        return self.value - half, self.value + half


def sum_by_document(
    sums: Sequence[float], counts: Sequence[float], of: Sequence[int]
) -> DocumentSums:
    """Add up by document what windows have, [windows] each: sums, target counts, document index.

    >>> sum_by_document([1.0, 2.0, 5.0], [2, 2, 4], [0, 0, 1])
    DocumentSums(totals=[3.0, 5.0], counts=[4.0, 4.0], windows=3)
    """
    return DocumentSums(added_up(sums, of), added_up(counts, of), len(of))


def added_up(values: Sequence[float], of: Sequence[int]) -> list[float]:
    """The sum of the values of each document, [documents]."""
    totals = [0.0] * (max(of, default=-1) + 1)
    for document, value in zip(of, values, strict=True):
        totals[document] += value
    return totals


def effective_documents(counts: Sequence[float]) -> float:
    """(Σ n)² / Σ n² of documents with n targets each; 0 without any target.

    >>> effective_documents([5, 5, 5]), effective_documents([8, 1, 1])
    (3.0, 1.5151515151515151)
    """
    squares = math.fsum(count * count for count in counts)
    return math.fsum(counts) ** 2 / squares if squares else 0.0


def estimate(sums: DocumentSums, reference: DocumentSums | None = None) -> DocumentEstimate | None:
    """The mean a target, less that of the same documents in `reference` if there is one.

    A ratio estimator, R = Σ y / Σ n over documents, or a difference of two of them, with the
    jackknife variance (D - 1) / D · Σ (R without d - their mean)² (Quenouille 1956; Tukey 1958).
    The two may have different numbers of targets. None where a number is not finite or fewer than
    two documents have targets.

    >>> estimate(DocumentSums([1.0, 2.0, 3.0], [1, 1, 1], 3)).value
    2.0
    """
    parts = (sums,) if reference is None else (sums, reference)
    columns = zip(*(part.counts for part in parts), strict=True)
    nonempty = [place for place, counts in enumerate(columns) if min(counts) > 0]
    totals = [[float(part.totals[place]) for place in nonempty] for part in parts]
    counts = [[float(part.counts[place]) for place in nonempty] for part in parts]
    if len(nonempty) < 2 or not all(map(math.isfinite, (total for row in totals for total in row))):
        return None
    value, without = ratios(totals[0], counts[0])
    if reference is not None:
        less, less_without = ratios(totals[1], counts[1])
        value -= less
        without = [own - other for own, other in zip(without, less_without, strict=True)]
    by_part = [(effective_documents(own), own) for own in counts]
    effective, sparsest = min(by_part, key=lambda part: part[0])
    middle = math.fsum(without) / len(nonempty)
    squares = math.fsum((each - middle) ** 2 for each in without)
    return DocumentEstimate(
        value=value,
        variance=squares * (len(nonempty) - 1) / len(nonempty),
        documents=len(nonempty),
        effective=effective,
        largest=max(sparsest) / math.fsum(sparsest),
        windows=min(part.windows for part in parts),
    )


def ratios(totals: Sequence[float], counts: Sequence[float]) -> tuple[float, list[float]]:
    """Σ totals / Σ counts of all documents, and without each of them in turn, [documents]."""
    total, count = math.fsum(totals), math.fsum(counts)
    pairs = zip(totals, counts, strict=True)
    return total / count, [(total - own) / (count - size) for own, size in pairs]


def units(
    of: Sequence[int], counts: Sequence[float]
) -> tuple[list[int], Literal["documents", "blocks"]]:
    """What stands for a document: documents, or where they are too few blocks of the text.

    `of` is the document of each window and `counts` its targets, [windows], in the order of the
    text. Blocks are 16 stretches of neighbouring windows: what is told by them holds for this text
    and says nothing of another.

    >>> units([0] * 64, [1] * 64)[1], units(range(64), [1] * 64)[1]
    ('blocks', 'documents')
    """
    if effective_documents(added_up(counts, of)) >= FEWEST_DOCUMENTS:
        return list(of), "documents"
    return [place * BLOCKS // len(of) for place in range(len(of))], "blocks"
