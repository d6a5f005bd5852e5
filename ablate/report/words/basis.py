"""What a contrast rests on, in words: its pairs, its correction, and what more seeds would show."""

from collections.abc import Sequence
from typing import Any

from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.testing import MOST
from ablate.report.words.numbers import count_of, spread


def basis(contrast: Contrast) -> str:
    """Say what a contrast is over: pairs, cells, and what had to be left out."""
    seeds = contrast.difference.n
    words = f"{count_of(seeds, 'seed')} paired"
    if seeds == 2:
        words += ", which are few"
    if contrast.look:
        words += f", at look {contrast.look.number} of {contrast.look.of}"
    if contrast.every > 1:
        share = "" if contrast.cells == contrast.every else f"{contrast.cells} of "
        words += f", over {share}{count_of(contrast.every, 'combination')} of the other settings"
    if contrast.left_out:
        every = contrast.left_out + contrast.cells * seeds
        words += (
            f"; {contrast.left_out} of {every} pairs left out, since not every run has a number"
        )
    return words


def holm_text(contrast: Contrast) -> str:
    """Say that a 95 % interval is clear, and the verdict is not."""
    low, high = contrast.difference.low or 0.0, contrast.difference.high or 0.0
    return (
        f"clear alone at 95 % {spread(low, high)}, not after the correction for {contrast.family}"
        " comparisons (Holm)"
    )


def outlook(contrast: Contrast, which: str = "it") -> str:
    """Say how many seeds would decide what is undecided, and how to add them."""
    if contrast.look:
        ahead = contrast.look.next_at
        return (
            f"; the next planned look is at {ahead} seeds"
            if ahead
            else "; still open after the last planned look"
        )
    answer = contrast.to_decide
    match answer.word if answer else "unknown":
        case "decides":
            total = answer.total if answer and answer.total else 0
            return f"; about {total} seeds would decide {which}{adding(contrast.seeds, total)}"
        case "on the margin":
            return f"; on the margin: no number of seeds will decide {which}"
        case "too many":
            return f"; more than {MOST} seeds would be needed to decide {which}"
        case "unknown" if contrast.difference.n == 2:
            return "; with three seeds or more it is told how many would decide it"
        case _:
            return ""


def adding(seeds: Sequence[Any], total: int) -> str:
    """The override that makes so many seeds in all; those that are there are not run again.

    >>> adding((0, 1, 2), 8), adding((3, 5), 4), adding(("a",), 4)
    (' (add seed=0..7)', ' (add seed=6..7)', '')
    """
    if not seeds or not all(isinstance(seed, int) for seed in seeds):
        return ""
    first, last = min(seeds), max(seeds)
    if last - first + 1 == len(seeds):
        return f" (add seed={first}..{first + total - 1})"
    return f" (add seed={last + 1}..{last + total - len(seeds)})"
