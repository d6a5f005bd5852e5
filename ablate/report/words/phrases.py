"""One contrast or count in words, from its numbers alone."""

from ablate.report.inference.contrasts import Contrast, Judge
from ablate.report.inference.counts import Count
from ablate.report.inference.testing import FEWEST, seeds_needed


def amount(value: float, signed: bool = False) -> str:
    """Return a difference with three decimals, with more where it would read as zero.

    >>> amount(0.4201), amount(-0.4201, signed=True), amount(0.00042), amount(0.0)
    ('0.420', '−0.420', '0.00042', '0.000')
    >>> amount(123456.7)
    '1.235e+05'
    """
    small, large = 0 < abs(value) < 0.0005, abs(value) >= 1e5
    digits = f"{abs(value):.2g}" if small else f"{abs(value):.{'4g' if large else '3f'}}"
    if float(digits) == 0:
        return digits
    return ("−" if value < 0 else "+" if signed else "") + digits


def p_text(p: float | None) -> str:
    """Return a p value with two digits.

    >>> p_text(0.0312), p_text(1e-9), p_text(None)
    ('p = 0.031', 'p < 0.0001', 'no p')
    """
    if p is None:
        return "no p"
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"


def basis(one: Contrast) -> str:
    """Say what a contrast is over: pairs, cells, and what had to be left out."""
    words = f"{count_of(one.difference.n, 'seed')} paired"
    if one.difference.n == 2:
        words += ", which are few"
    if one.every > 1:
        share = "" if one.cells == one.every else f"{one.cells} of "
        words += f", over {share}{count_of(one.every, 'combination')} of the other settings"
    if one.left_out:
        every = one.left_out + one.cells * one.difference.n
        words += f"; {one.left_out} of {every} pairs left out, since not every run has a number"
    return words


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count_of(1, "seed"), count_of(2, "seed")
    ('1 seed', '2 seeds')
    """
    return f"{number} {noun}" + ("" if number == 1 else "s")


def spread(low: float, high: float) -> str:
    """Return an interval with signs where it holds both."""
    signed = low < 0 or high < 0
    return f"[{amount(low, signed)}, {amount(high, signed)}]"


def contrast_text(one: Contrast, unit: str, judge: Judge) -> str:
    """Say a contrast: "norm=post is worse than norm=pre by 0.420 nats [0.350, 0.490]: ..."."""
    mean, low, high = one.difference.mean, one.difference.low, one.difference.high
    if one.verdict in ("diverges more", "diverges less"):
        return f"{one.name} {one.verdict} than {one.against}: {diverged_text(one)}"
    if mean is None:
        if any(one.diverged):
            return f"{one.name} against {one.against}: {diverged_text(one)}; no pair finished"
        return f"{one.name} and {one.against}: nothing to compare, {_why_nothing(one)}"
    if one.verdict == "neither learned":
        return (
            f"{one.name} and {one.against}: neither learned more than how often tokens occur"
            f" ({' and '.join(f'{count} of {one.of}' for count in one.stuck)} runs are stuck), so"
            f" {amount(mean, True)} {unit} is no verdict"
        )
    if one.kind == "interaction":
        return _interaction_text(one, unit)
    if one.verdict == "equivalent" and low == high:
        return (
            f"{one.name} and {one.against} are the same: exactly 0 {unit} apart in each of"
            f" {count_of(one.difference.n, 'seed')}"
        )
    if low is None or high is None or low == high:
        start = f"{one.name} against {one.against}: {amount(mean, True)} {unit}"
        if one.difference.n == 1:
            return f"{start} in the one seed that both have: it has no interval and decides nothing"
        return f"{start} in each of {one.difference.n} seeds, no spread to judge it by"
    # Sizes are told as positive numbers: how much better, or how much worse.
    better = (mean > 0) == judge.higher
    size, ends = abs(mean), sorted((low, high) if mean > 0 else (-low, -high))
    told = f"by {amount(size)} {unit} {spread(*ends)}"
    seen = f"{basis(one)}{_survivors(one)}"
    if one.verdict in ("better", "worse"):
        return f"{one.name} is {one.verdict} than {one.against} {told}: {seen}"
    if one.verdict == "equivalent":
        return (
            f"{one.name} and {one.against} are equivalent: {amount(mean, True)} {unit}"
            f" {spread(low, high)}, within ±{judge.margin:g}: {seen}"
        )
    if one.verdict == "undecided":
        if any(one.diverged) and (ends[0] > judge.margin or max(-low, high) < judge.margin):
            return (
                f"{one.name} and {one.against}: {amount(mean, True)} {unit} {spread(low, high)}"
                f" where both finished, but other runs diverged, so nothing is decided; {seen}"
            )
        return (
            f"{one.name} is {'better' if better else 'worse'} than {one.against} {told}, whether by"
            f" more than {judge.margin:g} is undecided: {seen}"
            f"{holm_text(one) if ends[0] > judge.margin else outlook(one, judge)}"
        )
    return (
        f"{one.name} and {one.against} are not distinguishable: {amount(mean, True)} {unit}"
        f" {spread(low, high)}: {seen}{holm_text(one) if ends[0] > 0 else outlook(one, judge)}"
    )


def holm_text(one: Contrast) -> str:
    """Say that an interval is clear, and the verdict is not."""
    return f"; clear alone, not after the correction for {one.family} comparisons (Holm)"


def outlook(one: Contrast, judge: Judge) -> str:
    """Say how many seeds would tell differences of the margin's size; two tell no spread."""
    wanted = seeds_needed(one.difference, judge.margin) if one.difference.n >= 3 else None
    if wanted is None or wanted <= one.difference.n:
        return ""
    return f"; at this spread {wanted} seeds would narrow it to ±{judge.margin:g}"


