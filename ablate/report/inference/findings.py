"""The diagnosis by arm: what its runs' records found, in how many of them, and what to try."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from ablate.record.record import Signature
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
    alike: dict[tuple[str, str], list[Signature]] = {}
    for outcome in group.outcomes:
        # The last of several in one record that have a name and an advice in common.
        signatures = outcome.run.record.diagnosis or []
        once = {(signature.name, signature.advice): signature for signature in signatures}
        for kind, signature in once.items():
            if signature.name:
                alike.setdefault(kind, []).append(signature)
    return [
        ArmFinding(
            arm=group.arm.label,
            name=clean(name),
            count=len(signatures),
            of=len(group.outcomes),
            evidence=clean(signatures[0].evidence),
            cause=clean(signatures[0].cause),
            advice=clean(signatures[0].advice),
        )
        for (name, _), signatures in alike.items()
    ]


def over_arms(
    findings: Sequence[ArmFinding], alike: Callable[[ArmFinding], Hashable]
) -> list[list[ArmFinding]]:
    """Gather the findings that are alike over all arms; what most runs have comes first."""
    groups: dict[Hashable, list[ArmFinding]] = {}
    for finding in findings:
        groups.setdefault(alike(finding), []).append(finding)
    return sorted(groups.values(), key=lambda group: -sum(one.count for one in group))
