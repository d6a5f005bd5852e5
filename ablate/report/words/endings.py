"""How runs ended, in words: how many diverged or got stuck, and whether that is by chance."""

from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.counts import Count
from ablate.report.inference.testing import FEWEST, LEVEL
from ablate.report.words.numbers import count_of, p_text
from ablate.report.words.sentence import Sentence


def diverged(contrast: Contrast) -> str:
    """Say how many runs of each side diverged."""
    first, second = contrast.diverged[:2]
    runs = f"{first} of {contrast.of} runs diverged against {second} of {contrast.of}"
    if contrast.seeds_of < FEWEST:
        return f"{runs}, over {_few(contrast.seeds_of)}: {TOO_FEW}"
    in_seeds, others = contrast.seeds_diverged[:2]
    return f"{runs} {_tested(in_seeds, others, contrast.seeds_of, contrast.p_diverged_holm)}"


TOO_FEW = "too few for a test"


def _few(seeds: int) -> str:
    return f"{count_of(seeds, 'seed')} only"


def _tested(in_seeds: int, others: int, seeds: int, p: float | None) -> str:
    return (
        f"(Fisher's exact test over {count_of(seeds, 'seed')}: more than half of the runs in"
        f" {in_seeds} against {others}, {p_text(p)} by Holm)"
    )


def survivors(contrast: Contrast) -> str:
    """Say what diverged, of a contrast of the runs that did not."""
    if not any(contrast.diverged):
        return ""
    if contrast.kind == "interaction":
        return "; runs diverged, and the change is of those that did not"
    return f"; {diverged(contrast)}, and the difference is of those that did not"


def ending(count: Count) -> Sentence:
    """Say how many runs of a level diverged or got stuck."""
    words = {"diverged": "diverged", "stuck": "got stuck"}[count.ending]
    claim = (
        f"{count.count} of {count.of} runs with {count.name} {words} and {count.other} of"
        f" {count.of} with {count.against}"
    )
    if count.seeds < FEWEST:
        return Sentence(f"{claim}, but over {_few(count.seeds)}", evidence=TOO_FEW)
    test = _tested(count.in_seeds, count.other_seeds, count.seeds, count.p_holm)
    verdict = ": not distinguishable" if count.p_holm > LEVEL else ""
    return Sentence(claim, joint=" ", evidence=f"{test}{verdict}")
