"""The diagnosis by arm: what its runs' records found, in how many of them, and what to try."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ablate.report.inference.arms import Group
from ablate.shell.clean import clean


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
        alike: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for outcome in group.outcomes:
            told = outcome.run.record.get("diagnosis")
            entries = (
                [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
            )
            kinds = {(str(one.get("name")), str(one.get("advice"))): one for one in entries}
            for kind, one in kinds.items():
                alike.setdefault(kind, []).append(one)
        for (name, _), entries in alike.items():
            words = [clean(str(entries[0].get(key, ""))) for key in ("evidence", "cause", "advice")]
            count, of = len(entries), len(group.outcomes)
            found.append(ArmFinding(group.arm.label, clean(name), count, of, *words))
    return found
