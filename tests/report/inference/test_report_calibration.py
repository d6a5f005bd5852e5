"""How often a report of a study in which nothing matters says that something does.

Over the whole page at most 5 % of such studies: verdicts in every table, sentences, and what is
said of a direction ("worse, whether by more than the margin is undecided"). The margin is next to
nothing here, since a wide one would hide how often a difference is wrong.
"""

from collections.abc import Sequence

import numpy as np
import pytest

from ablate.config.catalogue import Catalogue
from ablate.report.inference import arms
from ablate.report.inference.analysis import analyse
from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.failure_facts import PairFailures, StudyFailures
from ablate.report.inference.verdicts import BY_NAME
from ablate.report.runs.collect import Run
from ablate.report.words.statements import statements
from tests.report.inference.null_studies import SHAPES, NullStudy

MARGIN = 1e-6
LEVEL = 0.05


def claims(runs: Sequence[Run], metric: str) -> list[str]:
    """Everything that a whole report says to matter, or to have a direction."""
    analysis = analyse(runs, metric=metric, margin=MARGIN)
    differences = [
        *analysis.contrasts,
        *analysis.effects,
        *analysis.interactions,
        *analysis.simple,
    ]
    failures = [
        *(f"{one.name} {one.test.verdict}" for f in analysis.failures for one in _shown(f)),
        *(f"{arm.arm} fails" for f in analysis.failures for arm in f.arms if arm.decided),
    ]
    return [
        *(one.text for one in statements(analysis) if one.kind == "mattered"),
        *(f"{one.name}: {one.verdict}" for one in differences if directed(one)),
        *failures,
    ]


def _shown(failures: StudyFailures) -> list[PairFailures]:
    every = (*failures.contrasts, *failures.levels, *failures.interactions)
    return [one for one in every if one.test.shown]


def directed(one: Contrast) -> bool:
    """Whether a contrast is told as larger or smaller, or as depending on another factor."""
    matters = BY_NAME[one.verdict].said == "mattered"
    return matters or (one.verdict == "undecided" and (one.p_holm or 1.0) <= LEVEL)


@pytest.fixture(autouse=True)
def _one_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the settings once and not for each of a thousand studies."""
    catalogue = Catalogue()
    monkeypatch.setattr(arms, "Catalogue", lambda: catalogue)


def wrong(shape: NullStudy, studies: int, seed: int) -> int:
    generator = np.random.default_rng(seed)
    return sum(bool(claims(shape.draw(generator), shape.metric)) for _ in range(studies))


def most(studies: int) -> float:
    """5 % of the studies and what chance adds."""
    return LEVEL * studies + 2.5 * (LEVEL * (1 - LEVEL) * studies) ** 0.5


FAST = (
    "two arms, three seeds",
    "2×2",
    "five arms, stuck",
    "2×3, diverged, holes",
    "2×4, undefined",
)


def test_nothing_matters_in_at_most_one_null_study_of_twenty() -> None:
    """Five shapes; the others take longer (below)."""
    false_claims = sum(wrong(SHAPES[name], 30, 5 + place) for place, name in enumerate(FAST))
    assert false_claims <= most(30 * len(FAST))


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_of_every_shape_at_most_one_of_twenty_is_wrong(name: str) -> None:
    assert wrong(SHAPES[name], 300, 29) <= most(300)
