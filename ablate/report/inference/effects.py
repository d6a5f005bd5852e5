"""Main effects of factors and two-way interactions, over balanced cells, with the seed as unit."""

from collections.abc import Sequence
from itertools import combinations

from ablate.report.inference.arms import Group, is_scale
from ablate.report.inference.outcomes import ABSENT, Cells, Outcome, cells, earliest, others
from ablate.report.inference.pairs import Pair
from ablate.report.runs.tables import order


def reference_levels(
    outcomes: Sequence[Outcome], factors: Sequence[str], baseline: Group | None
) -> dict[str, str]:
    """Return the level of each factor that the others are compared with.

    It is the baseline's; of an option that the baseline's choice does not have, the first.
    """
    base = baseline.outcomes[0].levels if baseline else dict.fromkeys(factors, ABSENT)
    return {
        factor: next(iter(_split(outcomes, [factor], [])), (ABSENT,))[0]
        if base[factor] == ABSENT
        else base[factor]
        for factor in factors
    }


def main_effects(
    outcomes: Sequence[Outcome],
    factors: Sequence[str],
    reference: dict[str, str],
    *,
    of: str | None = None,
) -> list[Pair]:
    """Pair each level of each factor, or of one, with its reference level over the others' cells.

    A task or a text has no effect: across them there is no common scale.
    """
    pairs = []
    look = earliest(outcomes)
    for factor in factors if of is None else [of]:
        if is_scale(factor):
            continue
        rest = others(factors, [factor])
        by_level = _split(outcomes, [factor], rest)
        base = (reference[factor],)
        for level in by_level:
            if level != base and base in by_level:
                pairs.append(
                    Pair(
                        kind="main",
                        factors=(factor,),
                        levels=level,
                        references=base,
                        name=f"{factor}={level[0]}",
                        against=f"{factor}={base[0]}",
                        signs=(1, -1),
                        sides=(by_level[level], by_level[base]),
                        cell_keys=tuple(rest),
                        look=look,
                    )
                )
    return pairs


def interactions(
    outcomes: Sequence[Outcome], factors: Sequence[str], reference: dict[str, str]
) -> list[Pair]:
    """Pair levels of two factors: (ab - a₀b) - (ab₀ - a₀b₀), over all cells of the others.

    None with a task or a text: a change of a difference between them has no common scale.
    """
    pairs = []
    look = earliest(outcomes)
    for one, two in combinations([factor for factor in factors if not is_scale(factor)], 2):
        if one.partition(".")[0] == two.partition(".")[0]:
            continue  # an option of a choice is defined within it
        rest = others(factors, [one, two])
        split = _split(outcomes, [one, two], rest)
        first, second = reference[one], reference[two]
        for a, b in split:
            corners = [(a, b), (first, b), (a, second), (first, second)]
            if a == first or b == second or not all(corner in split for corner in corners):
                continue
            pairs.append(
                Pair(
                    kind="interaction",
                    factors=(one, two),
                    levels=(a, b),
                    references=(first, second),
                    name=f"{one}={a} × {two}={b}",
                    against=f"{one}={first} × {two}={second}",
                    signs=(1, -1, -1, 1),
                    sides=tuple(split[corner] for corner in corners),
                    cell_keys=tuple(rest),
                    look=look,
                )
            )
    return pairs


def _split(
    outcomes: Sequence[Outcome], factors: Sequence[str], rest: Sequence[str]
) -> dict[tuple[str, ...], Cells]:
    """Index outcomes by the levels of the factors; within each by the rest and by seed."""
    groups: dict[tuple[str, ...], list[Outcome]] = {}
    ordered = sorted(outcomes, key=lambda o: [order(o.settings.get(factor)) for factor in factors])
    for outcome in ordered:
        key = tuple(outcome.levels[factor] for factor in factors)
        if ABSENT not in key:
            groups.setdefault(key, []).append(outcome)
    return {key: cells(groups[key], rest) for key in groups}
