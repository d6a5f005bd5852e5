"""The diagnosis by arm: what its runs' records found, in how many of them, and what to try."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ablate.report.arms import Group
from ablate.report.texts import clean


@dataclass(frozen=True)
class ArmFinding:
    """A finding that `count` of an arm's `of` runs have, with the evidence of the first of them."""

    arm: str
    name: str
    count: int
    of: int
    evidence: str
    cause: str
    advice: str


def findings(groups: Sequence[Group]) -> list[ArmFinding]:
    """Return the findings of all arms, by arm; what is no finding in a record is passed over."""
    found = []
    for group in groups:
        by_name: dict[str, list[dict[str, Any]]] = {}
        for outcome in group.outcomes:
            told = outcome.run.record.get("diagnosis")
            entries = (
                [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
            )
            for name, one in {str(one.get("name")): one for one in entries}.items():
                by_name.setdefault(name, []).append(one)
        for name, entries in by_name.items():
            words = [clean(str(entries[0].get(key, ""))) for key in ("evidence", "cause", "advice")]
            count, of = len(entries), len(group.outcomes)
            found.append(ArmFinding(group.arm.label, clean(name), count, of, *words))
    return found
