"""How a model's number would vary with other documents: ratio estimates with a jackknife. Pure.

Windows of one document are no independent evidence, and documents differ much in length: an
interval asks how the number moves as each document is left out in turn.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ablate.judge.beta import t_quantile_at

FEWEST_DOCUMENTS = 8.0
"""Effective number of documents below which an interval covers too little to be told."""
FEWEST_WINDOWS = 256
"""Number of windows below which the same holds."""
BLOCKS = 16
"""Stretches into which a text of too few documents is cut."""
LEVEL = 0.95


@dataclass(frozen=True)
class DocumentSums:
    """A quantity added up over the targets of each document, `totals` over `counts`, [documents].

    `windows` is the number of windows, or of examples, that all documents have together.
    """

    totals: np.ndarray
    counts: np.ndarray
    windows: int

    def __sub__(self, other: "DocumentSums") -> "DocumentSums":
        """The difference target by target. Raises ValueError where the targets are not the same."""
        if not np.array_equal(self.counts, other.counts):
            raise ValueError("sums over different targets have no difference target by target")
        return DocumentSums(self.totals - other.totals, self.counts, self.windows)


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
        half = t_quantile_at(self.effective - 1, LEVEL) * self.variance**0.5
        return self.value - half, self.value + half


def sum_by_document(sums: np.ndarray, counts: np.ndarray, of: np.ndarray) -> DocumentSums:
    """Add up by document what windows have, [windows] each: sums, target counts, document index.

    >>> sum_by_document(np.array([1.0, 2.0, 5.0]), np.array([2, 2, 4]), np.array([0, 0, 1])).totals
    array([3., 5.])
    """
    return DocumentSums(np.bincount(of, sums), np.bincount(of, counts), len(of))


def effective_documents(counts: np.ndarray) -> float:
    """(Σ n)² / Σ n² of documents with n targets each; 0 without any target.

    >>> effective_documents(np.array([5, 5, 5])), effective_documents(np.array([8, 1, 1]))
    (3.0, 1.5151515151515151)
    """
    squares = float(np.square(counts, dtype=np.float64).sum())
    return float(counts.sum()) ** 2 / squares if squares else 0.0


def estimate(sums: DocumentSums, reference: DocumentSums | None = None) -> DocumentEstimate | None:
    """The mean a target, less that of the same documents in `reference` if there is one.

    A ratio estimator, R = Σ y / Σ n over documents, or a difference of two of them, with the
    jackknife variance (D - 1) / D · Σ (R without d - their mean)² (Quenouille 1956; Tukey 1958).
    The two may have different numbers of targets. None where a number is not finite or fewer than
    two documents have targets.

    >>> estimate(DocumentSums(np.array([1.0, 2.0, 3.0]), np.ones(3), 3)).value
    2.0
    """
    kept = sums.counts > 0 if reference is None else (sums.counts > 0) & (reference.counts > 0)
    documents = int(kept.sum())
    parts = (sums,) if reference is None else (sums, reference)
    if documents < 2 or not all(np.isfinite(part.totals[kept]).all() for part in parts):
        return None
    values, remainders = zip(*(ratios(p.totals[kept], p.counts[kept]) for p in parts), strict=True)
    value, without = values[0], remainders[0]
    if reference is not None:
        value, without = value - values[1], without - remainders[1]
    sparsest = min((part.counts[kept] for part in parts), key=effective_documents)
    return DocumentEstimate(
        value=value,
        variance=float(np.square(without - without.mean()).sum() * (documents - 1) / documents),
        documents=documents,
        effective=effective_documents(sparsest),
        largest=float(sparsest.max() / sparsest.sum()),
        windows=min(part.windows for part in parts),
    )


def ratios(totals: np.ndarray, counts: np.ndarray) -> tuple[float, np.ndarray]:
    """Σ totals / Σ counts of all documents, and without each of them in turn, [documents]."""
    total, count = float(totals.sum()), float(counts.sum())
    return total / count, (total - totals) / (count - counts)


def units(of: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, Literal["documents", "blocks"]]:
    """What stands for a document: documents, or where they are too few blocks of the text.

    `of` is the document of each window and `counts` its targets, [windows], in the order of the
    text. Blocks are 16 stretches of neighbouring windows: what is told by them holds for this text
    and says nothing of another.

    >>> units(np.zeros(64, int), np.ones(64))[1], units(np.arange(64), np.ones(64))[1]
    ('blocks', 'documents')
    """
    if effective_documents(np.bincount(of, counts)) >= FEWEST_DOCUMENTS:
        return of, "documents"
    return np.arange(len(of)) * BLOCKS // len(of), "blocks"
