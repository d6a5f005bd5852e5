"""Scores of real runs on real documents: a population to draw texts from.

Made from `pos=rope,alibi seed=0,1 steps=400` and an early run, `pos=rope seed=0 steps=30`, trained
on corpus=stdlib with depth 4, width 64 and L = 64, and scored on 240 other Python files of 1 to
450 kB: 2,400 windows of 8 targets evenly over the files in a random order, so that 231 files have
from 1 to 184 windows. The nll of a window is in sixteenths of a nat. The largest file is encoded
data, unlike all others, and has 8 % of the windows.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ablate.judge.by_document import DocumentSums, sum_by_document

TARGETS = 8
"""Targets of a window."""
FILE = Path(__file__).with_name("real_scores.npz")


@dataclass(frozen=True)
class DrawnText:
    """Windows of a made-up text: which of the population they are, and their documents in it."""

    windows: np.ndarray
    of: np.ndarray


class Population:
    """Windows of many documents with what several runs score on each.

    A column is "rope/0/512", which is scheme, seed and context, or "unigram"; a measure is "nll" or
    "correct", a sum over the window's targets.
    """

    def __init__(self, *, with_largest: bool) -> None:
        with np.load(FILE) as stored:
            document, names = stored["document"], stored["names"].tolist()
            scores = {"nll": stored["nll"] / 16, "correct": stored["correct"].astype(float)}
        kept = document >= 0 if with_largest else document != np.bincount(document).argmax()
        order = np.argsort(document[kept], kind="stable")
        self.documents = np.split(order, np.unique(document[kept][order], return_index=True)[1][1:])
        self.scores = {
            (measure, name): row[kept]
            for measure, rows in scores.items()
            for name, row in zip(names, rows, strict=True)
        }

    def draw(
        self, random: np.random.Generator, documents: int, windows: int | None = None
    ) -> DrawnText:
        """A text of documents drawn with replacement; all of their windows, or some, evenly."""
        drawn = [self.documents[i] for i in random.integers(0, len(self.documents), documents)]
        text = np.concatenate(drawn)
        of = np.repeat(np.arange(documents), [len(each) for each in drawn])
        if windows is not None:
            some = np.arange(windows) * len(text) // windows
            text, of = text[some], np.unique(of[some], return_inverse=True)[1]
        return DrawnText(text, of)

    def sums(self, measure: str, column: str, text: DrawnText) -> DocumentSums:
        """One column by document of a drawn text."""
        counts = [TARGETS] * len(text.windows)
        values = self.scores[measure, column][text.windows].tolist()
        return sum_by_document(values, counts, text.of.tolist())

    def mean(self, measure: str, column: str) -> float:
        """The mean a target over the whole population."""
        return float(self.scores[measure, column].mean() / TARGETS)
