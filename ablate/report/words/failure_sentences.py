"""How runs ended, in words: which diverged or got stuck, in which cells, and whether by chance."""

from ablate.report.inference.arms import named
from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.failing import (
    FailingArms,
    FailingLevels,
    FailingTogether,
    FailuresOpen,
)
from ablate.report.inference.failure_facts import CellCount, FailureTest, PairFailures
from ablate.report.words.numbers import count_of, p_text, some, together
from ablate.report.words.sentence import Sentence

VERBS = {"diverged": "diverges", "stuck": "gets stuck"}
PAST = {"diverged": "diverged", "stuck": "got stuck"}
HOW = {"fails more": "more often", "fails less": "less often", "both": "in other cells"}
MOST = 4  # levels in a sentence


def failing_arms(fact: FailingArms) -> Sentence:
    """Say which arms failed more, or less, often than the others."""
    failed, of = sum(arm.failed for arm in fact.arms), sum(arm.of for arm in fact.arms)
    names = some([arm.arm for arm in fact.arms], MOST)
    how = "more often" if fact.more else "less often"
    largest = max(arm.p_holm or 0.0 for arm in fact.arms)
    return Sentence(
        f"{names} {PAST[fact.ending]} {how} than the other arms: {_runs(failed, of)} against"
        f" {fact.others} of {fact.of}",
        joint=" ",
        evidence=f"(exact test within seeds, {p_text(largest)}"
        f"{' or less' if len(fact.arms) > 1 else ''} by Holm)",
    )


def failing_levels(fact: FailingLevels) -> Sentence:
    """Say which levels fail more, or less, than their reference, and in which cells."""
    first, *more = fact.tests
    evidence = "; ".join(map(_as_well, more[: MOST - 1]))
    left = len(more) - (MOST - 1)
    if left > 0:
        evidence += f"; and {count_of(left, 'level')} more"
    how = f"{VERBS[first.ending]} {HOW[first.test.verdict]}"
    return Sentence(
        f"{first.name} {how} than {first.against}, {counts(first)}",
        joint="; ",
        evidence=evidence,
    )


def _as_well(one: PairFailures) -> str:
    """A level after the first: the sides, their totals, and the first cell that is named."""
    failed, of = one.test.failed, one.test.of
    cells = cells_named(one) if one.cell_keys else []
    where = f", with {some(cells, 1)}" if cells else ""
    return (
        f"{one.name} {HOW[one.test.verdict]} than {one.against}, {failed[0]} of {of[0]} against"
        f" {failed[1]} of {of[1]}{where} ({p_text(one.test.p_holm)})"
    )


def counts(one: PairFailures) -> str:
    """Say how many runs of both sides failed, in the cells where that is decided, with p."""
    named_cells = [count for count in one.test.cells if count.named]
    failed, of = one.test.failed, one.test.of
    total = f"{_runs(failed[0], of[0])} against {failed[1]} of {of[1]}"
    parts = [_cell(one, count) for count in named_cells] if one.cell_keys else []
    if len(one.test.cells) == 1 or not parts:
        return f"{total} ({_p(one)})"
    return f"{some(parts, 2)} ({total} in all; {_p(one)})"


def cells_named(one: PairFailures) -> list[str]:
    """Return the names of the cells in which a difference is decided."""
    return [named(one.cell_keys, count.cell) for count in one.test.cells if count.named]


def _cell(one: PairFailures, count: CellCount) -> str:
    runs = _runs(count.failed[0], count.of[0])
    cell = named(one.cell_keys, count.cell)
    return f"with {cell}: {runs} against {count.failed[1]} of {count.of[1]}"


def _runs(failed: int, of: int) -> str:
    return f"{failed} of {count_of(of, 'run')}"


def _p(one: PairFailures) -> str:
    return f"permutation over seeds, {p_text(one.test.p_holm)} by Holm"


