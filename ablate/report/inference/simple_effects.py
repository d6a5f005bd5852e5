"""Main effects, interactions, and simple effects where a factor's effect depends on another.

An average over levels at which a factor does different things describes none of them. A main effect
is told as such where no interaction says otherwise; else its simple effects are told, cell by cell.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ablate.report.inference.correction import Corrected, corrected, least_p
from ablate.report.inference.effects import interactions, main_effects
from ablate.report.inference.outcomes import ABSENT, Matched, Outcome, matched
from ablate.report.inference.pairs import Conditions, Pair
from ablate.report.inference.testing import Difference, difference

Depends = Mapping[tuple[str, str], tuple[str, ...]]
"""(Factor, level) → the factors that its effect was shown to depend on."""


@dataclass(frozen=True)
class Effect:
    """A main effect, an interaction, an arm's difference, or, with `within`, a simple effect.

    `difference` has the plain 95 % interval, `told` the verdict and interval after the correction
    for everything told beside it. `told` is None for a main effect that depends on the factors
    `depends`: its simple effects are told instead. `match` is what it was made of.
    """

    pair: Pair
    within: Conditions
    match: Matched
    difference: Difference
    corrected: Corrected | None
    depends: tuple[str, ...] = ()


@dataclass(frozen=True)
class Effects:
    """The effects of a study as one family; `main` has the averages that are told in parts too."""

    main: tuple[Effect, ...] = ()
    crossed: tuple[Effect, ...] = ()
    simple: tuple[Effect, ...] = ()

    @property
    def least_p(self) -> float:
        """The smallest p of no difference that any of them has, after the correction."""
        every = (*self.main, *self.crossed, *self.simple)
        return least_p([one.corrected for one in every if one.corrected is not None])


def effects(
    outcomes: Sequence[Outcome],
    factors: Sequence[str],
    reference: dict[str, str],
    margin: float,
    *,
    within: Conditions = (),
    at_least: float = 0.0,
    share: float = 1.0,
) -> Effects:
    """Return main effects, interactions and the simple effects they call for, as one family.

    Twice Holm: over main effects and interactions, which shows what depends on what; then over all
    else that is told, so that looking closer is paid for. An interaction that was shown stays so.
    `within` holds levels for all of it; `at_least` and `share` are those of `corrected`.
    """
    held = _held(outcomes, within)
    left = [key for key in factors if key not in dict(within)]
    main = [measured(pair, within, margin) for pair in main_effects(held, left, reference)]
    crossed = [measured(pair, within, margin) for pair in interactions(held, left, reference)]
    every = [*main, *crossed]
    shares = [share] * len(every)
    main_told, crossed_told = _split(judged(every, at_least, shares), len(main))
    shown = [one for one in crossed_told if _interact(one)]
    depends = dependences([one.pair for one in shown])
    if not depends:
        return Effects(tuple(main_told), tuple(crossed_told))
    main = [replace(one, depends=depends.get(_names(one.pair), ())) for one in main]
    simple = [
        effect
        for one in main
        if one.depends
        for cell in _combinations(held, one.depends)
        for effect in simple_effects(
            held, left, reference, cell, margin, of=one.pair.factors[0], outer=within
        )
        if _names(effect.pair) == _names(one.pair)
    ]
    names = {one.pair.name for one in shown}
    others = [
        one for one in (*main, *crossed_told) if not one.depends and one.pair.name not in names
    ]
    every = [*others, *simple]
    others, simple = _split(judged(every, at_least, [share] * len(every)), len(others))
    by_name = {one.pair.name: one for one in (*shown, *others)}
    return Effects(
        main=tuple(by_name.get(one.pair.name, one) for one in main),
        crossed=tuple(by_name[one.pair.name] for one in crossed),
        simple=tuple(simple),
    )


def _interact(effect: Effect) -> bool:
    """Whether an interaction was shown, and not by what is left where other runs diverged."""
    return bool(
        effect.corrected and effect.corrected.size == "beyond" and not any(effect.match.alone)
    )


def _split(family: list[Effect], place: int) -> tuple[list[Effect], list[Effect]]:
    return family[:place], family[place:]


def judged(
    family: Sequence[Effect], at_least: float = 0.0, shares: Sequence[float] = ()
) -> list[Effect]:
    """Return the effects with their verdicts as one family.

    Each may use up its share of the level, or of what its planned look has of it.
    """
    shares = shares or [1.0] * len(family)
    shares = [share * one.pair.share for share, one in zip(shares, family, strict=True)]
    verdicts = corrected([one.difference for one in family], at_least, shares)
    return [replace(one, corrected=verdict) for one, verdict in zip(family, verdicts, strict=True)]


def dependences(shown: Collection[Pair]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return what the effects of levels depend on, by the interactions that were shown."""
    on: dict[tuple[str, str], dict[str, None]] = {}
    for pair in shown:
        for place, other in ((0, 1), (1, 0)):
            own = on.setdefault((pair.factors[place], pair.levels[place]), {})
            own[pair.factors[other]] = None
    return {effect: tuple(factors) for effect, factors in on.items()}


def simple_effects(
    outcomes: Sequence[Outcome],
    factors: Sequence[str],
    reference: dict[str, str],
    within: Conditions,
    margin: float,
    *,
    of: str,
    outer: Conditions = (),
) -> list[Effect]:
    """Return what each level of the factor `of` does where the conditions hold, not judged yet.

    Paired by seed, within the cells of the factors that are neither compared nor held. `outer`
    conditions hold for all the outcomes already.
    """
    held = _held(outcomes, within)
    left = [key for key in factors if key not in dict(within)]
    pairs = main_effects(held, left, reference, of=of)
    return [measured(pair, (*outer, *within), margin) for pair in pairs]


def measured(pair: Pair, within: Conditions, margin: float) -> Effect:
    """Return a pair with its difference, not judged yet."""
    match = matched(pair.signs, pair.sides)
    return Effect(pair, within, match, difference(match.values, margin), None)


def _held(outcomes: Sequence[Outcome], within: Conditions) -> list[Outcome]:
    return [one for one in outcomes if all(one.levels[key] == level for key, level in within)]


def _names(pair: Pair) -> tuple[str, str]:
    return pair.factors[0], pair.levels[0]


def _combinations(outcomes: Sequence[Outcome], on: Sequence[str]) -> list[Conditions]:
    """The combinations of levels that some run has, in the order of the runs."""
    rows = (tuple((key, one.levels[key]) for key in on) for one in outcomes)
    return [row for row in dict.fromkeys(rows) if ABSENT not in dict(row).values()]
