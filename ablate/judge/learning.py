"""Whether a run learned anything beyond frequencies: learned, stuck, or not to be told.

Text: on the validation windows that the loss is measured on, the difference of the model's loss
and the unigram's *on the same targets*, with its interval by document. Learned: all of it below
-0.05 nats. Stuck: its lower end above -0.05. Generated tasks: the share of examples that are right
as a whole, against guessing.
"""

from dataclasses import dataclass
from typing import Literal

from ablate.judge.by_document import LEVEL, DocumentEstimate
from ablate.judge.intervals import beta_quantile
from ablate.judge.thresholds import BELOW_UNIGRAM

FEWEST_WINDOWS = 64
"""A difference on the same targets is told by fewer windows than other numbers (see the tests)."""
ABOVE_GUESSING = 0.02
"""Share of examples above what guessing gets from which a model has learned a task."""

LearningWord = Literal["learned", "stuck", "undecided"]


@dataclass(frozen=True)
class Matches:
    """How many of some examples are right as a whole, and the share that guessing gets right."""

    matched: int
    examples: int
    guessing: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share, exact for any number (Clopper and Pearson 1934).

        >>> [round(bound, 4) for bound in Matches(0, 256, 0.0).interval]
        [0.0, 0.0143]
        """
        k, n, tail = self.matched, self.examples, (1 - LEVEL) / 2
        low = beta_quantile(tail, k, n - k + 1) if k > 0 else 0.0
        high = beta_quantile(1 - tail, k + 1, n - k) if k < n else 1.0
        return low, high


def has_learning(*, steps_done: int, steps: int, warmup_steps: int) -> bool:
    """Whether a run has such a word: not where it did not end or never left its warmup.

    >>> [has_learning(steps_done=n, steps=200, warmup_steps=w) for n, w in ((10, 0), (200, 200))]
    [False, False]
    """
    return steps_done >= steps and steps > warmup_steps


def judge_text(difference: DocumentEstimate | None) -> LearningWord | None:
    """The word for the model's loss less the unigram's, in nats a target.

    None where the loss is not finite, and so no word fits. Undecided where documents, or the blocks
    that stand for them, are too few for an interval.
    """
    if difference is None:
        return None
    bounds = difference.interval(FEWEST_WINDOWS)
    if bounds is None:
        return "undecided"
    low, high = bounds
    if high < -BELOW_UNIGRAM:
        return "learned"
    return "stuck" if low > -BELOW_UNIGRAM else "undecided"


def judge_task(matches: Matches, difference: DocumentEstimate | None) -> LearningWord:
    """The word for a generated task.

    Learned: the whole interval of the share more than 0.02 above guessing. Stuck: all of it below
    that; or some of it and, as `judge_text` says of the loss of the answers less that of their
    frequencies, over examples, nothing is learned (where guessing is right half of the time some
    2,400 examples would be needed otherwise). `difference` is None where that is not known.

    >>> [judge_task(Matches(k, 256, 0.1), None) for k in (128, 10, 32)]
    ['learned', 'stuck', 'undecided']
    """
    low, high = matches.interval
    bar = matches.guessing + ABOVE_GUESSING
    if low > bar:
        return "learned"
    return "stuck" if high < bar or judge_text(difference) == "stuck" else "undecided"
