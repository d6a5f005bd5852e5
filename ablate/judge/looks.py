"""Planned looks: at how many seeds arms are looked at, how strictly, and which of them go on.

Who adds seeds until a difference is clear is wrong in 12 to 18 of 100 studies. So the numbers of
seeds and the level of each look are set beforehand, and the levels add up to at most 5 %. An arm
is judged at the look that it stopped at, on the seeds of that look alone and at its level: the
chance that any of its looks is wrong is at most their sum, whatever made it stop. Over arms the
correction is Holm's on p / level, in which those decided earlier count as rejected.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ablate.record.look_note import LookNote

LEVEL = 0.05
LOOKS = (3, 5, 10)
LEVELS = (0.005, 0.015, 0.03)
FEWEST = 2  # seeds; one has no interval


@dataclass(frozen=True)
class PlannedLook:
    """The look `number`, from 1, of `of`: at these seeds, at this level.

    `next_at` is the number of seeds of the look after it, None after the last.
    """

    number: int
    of: int
    seeds: tuple[int, ...]
    level: float
    next_at: int | None

    @property
    def share(self) -> float:
        """How much of 5 % it may use up."""
        return self.level / LEVEL


def problem(looks: Sequence[int], levels: Sequence[float]) -> str | None:
    """Return what is wrong with a plan in a line, None where nothing is.

    >>> problem((3, 5, 10), (0.005, 0.015, 0.03)), problem((4, 8), (0.02, 0.03))
    (None, None)
    >>> problem((4, 8), (0.05, 0.05))
    'levels: 0.05, 0.05 add up to 0.1; looks are wrong in at most 5 % where it is at most 0.05'
    """
    if not looks or list(looks) != sorted(set(looks)) or looks[0] < FEWEST:
        return f"looks: {_listed(looks)}: must be rising numbers of seeds from {FEWEST} on"
    if len(levels) != len(looks):
        even = _listed([round(LEVEL / len(looks), 4)] * len(looks))
        return f"levels: {len(looks)} looks need as many levels, such as levels: [{even}]"
    if not all(0 < level < 1 for level in levels):
        return f"levels: {_listed(levels)}: must be above 0, as in levels: [{_listed(LEVELS)}]"
    if (total := sum(levels)) > LEVEL * (1 + 1e-9):
        return (
            f"levels: {_listed(levels)} add up to {total:g}; looks are wrong in at most 5 %"
            f" where it is at most {LEVEL:g}"
        )
    return None


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)


def look(plan: LookNote, number: int) -> PlannedLook:
    """Return a look of a plan by its number, from 1."""
    return PlannedLook(
        number=number,
        of=len(plan.looks),
        seeds=plan.seeds[: plan.looks[number - 1]],
        level=plan.levels[number - 1],
        next_at=plan.looks[number] if number < len(plan.looks) else None,
    )


def standing(plan: LookNote, arm: str) -> PlannedLook | None:
    """Return the look that an arm is judged at: where it was decided, else the last one taken.

    The first one as long as none was taken; None for an arm that is not of the plan.
    """
    if arm not in plan.arms:
        return None
    numbers = (number for number, verdicts in enumerate(plan.decided, 1) if arm in verdicts)
    return look(plan, next(numbers, max(1, len(plan.decided))))


def open_arms(plan: LookNote) -> list[str]:
    """Return the arms that are compared with another, and that no look has decided."""
    decided = {arm for verdicts in plan.decided for arm in verdicts}
    return [arm for arm in plan.against if arm not in decided]


def next_look(plan: LookNote) -> PlannedLook | None:
    """Return the look to take next; None where all is decided, or the last look was taken."""
    if len(plan.decided) == len(plan.looks) or (plan.decided and not open_arms(plan)):
        return None
    return look(plan, len(plan.decided) + 1)


def going_on(plan: LookNote) -> list[str]:
    """Return the arms that the next look needs: open ones and their baselines, at first all."""
    if not plan.decided:
        return list(plan.arms)
    still = open_arms(plan)
    needed = {*still, *(plan.against[arm] for arm in still)}
    return [arm for arm in plan.arms if arm in needed]


def after(plan: LookNote, verdicts: Mapping[str, str], against: Mapping[str, str]) -> LookNote:
    """Return the plan with one more look, which reached these verdicts; frozen ones stay."""
    settled = replace(plan, against=plan.against or dict(against))
    still = open_arms(settled)
    new = {arm: verdict for arm, verdict in verdicts.items() if arm in still}
    return replace(settled, decided=(*plan.decided, new))
