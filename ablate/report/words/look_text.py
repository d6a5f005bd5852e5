"""Planned looks in words."""

from ablate.report.inference.looked import DecidedOtherwise, OutsideThePlan, PlannedLooks
from ablate.report.words.numbers import count_of, some, together


def planned_looks(fact: PlannedLooks) -> str:
    """Say what was planned, and how far it is."""
    levels = together([f"{level:g}" for level in fact.levels])
    looks = "looks" if len(fact.seeds) > 1 else "look"
    words = (
        f"{fact.study} has planned {looks} at {together(list(map(str, fact.seeds)))} seeds, with"
        f" levels of {levels}, so that 5 % is over all of them: {fact.taken} taken"
    )
    by_look: dict[int, list[str]] = {}
    for arm, number, _ in fact.decided:
        by_look.setdefault(number, []).append(arm)
    parts = [words, *(f"look {k} decided {some(arms)}" for k, arms in by_look.items())]
    if fact.still_open:
        rest = "open after the last" if fact.over else "still open"
        parts.append(f"{rest}: {some(fact.still_open)}")
    return "; ".join(parts)


def outside_the_plan(fact: OutsideThePlan) -> str:
    """Say which runs do not count."""
    are = "is" if fact.runs == 1 else "are"
    return (
        f"{count_of(fact.runs, 'run')} {are} of seeds outside of the plan of looks, and in no"
        f" verdict: {some(fact.arms)}"
    )


def decided_otherwise(fact: DecidedOtherwise) -> str:
    """Say which verdicts of a look the runs no longer bear out."""
    arms = some([f"{arm} ({then} at look {look}, now {now})" for arm, look, then, now in fact.arms])
    return f"runs have changed since a planned look decided on them: {arms}"