def failing_together(fact: FailingTogether) -> Sentence:
    """Say which settings fail by acting together, and where alone runs failed, if that is so."""
    shown = [f"{first} × {second}" for first, second in (one.factors for one in fact.tests)]
    pairs = some(list(dict.fromkeys(shown)), MOST)
    largest = p_text(max(one.test.p_holm or 0.0 for one in fact.tests))
    tested = f"permutation over seeds, {largest}{' or less' if len(fact.tests) > 1 else ''} by Holm"
    if fact.only:
        where = together([f"{key}={' or '.join(levels)}" for key, levels in fact.only])
        runs = f"{_runs(fact.failed, fact.of)} there, 0 of {fact.elsewhere} elsewhere"
        return Sentence(
            f"runs {PAST[fact.ending]} only where {where} come together: {runs}",
            joint=" ",
            evidence=f"({pairs}: {tested})",
        )
    first = fact.tests[0]
    own, other = first.factors
    counts_at = [
        f"with {other}={level}, {first.test.failed[k]} of {first.test.of[k]} against"
        f" {first.test.failed[k + 1]} of {first.test.of[k + 1]}"
        for k, level in ((0, first.levels[1]), (2, first.references[1]))
    ]
    rest = some(list(dict.fromkeys(shown))[1:], MOST)
    return Sentence(
        f"how often {own}={first.levels[0]} {PAST[fact.ending]} against"
        f" {own}={first.references[0]} depends on {other}: {'; '.join(counts_at)}",
        joint=" ",
        evidence=f"({tested}){f'; so with {rest}' if rest else ''}",
    )


def failures_open(fact: FailuresOpen) -> Sentence:
    """Say which failures are not told from chance, and what the smallest p could have been."""
    listed = some([_open(one) for one in fact.tests])
    attainable = min(one.test.attainable for one in fact.tests)
    seeds = min(min(one.test.seeds) for one in fact.tests)
    claim = f"{listed} {PAST[fact.ending]}"
    possible = f"no p below {attainable:.2g} is possible"
    if fact.verdict == "too few seeds":
        few = f"{count_of(seeds, 'seed')} a side cannot decide a count"
        return Sentence(f"{claim}: {few}", evidence=possible)
    if fact.verdict == "too few failures":
        return Sentence(f"{claim}: {_few(fact.tests[0].test)}", evidence=possible)
    smallest = min(one.test.p_holm or 1.0 for one in fact.tests)
    evidence = f"permutation over seeds, {p_text(smallest)} by Holm, {possible}"
    return Sentence(f"{claim}: not distinguishable", evidence=evidence)


def _open(one: PairFailures) -> str:
    failed, of = one.test.failed, one.test.of
    runs = _runs(failed[0], of[0])
    return f"{runs} with {one.name} and {failed[1]} of {of[1]} with {one.against}"


def diverged(contrast: Contrast) -> str:
    """Say how many runs of each side diverged, and what a test makes of it."""
    first, second = contrast.diverged[:2]
    runs = f"{first} of {contrast.of} runs diverged against {second} of {contrast.of}"
    return runs + _why(contrast)


def _why(contrast: Contrast) -> str:
    if contrast.divergence is None:
        return ""
    test = contrast.divergence.test
    if test.failed == test.of:
        return ""
    if test.p_holm is None:
        few = "too few seeds for a test" if test.verdict == "too few seeds" else _few(test)
        return f" ({few}: no p below {test.attainable:.2g} is possible)"
    return f" ({_p(contrast.divergence)})"


def _few(test: FailureTest) -> str:
    """Why no count of these failures could be decided."""
    failed, of = sum(test.failed), sum(test.of)
    if failed == of:
        return "no side fails more often"
    rare = "failures" if 2 * failed <= of else "runs that did not fail"
    return f"so few {rare} cannot decide a count, wherever they fall"


def survivors(contrast: Contrast) -> str:
    """Say what diverged, of a contrast of the runs that did not."""
    if not any(contrast.diverged):
        return ""
    if contrast.kind == "interaction":
        return "; runs diverged, and the change is of those that did not"
    return f"; {diverged(contrast)}, and the difference is of those that did not"