IN_WORDS = {
    "equivalent": ", which is equivalent to none",
    "not distinguishable": ", not distinguishable from none",
    "undecided": ", whether that matters is undecided",
}


def _interaction_text(one: Contrast, unit: str) -> str:
    first, second = one.factors
    mean, low, high = one.difference.mean, one.difference.low, one.difference.high
    size = f"{amount(abs(mean or 0.0))} {unit}"
    if low is not None and high is not None:
        size += f" {spread(*sorted((low, high) if (mean or 0.0) > 0 else (-low, -high)))}"
    return (
        f"{first} × {second}: the difference of {first}={one.levels[0]} from"
        f" {first}={one.references[0]} is {'lower' if (mean or 0.0) < 0 else 'higher'} by {size}"
        f" with {second}={one.levels[1]} than with {second}={one.references[1]}"
        f"{IN_WORDS.get(one.verdict, '')}: {basis(one)}{_survivors(one)}"
    )


def _why_nothing(one: Contrast) -> str:
    if one.undefined:
        return "the scheme cannot do it"
    if not one.shared:
        return "no two runs differ in that alone"
    return "no shared seed has a number on both" if one.left_out else "they have no seed in common"


def diverged_text(one: Contrast) -> str:
    """Say how many runs of each side diverged."""
    first, second = one.diverged[:2]
    told = f"{first} of {one.of} runs diverged against {second} of {one.of}"
    if one.seeds_of < FEWEST:
        return f"{told}, over {_few(one.seeds_of)}"
    in_seeds, others = one.seeds_diverged[:2]
    return f"{told} {_tested(in_seeds, others, one.seeds_of, one.p_diverged_holm)}"


def _few(seeds: int) -> str:
    return f"{count_of(seeds, 'seed')} only: too few for a test"


def _tested(in_seeds: int, others: int, seeds: int, p: float | None) -> str:
    return (
        f"(Fisher's exact test over {count_of(seeds, 'seed')}: more than half of the runs in"
        f" {in_seeds} against {others}, {p_text(p)} by Holm)"
    )


def _survivors(one: Contrast) -> str:
    if not any(one.diverged):
        return ""
    if one.kind == "interaction":
        return "; runs diverged, and the change is of those that did not"
    return f"; {diverged_text(one)}, and the difference is of those that did not"


def count_text(one: Count) -> str:
    """Say how many runs of a level ended badly."""
    words = {"diverged": "diverged", "stuck": "got stuck"}[one.ending]
    told = (
        f"{one.count} of {one.of} runs with {one.factor}={one.level} {words} and {one.other} of"
        f" {one.of} with {one.factor}={one.reference}"
    )
    if one.seeds < FEWEST:
        return f"{told}, but over {_few(one.seeds)}"
    return f"{told} {_tested(one.in_seeds, one.other_seeds, one.seeds, one.p_holm)}"
