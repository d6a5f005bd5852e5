"""The diagnosis by arm: what its runs' records found, in how many of them, and what to try."""

from collections.abc import Callable, Hashable, Sequence
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
    return [finding for group in groups for finding in _of_arm(group)]


def _of_arm(group: Group) -> list[ArmFinding]:
    alike: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for outcome in group.outcomes:
        diagnosis = outcome.run.record.get("diagnosis")
        entries = diagnosis if isinstance(diagnosis, list) else []
        # The last of several in one record that have a name and an advice in common.
        once = {
            (str(entry.get("name")), str(entry.get("advice"))): entry
            for entry in entries
            if isinstance(entry, dict)
        }
        for kind, entry in once.items():
            alike.setdefault(kind, []).append(entry)
    return [
        ArmFinding(
            arm=group.arm.label,
            name=clean(name),
            count=len(entries),
            of=len(group.outcomes),
            evidence=clean(str(entries[0].get("evidence", ""))),
            cause=clean(str(entries[0].get("cause", ""))),
            advice=clean(str(entries[0].get("advice", ""))),
        )
        for (name, _), entries in alike.items()
    ]


def over_arms(
    findings: Sequence[ArmFinding], alike: Callable[[ArmFinding], Hashable]
) -> list[list[ArmFinding]]:
    """Gather the findings that are alike over all arms; what most runs have comes first."""
    groups: dict[Hashable, list[ArmFinding]] = {}
    for finding in findings:
        groups.setdefault(alike(finding), []).append(finding)
    return sorted(groups.values(), key=lambda group: -sum(one.count for one in group))
