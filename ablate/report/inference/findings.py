"""The diagnosis by arm: what its runs' records found, in how many of them, and what to try."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from statistics import fmean

from ablate.record.record import Remedy, Signature
from ablate.report.inference.arms import Group, is_scale
from ablate.report.inference.siblings import Siblings, weigh
from ablate.report.inference.tried import Tried
from ablate.report.runs.columns import BY_KEY, Missing
from ablate.shell.clean import clean


@dataclass(frozen=True)
class ArmFinding:
    """A finding that `count` of an arm's `of` runs have, with the evidence of the first of them.

    `advice` is what the study does not hold, and `asked` the settings in it: what of it other arms
    have is `tried`. The cause is "" where these contradict it.
    """

    arm: str
    name: str
    count: int
    of: int
    evidence: str
    cause: str
    advice: str
    asked: tuple[str, ...]
    tried: tuple[Tried, ...]

    @property
    def shared(self) -> tuple[str, ...]:
        """What several arms may have in common, so that they can be told of together."""
        ends = (f"{tried.change} {tried.became}" for tried in self.tried)
        return (self.name, self.cause, *self.asked, *ends)


def findings(groups: Sequence[Group], factors: Sequence[str]) -> list[ArmFinding]:
    """Return the findings of all arms, by arm; what is no finding in a record is passed over."""
    study = Siblings([outcome for group in groups for outcome in group.outcomes], factors)
    best = _best(groups)
    return [f for group in groups for f in _of_arm(group, study, group.arm.label in best)]


def _of_arm(group: Group, study: Siblings, is_best: bool) -> list[ArmFinding]:
    alike: dict[tuple[str, ...], list[Signature]] = {}
    for outcome in group.outcomes:
        # The last of several in one record that are alike.
        once = {(one.name, one.cause, *_asked(one)): one for one in study.signatures(outcome)}
        for kind, signature in once.items():
            if signature.name and not (signature.only_if_behind and is_best):
                alike.setdefault(kind, []).append(signature)
    return [_finding(group, own, study) for own in alike.values()]


def _finding(group: Group, alike: Sequence[Signature], study: Siblings) -> ArmFinding:
    first = alike[0]
    advice = weigh(first, group.outcomes, study)
    words = ", ".join(remedy.words for remedy in advice.remedies)
    return ArmFinding(
        arm=group.arm.label,
        name=clean(first.name),
        count=len(alike),
        of=len(group.outcomes),
        evidence=clean(first.evidence),
        cause=clean(first.cause) if advice.cause_stands else "",
        advice=clean(words if first.remedies else first.advice),
        asked=_keys(advice.remedies) if first.remedies else (first.advice,),
        tried=advice.tried,
    )


def _asked(signature: Signature) -> tuple[str, ...]:
    """What is advised: the same for runs that it is the same for."""
    return _keys(signature.remedies) if signature.remedies else (signature.advice,)


def _keys(remedies: Sequence[Remedy]) -> tuple[str, ...]:
    return tuple(f"{r.key} {r.way or r.value}" if r.key else r.way or r.words for r in remedies)


def _best(groups: Sequence[Group]) -> set[str]:
    """The arm with the lowest mean validation loss of each task and text with several arms."""
    column = BY_KEY["val_loss"]
    families: dict[tuple[str, ...], list[tuple[float, str]]] = {}
    for group in groups:
        levels = group.outcomes[0].levels
        values = [
            value
            for outcome in group.outcomes
            if outcome.state == "finished"
            and not isinstance(value := column.extract(outcome.run.record), Missing)
        ]
        if values:
            scales = tuple(level for key, level in levels.items() if is_scale(key))
            families.setdefault(scales, []).append((fmean(values), group.arm.label))
    return {min(family)[1] for family in families.values() if len(family) > 1}


def over_arms(
    findings: Sequence[ArmFinding], alike: Callable[[ArmFinding], Hashable]
) -> list[list[ArmFinding]]:
    """Gather the findings that are alike over all arms; what most runs have comes first."""
    groups: dict[Hashable, list[ArmFinding]] = {}
    for finding in findings:
        groups.setdefault(alike(finding), []).append(finding)
    return sorted(groups.values(), key=lambda group: -sum(one.count for one in group))
