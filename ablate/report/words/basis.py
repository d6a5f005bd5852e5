"""What a contrast rests on, in words: its pairs, its correction, and what more seeds would show."""

from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.testing import seeds_needed
from ablate.report.inference.verdicts import Judge
from ablate.report.words.numbers import count_of


def basis(contrast: Contrast) -> str:
    """Say what a contrast is over: pairs, cells, and what had to be left out."""
    seeds = contrast.difference.n
    words = f"{count_of(seeds, 'seed')} paired"
    if seeds == 2:
        words += ", which are few"
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
    """Say that an interval is clear, and the verdict is not."""
    return f"clear alone, not after the correction for {contrast.family} comparisons (Holm)"


def outlook(contrast: Contrast, judge: Judge) -> str:
    """Say how many seeds would tell differences of the margin's size; two tell no spread."""
    seeds = contrast.difference.n
    needed = seeds_needed(contrast.difference, judge.margin) if seeds >= 3 else None
    if needed is None or needed <= seeds:
        return ""
    return f"; at this spread {needed} seeds would narrow it to ±{judge.margin:g}"
