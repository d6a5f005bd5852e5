"""The verdicts on a difference, each with its rule (science.md, section 4).

A new verdict is a rule here; `words.comparisons` has a general sentence for it. Runs that diverged
are no numbers but results: a mean over those that are left says nothing good of an arm of which the
others diverged.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ablate.report.inference.failure_facts import FailureTest, FailureVerdict
from ablate.report.inference.outcomes import Matched
from ablate.report.inference.testing import LEVEL, Difference

Said = Literal["mattered", "no difference", "undecided", "start", "caution"]
KINDS: tuple[Said, ...] = ("mattered", "no difference", "undecided", "start", "caution")


@dataclass(frozen=True)
class Judge:
    """How values are judged: the margin in the metric's unit, and whether higher is better."""

    margin: float
    higher: bool
    unit: str = ""


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on. Each p is after Holm's correction, 1 where there is no test.

    `divergence` is the test of how many runs diverged, `unlearned` tells that in every cell most
    runs of both sides are stuck, `identical` that all runs are the same on both sides, number by
    number, `depends` that the effect was shown to depend on another factor.
    """

    interaction: bool
    match: Matched
    test: Difference
    p: float
    p_margin: float
    p_equivalence: float
    divergence: FailureTest | None
    depends: bool
    unlearned: bool
    identical: bool
    judge: Judge

    @property
    def has_mean(self) -> bool:
        """Whether a seed has a number on every side."""
        return self.test.mean is not None

    @property
    def larger_is_better(self) -> bool:
        """Whether a positive difference speaks for the first side; an interaction has no sides."""
        return self.judge.higher or self.interaction

    @property
    def first_is_better(self) -> bool:
        """Whether the sign of the mean speaks for the first side."""
        return ((self.test.mean or 0.0) > 0) == self.larger_is_better

    def survivors_may_say(self, first_is_better: bool | None) -> bool:
        """Whether the pairs that finished may speak for a side, or for neither (None).

        Not for a side of which runs diverged where the other's did not.
        """
        alone = self.match.alone
        if not any(alone):
            return True
        if self.interaction or first_is_better is None:
            return False
        return alone[0 if first_is_better else 1] == 0


@dataclass(frozen=True)
class VerdictRule:
    """A verdict: under which heading it is told, and when it applies if none before it does.

    Levels that share a `shared` verdict are told of together. Where `more_seeds` could tell more,
    it is said how many.
    """

    name: str
    said: Said
    applies: Callable[[Evidence], bool]
    shared: bool = False
    more_seeds: bool = False


def _diverges(how: FailureVerdict) -> Callable[[Evidence], bool]:
    return lambda evidence: evidence.divergence is not None and evidence.divergence.verdict == how


def _no_spread(evidence: Evidence) -> bool:
    """The same difference in every seed; a share of examples is coarse, so arms look alike at 0."""
    test = evidence.test
    alike = test.p is None or (evidence.judge.higher and test.low == test.high)
    return evidence.has_mean and alike


def _beyond_margin(evidence: Evidence, first_is_better: bool) -> bool:
    return (
        evidence.p_margin <= LEVEL
        and evidence.first_is_better == first_is_better
        and evidence.survivors_may_say(first_is_better)
    )


RULES = (
    VerdictRule("no effect", "no difference", lambda evidence: evidence.identical, shared=True),
    VerdictRule("diverges more", "mattered", _diverges("fails more")),
    VerdictRule("diverges less", "mattered", _diverges("fails less")),
    VerdictRule("diverges by cell", "mattered", _diverges("both")),
    VerdictRule("depends", "mattered", lambda evidence: evidence.depends),
    VerdictRule(
        "nothing to compare",
        "undecided",
        lambda evidence: not evidence.has_mean and not any(evidence.match.diverged),
        shared=True,
    ),
    VerdictRule(
        "neither learned",
        "undecided",
        lambda evidence: evidence.has_mean and evidence.unlearned,
        shared=True,
    ),
    VerdictRule(
        "too few seeds",
        "undecided",
        lambda evidence: evidence.has_mean and evidence.test.p is None and evidence.test.n < 2,
    ),
    VerdictRule("no spread", "undecided", _no_spread),
    VerdictRule("better", "mattered", lambda evidence: _beyond_margin(evidence, True)),
    VerdictRule("worse", "mattered", lambda evidence: _beyond_margin(evidence, False)),
    VerdictRule(
        "equivalent",
        "no difference",
        lambda evidence: evidence.p_equivalence <= LEVEL and evidence.survivors_may_say(None),
        shared=True,
    ),
    VerdictRule(
        "undecided",  # there is a difference, and whether it exceeds the margin is open
        "undecided",
        lambda evidence: (
            not evidence.has_mean
            or min(evidence.p, evidence.p_margin, evidence.p_equivalence) <= LEVEL
        ),
        more_seeds=True,
    ),
    VerdictRule("not distinguishable", "undecided", lambda _: True, shared=True, more_seeds=True),
)
BY_NAME = {rule.name: rule for rule in RULES}


def verdict(evidence: Evidence) -> str:
    """Return the name of the first rule that applies; the last one always does."""
    return next(rule.name for rule in RULES if rule.applies(evidence))
