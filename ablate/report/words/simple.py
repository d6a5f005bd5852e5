"""Simple effects in words: what a level does within the levels of the factors it depends on."""

from collections.abc import Sequence

from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.story import SimpleEffects
from ablate.report.inference.verdicts import BY_NAME, Judge
from ablate.report.words.basis import basis, outlook
from ablate.report.words.numbers import amount, count_of, some, spread, together
from ablate.report.words.sentence import Sentence

MOST = 3  # parts in a sentence; a table has them all


def simple_effects(fact: SimpleEffects, judge: Judge) -> Sentence:
    """Say what an effect is within the levels that it depends on."""
    average = fact.average
    shown = [one for one in fact.parts if BY_NAME[one.verdict].said != "undecided"]
    parts = [_part(one, judge) for one in shown[:MOST]]
    left, still_open = len(shown) - len(parts), len(fact.parts) - len(shown)
    if left:
        parts.append(f"and {left} more that are decided")
    if still_open:
        many = count_of(still_open, "combination")
        where = f"each of {many}" if not shown else f"the other {many.removeprefix('1 ')}"
        parts.append(f"undecided in {where}")
    about = fact.parts[0] if fact.parts else average
    return Sentence(
        f"what {average.name} does against {average.against} depends on"
        f" {together(average.depends)}",
        evidence=f"{'; '.join(parts)} ({basis(about)}{outlook(about, 'the largest')})",
    )


def _part(one: Contrast, judge: Judge) -> str:
    where = within_text([one])
    if one.difference.mean is None or one.low is None or one.high is None:
        return f"{one.verdict} within {where}"
    ends = (one.low, one.high)
    if one.verdict in ("better", "worse"):
        mean = one.difference.mean
        ends = ends if mean > 0 else (-one.high, -one.low)
        return f"{one.verdict} by {amount(abs(mean))} {judge.unit} {spread(*ends)} within {where}"
    return f"{one.verdict} ({amount(one.difference.mean, True)} {spread(*ends)}) within {where}"


def within_text(contrasts: Sequence[Contrast]) -> str:
    """Name the levels that simple effects are within."""
    names = [" ".join(f"{key}={level}" for key, level in one.within) for one in contrasts]
    return some(list(dict.fromkeys(names)))
