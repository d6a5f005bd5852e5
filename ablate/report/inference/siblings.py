"""What became of the arms that tried a remedy: those that differ in one setting, on shared seeds.

A diagnosis is made from one run and can only guess. Where a study holds the arm that it would try,
the study knows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ablate.judge.diagnosis import diagnose
from ablate.record.record import Remedy, Signature
from ablate.report.inference.outcomes import Outcome, others
from ablate.report.inference.tried import Became, Pairing, Tried, compared_arm, means, measure

Place = tuple[Any, ...]
"""A seed and the settings beside one key."""
OPPOSITE = {"lower": "higher", "higher": "lower"}


@dataclass(frozen=True)
class Advice:
    """What is left of a signature's advice beside what was tried, and whether its cause stands."""

    remedies: tuple[Remedy, ...]
    tried: tuple[Tried, ...]
    cause_stands: bool


class Siblings:
    """All runs of a study by their settings: who differs from whom in one alone."""

    def __init__(self, outcomes: Sequence[Outcome], factors: Sequence[str]) -> None:
        self.outcomes, self.factors = outcomes, factors
        self._signatures: dict[Path, list[Signature]] = {}
        self._places: dict[str, dict[Place, list[Outcome]]] = {}

    def signatures(self, outcome: Outcome) -> list[Signature]:
        """What a record found; one of before remedies were kept is diagnosed anew."""
        directory = outcome.run.directory
        if directory not in self._signatures:
            recorded = outcome.run.record.diagnosis or []
            old = any(one.remedies is None for one in recorded)
            self._signatures[directory] = diagnose(outcome.run.record) if old else recorded
        return self._signatures[directory]

    def names(self, outcome: Outcome) -> set[str]:
        """The names of what a record found."""
        return {signature.name for signature in self.signatures(outcome)}

    def beside(self, outcome: Outcome, key: str) -> list[Outcome]:
        """The runs of the same seed and settings but for a key and its options."""
        rest = others(self.factors, [key])
        if key not in self._places:
            places: dict[Place, list[Outcome]] = {}
            for one in self.outcomes:
                places.setdefault(_place(one, rest), []).append(one)
            self._places[key] = places
        return self._places[key].get(_place(outcome, rest), [])


def _place(outcome: Outcome, keys: Sequence[str]) -> Place:
    return (outcome.seed, *(outcome.levels[key] for key in keys))


def weigh(signature: Signature, own: Sequence[Outcome], study: Siblings) -> Advice:
    """Replace advice by what the study knows of it; `own` are the runs of the arm.

    A cause is not told where nothing that was tried against it did better, and where the opposite
    of what it asks for ended better.
    """
    remedies = signature.remedies or []
    asked = {(remedy.key, remedy.way) for remedy in remedies}
    untried, tried, refuted = list[Remedy](), list[Tried](), False
    by_key: dict[str, list[Tried]] = {}
    for remedy in remedies:
        best = _best(signature, remedy, own, study)
        if best is not None and remedy.key is not None:
            tried.append(best)
            by_key.setdefault(remedy.key, []).append(best)
        turned = replace(remedy, way=OPPOSITE.get(remedy.way or ""))
        opposite = None
        if turned.way and (turned.key, turned.way) not in asked:
            opposite = _best(signature, turned, own, study)
        if opposite is not None and opposite.ahead:
            tried.append(opposite)
            refuted = True
        elif best is None:
            untried.append(remedy)
    failed = any(all(one.became == "no better" for one in same) for same in by_key.values())
    return Advice(tuple(untried), tuple(dict.fromkeys(tried)), not (failed or refuted))


def _best(
    signature: Signature, remedy: Remedy, own: Sequence[Outcome], study: Siblings
) -> Tried | None:
    """The arm that ended best of those that have what a remedy asks for."""
    if remedy.key is None or remedy.key not in study.factors:
        return None
    pairs: dict[str, list[Pairing]] = {}
    for mine in own:
        for sibling in study.beside(mine, remedy.key):
            value = sibling.settings.get(remedy.key)
            if value is not None and means(remedy, mine.settings.get(remedy.key), value):
                level = sibling.levels[remedy.key]
                pairs.setdefault(level, []).append((mine, sibling))
    column = measure(signature, own)
    arms = [
        compared_arm(signature.name, f"{remedy.key}={level}", same, column, study.names, len(pairs))
        for level, same in pairs.items()
    ]
    ranks: dict[Became, int] = {"better": 0, "open": 1, "no better": 2}
    sign = -1 if column.better == "higher" else 1
    return min(
        arms, key=lambda one: (ranks[one.became], sign * (one.difference.mean or 0.0)), default=None
    )
