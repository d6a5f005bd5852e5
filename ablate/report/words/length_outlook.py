"""What would decide a word at length that is open, in words, with the command that adds it."""

from collections.abc import Callable, Sequence

from ablate.judge.deciding import Needed, ToDecide
from ablate.report.inference.length_facts import KeptByArm
from ablate.report.words.basis import adding


def length_outlook(arms: Sequence[KeptByArm]) -> str:
    """Say what arms need that are undecided, each need once; of several the most that one needs."""
    needs: dict[Needed, list[tuple[KeptByArm, ToDecide]]] = {}
    for arm in arms:
        if arm.kept.to_decide is not None:
            needs.setdefault(arm.kept.to_decide.needed, []).append((arm, arm.kept.to_decide))
    parts = []
    for needed, members in needs.items():
        arm, most = max(members, key=lambda member: member[1].total or 0)
        part = WORDS[needed](arm, most)
        if len(needs) > 1:
            part += f" (of {arm.arm if len(members) == 1 else f'{len(members)} arms'})"
        parts.append(part)
    return f", {'; '.join(parts)}" if parts else ""


def _seeds(arm: KeptByArm, needed: ToDecide) -> str:
    if needed.total is None:
        return "more seeds may decide it"
    return f"about {needed.total} seeds would decide it{adding(arm.seeds, needed.total)}"


def _windows(_: KeptByArm, needed: ToDecide) -> str:
    return f"about {needed.total} windows of more documents would decide it ({_wider(needed)})"


def _few_documents(arm: KeptByArm, needed: ToDecide) -> str:
    effect = arm.kept.effect
    number = f"{effect.effective:.1f}" if effect else "none"
    return f"too few documents: as {number} of one length, {needed.total} at least decide anything"


def _few_windows(arm: KeptByArm, needed: ToDecide) -> str:
    windows = arm.kept.effect.windows if arm.kept.effect else 0
    few = f"too few windows: {windows}, {needed.total} at least decide anything"
    return f"{few} ({_wider(needed)})"


def _wider(needed: ToDecide) -> str:
    return f"evaluate.windows={needed.total}, in new runs or of one run with ablate evaluate"


WORDS: dict[Needed, Callable[[KeptByArm, ToDecide], str]] = {
    "seeds": _seeds,
    "windows": _windows,
    "both": lambda arm, needed: "it would take more seeds and more windows together",
    "few documents": _few_documents,
    "few windows": _few_windows,
    "on the margin": lambda arm, needed: "on the margin: no number of seeds or windows will decide",
    "guessing": lambda arm, needed: "not clear that it knows more than frequencies at L",
}
