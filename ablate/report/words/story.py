"""Which sentences an analysis is told in, in the order of `sentences.KINDS`."""

from collections import Counter
from collections.abc import Iterable, Sequence

from ablate.report.inference.arms import Arm, is_scale
from ablate.report.inference.choosing import ChosenValue
from ablate.report.inference.contrasts import Contrast, Judge
from ablate.report.inference.counts import Count
from ablate.report.inference.ledger import Flag
from ablate.report.inference.sensitivity import Sensitivity, sensitivity_text
from ablate.report.runs.settings import text
from ablate.report.words.phrases import count_of
from ablate.report.words.verdicts import KINDS, Sentence, of_contrasts, of_counts, of_few


def story(
    told: Sequence[Contrast],
    crossed: Sequence[Contrast],
    counts: Sequence[Count],
    sensitivities: Sequence[Sensitivity],
    unit: str,
    judge: Judge,
) -> list[Sentence]:
    """Return what the differences say; `told` are main effects, or contrasts with a baseline."""
    found = [
        *of_contrasts(told, unit, judge, _depends(crossed)),
        *of_counts(counts, told),
        *of_contrasts(_crossed(crossed), unit, judge),
        *of_few(told),
    ]
    if sensitivities:
        found.append(Sentence("caution", sensitivity_text(sensitivities)))
    return in_order(found)


def told_effects(effects: Sequence[Contrast]) -> tuple[list[Contrast], list[str]]:
    """Return the effects to tell, and the factors that no two runs differ in alone."""
    by_factor: dict[str, list[Contrast]] = {}
    for one in effects:
        by_factor.setdefault(one.factors[0], []).append(one)
    mixed = [f for f, found in by_factor.items() if not any(one.shared for one in found)]
    return [one for one in effects if one.factors[0] not in mixed], mixed


def _depends(found: Sequence[Contrast]) -> dict[tuple[str, str], dict[str, str]]:
    """(Factor, level) → the factors that its difference was shown to depend on, and where."""
    on: dict[tuple[str, str], dict[str, str]] = {}
    for one in found:
        if one.verdict in ("better", "worse"):
            for place, other in ((0, 1), (1, 0)):
                others = on.setdefault((one.factors[place], one.levels[place]), {})
                others[one.factors[other]] = " × ".join(one.factors)
    return on


def _crossed(found: Sequence[Contrast]) -> list[Contrast]:
    """Interactions that could be tested: without an interval there is nothing to say of one."""
    return [one for one in found if one.difference.p is not None]


def cautions(
    arms: Sequence[Arm],
    choices: Sequence[ChosenValue],
    flags: Sequence[Flag],
    mixed: Sequence[str],
    metric: str,
) -> list[Sentence]:
    """Return what a reader must know of how the arms came about."""
    lines = [flag.text for flag in flags if flag.unfair]
    scales = [key for key in (arms[0].settings if arms else ()) if is_scale(key)]
    if scales:
        lines.append(
            f"arms of another {' or '.join(scales)} are not compared: a loss or an accuracy has no"
            " common scale across them"
        )
    if metric == "best_loss":
        lines.append(
            "best_loss is the lowest of several looks at the same held-out text, so it is chosen on"
            " what it reports; val_loss is not"
        )
    if mixed:
        verb = (
            "never change alone: their effects"
            if len(mixed) > 1
            else ("never changes alone: its effect")
        )
        lines.append(f"{' and '.join(mixed)} {verb} cannot be told apart from others")
    if choices:
        seeds = ", ".join(map(text, choices[0].seeds))
        key = choices[0].key
        lines.append(
            f"{key} was chosen for each arm by its validation loss on seed {seeds}; these runs are"
            " in no number here"
        )
        grids = {choice.among for choice in choices}
        if len(grids) > 1:
            told = " or ".join(", ".join(grid) for grid in sorted(grids))
            lines.append(f"{key} was chosen from different values: {told}")
        ends = [choice.arm for choice in choices if choice.at_end]
        if ends:
            lines.append(
                f"the {key} chosen is the last of those tried, and one beyond may be better:"
                f" {_some(ends)}"
            )
        unchosen = [choice.arm for choice in choices if not any(map(_known, choice.losses))]
        if unchosen:
            lines.append(f"no {key} finished on seed {seeds}, so it is left out: {_some(unchosen)}")
    elif arms and "lr" in arms[0].settings and len(arms[0].settings) > 1:
        lines.append(
            "arms are compared at equal lr, not each at its best: --choose lr chooses it for each,"
            " on other seeds"
        )
    finished = [arm for arm in arms if arm.finished]
    if finished and not any(arm.mean.n or arm.undefined for arm in finished):
        lines.append(f"none of these runs measures {metric}")
    undefined = [arm.label for arm in arms if arm.undefined]
    if undefined:
        lines.append(f"{metric} is undefined for {_some(undefined)}")
    missing = sum((Counter(arm.missing) for arm in arms), Counter[str]())
    if missing:
        told = ", ".join(f"{count} {status}" for status, count in sorted(missing.items()))
        verb = "has" if missing.total() == 1 else "have"
        lines.append(f"{count_of(missing.total(), 'run')} {verb} no result: {told}")
    lines += [flag.text for flag in flags if not flag.unfair]
    return [Sentence("caution", line) for line in lines]


def _known(loss: float | None) -> bool:
    return loss is not None


def _some(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def in_order(found: Iterable[Sentence]) -> list[Sentence]:
    """Sort sentences by kind and keep their order within."""
    return sorted(found, key=lambda sentence: KINDS.index(sentence.kind))
