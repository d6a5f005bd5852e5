"""Which arms fail more, or less, than the others: exact within seeds, so that three may do.

In each seed some share of the arms failed. If all arms were alike, each of them would be among
those with that chance, and the seeds in which one arm is would be a sum of independent draws with
these chances: a Poisson-binomial. The luck that all arms of a seed share is in the share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ablate.report.inference.failure_facts import ArmFailures
from ablate.report.inference.testing import LEVEL, holm

SLACK = 1e-9  # probabilities that differ by rounding are one
DRAWS = 2_000
GATE = 4  # a quarter of the level is what the question before all others may be wrong at
Counts = NDArray[np.int64]
Arms = Mapping[str, Mapping[Any, bool]]
"""Arm → seed → whether that run failed. A run that has not ended is not there."""


def failing_arms(arms: Arms, at_least: float = 0.0) -> list[ArmFailures]:
    """Hold each arm against all others; no corrected p is below `at_least` (see `gate`).

    Nothing where no run failed, or all did. A seed with one arm alone says nothing.

    >>> study = {name: dict.fromkeys(range(3), name == "post") for name in ("post", *"abcd")}
    >>> first = failing_arms(study)[0]
    >>> first.arm, first.failed, round(first.expected, 2), round(first.p, 4), first.decided
    ('post', 3, 0.6, 0.008, True)
    """
    seeds = sorted({seed for runs in arms.values() for seed in runs}, key=str)
    there = {seed: [runs[seed] for runs in arms.values() if seed in runs] for seed in seeds}
    shares = {seed: fmean(failed) for seed, failed in there.items() if len(failed) > 1}
    if not any(0 < share < 1 for share in shares.values()):
        return []
    counts = []
    for arm, runs in arms.items():
        own = [seed for seed in runs if seed in shares]
        if not own:
            continue
        failed = sum(runs[seed] for seed in own)
        chances = [shares[seed] for seed in own]
        known = poisson_binomial(chances)
        every = [no_likelier(known, count) for count in range(len(known))]
        possible = [p for p, chance in zip(every, known, strict=True) if chance]
        counts.append(
            ArmFailures(arm, failed, len(own), sum(chances), every[failed], min(possible))
        )
    return _corrected(counts, at_least)


def gate(arms: Arms) -> float:
    """Return what no p of the same failures may fall below: GATE times the p that arms are alike.

    Levels, interactions and arms are several families of tests on the same few failures, beside
    those of differences. One question comes before them all: whether the failures are spread over
    the arms as if by chance, by the χ² of their counts. Chance is all ways to give as many failures
    to the runs, or to the runs of each seed where seeds differ in luck: the smaller p of the two.
    Two arms are one question already, for which there is no gate.

    >>> always, never = dict.fromkeys(range(4), True), dict.fromkeys(range(4), False)
    >>> gate({"pre": never, "post": always, "peri": never}) < 0.05
    True
    """
    rows = [runs for runs in arms.values() if runs]
    if len(rows) <= 2:
        return 0.0
    of = np.array([len(runs) for runs in rows])
    failed = np.array([sum(runs.values()) for runs in rows])
    generator = np.random.default_rng(0)
    anyhow = generator.multivariate_hypergeometric(of, failed.sum(), size=DRAWS)
    by_luck = _within_seeds(rows, generator)
    return min(1.0, GATE * min(_unlike(failed, draws, of) for draws in (anyhow, by_luck)))


def _within_seeds(rows: Sequence[Mapping[Any, bool]], generator: np.random.Generator) -> Counts:
    """Draws × arms: failures of each arm if each seed's fall on any of the arms that it has."""
    counts = np.zeros((DRAWS, len(rows)), dtype=np.int64)
    for seed in {seed for runs in rows for seed in runs}:
        there = [place for place, runs in enumerate(rows) if seed in runs]
        failed = sum(rows[place][seed] for place in there)
        one_each = np.ones(len(there), dtype=np.int64)
        counts[:, there] += generator.multivariate_hypergeometric(one_each, failed, size=DRAWS)
    return counts


def _unlike(failed: Counts, draws: Counts, of: Counts) -> float:
    """The share of draws, the one that was seen among them, with counts as unlike or more so."""
    share = failed.sum() / of.sum()
    squares = ((np.vstack([failed, draws]) - of * share) ** 2 / of).sum(axis=1)
    return float(np.mean(squares >= squares[0] - SLACK))


def _corrected(counts: Sequence[ArmFailures], at_least: float) -> list[ArmFailures]:
    """Holm over all arms: as strict as the number of arms times p, and no stricter."""
    adjusted = holm([one.p for one in counts])
    smallest = [one.attainable * len(counts) for one in counts]
    return [
        replace(one, p_holm=max(p, at_least) if p is not None and least <= LEVEL else None)
        for one, p, least in zip(counts, adjusted, smallest, strict=True)
    ]


def no_likelier(probabilities: Sequence[float], count: int) -> float:
    """Return the probability of all counts that are no likelier than this one.

    >>> no_likelier([0.125, 0.375, 0.375, 0.125], 3)
    0.25
    """
    most = probabilities[count] * (1 + SLACK)
    return min(1.0, sum(chance for chance in probabilities if chance <= most))


def poisson_binomial(chances: Sequence[float]) -> list[float]:
    """Return the probability of 0, 1, ... successes of independent draws with these chances.

    >>> poisson_binomial([0.5, 0.5])
    [0.25, 0.5, 0.25]
    """
    known = [1.0]
    for chance in chances:
        missed = [(1 - chance) * p for p in known] + [0.0]
        hit = [0.0] + [chance * p for p in known]
        known = [a + b for a, b in zip(missed, hit, strict=True)]
    return known
