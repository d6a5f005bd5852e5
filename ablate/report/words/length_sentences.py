"""What is told of lengths beyond the train length, and the words of a table's column."""

from collections.abc import Sequence

from ablate.judge.keeping import KeepingWord, Measure
from ablate.judge.text_and_seeds import SeedsMean
from ablate.report.inference.length_facts import BestAtLength, KeptByArm, LengthFact, LengthTold
from ablate.report.runs.columns import Missing
from ablate.report.runs.tables import TableRow
from ablate.report.words.length_outlook import length_outlook
from ablate.report.words.numbers import amount, count_of, some, spread
from ablate.report.words.sentence import Sentence

IN_TABLE: dict[KeepingWord, str] = {
    "keeps": "keeps",
    "gains": "gains",
    "loses": "loses",
    "undecided": "undecided",
    "floor": "knew nothing",
    "undefined": "undef.",
}
OF_ONE: dict[KeepingWord, str] = {
    "gains": "gains",
    "keeps": "keeps what it learned",
    "loses": "loses",
    "undecided": "is undecided",
    "floor": "knew nothing at L that it could keep",
    "undefined": "is undefined there",
}
OF_SEVERAL: dict[KeepingWord, str] = {
    "gains": "gain",
    "keeps": "keep what they learned",
    "loses": "lose",
    "undecided": "are undecided",
    "floor": "knew nothing at L that they could keep",
    "undefined": "are undefined there",
}
NAMES: dict[Measure, str] = {"accuracy": "accuracy", "exact": "exact match", "nll": "nll"}
UNITS: dict[Measure, str] = {"accuracy": "", "exact": "", "nll": " nats"}
MOST = 4


def length_sentence(fact: LengthFact) -> Sentence:
    """Say one fact."""
    return best(fact) if isinstance(fact, BestAtLength) else told(fact)


def context_name(factor: float) -> str:
    """A context in train lengths.

    >>> context_name(8.0), context_name(1.5)
    ('8L', '1.5L')
    """
    return f"{factor:g}L"


def told(fact: LengthTold) -> Sentence:
    """Say which arms keep, lose or gain, with their effects at the longest of the contexts."""
    contexts = listed([context_name(factor) for factor in fact.factors])
    parts = []
    for word in OF_ONE:
        arms = [arm for arm in fact.arms if arm.kept.word == word]
        if arms:
            verb = OF_ONE[word] if len(arms) == 1 else OF_SEVERAL[word]
            outlook = length_outlook(arms) if word == "undecided" else ""
            parts.append(f"{some([arm.arm for arm in arms], MOST)} {verb}{effects(arms)}{outlook}")
    seeds = sorted({len(arm.seeds) for arm in fact.arms})
    numbers = f"{seeds[0]} to {seeds[-1]} seeds" if len(seeds) > 1 else count_of(seeds[0], "seed")
    together = f", of {fact.together} lengths together (Holm)" if fact.together > 1 else ""
    at = f" at {context_name(fact.factors[-1])}" if len(fact.factors) > 1 else ""
    return Sentence(
        f"{NAMES[fact.measure]} at {contexts} against L: {'; '.join(parts)}",
        joint=" (",
        evidence=(
            f"better is +{at}; 95 % over seeds and documents{together}; margin"
            f" {fact.margin:g}{UNITS[fact.measure]}; {numbers})"
        ),
    )


def effects(arms: Sequence[KeptByArm]) -> str:
    """The effect of one arm with its interval, or the range that those of several span."""
    means = [arm.kept.effect for arm in arms if arm.kept.effect is not None]
    if not means:
        return ""
    if len(means) == 1:
        return f", {amount(means[0].mean, True)}{between(means[0])}"
    low, high = min(one.mean for one in means), max(one.mean for one in means)
    return f", {amount(low, True)} to {amount(high, True)}"


def between(mean: SeedsMean) -> str:
    """The interval over seeds and text; over seeds alone where documents are too few."""
    bounds = mean.interval or mean.here
    return f" {spread(*bounds)}" if bounds else ""


def best(fact: BestAtLength) -> Sentence:
    """Say which arm is ahead at the longest context, and from which it is not told apart."""
    at = f"in {NAMES[fact.measure]} at {context_name(fact.factor)}"
    clear = [lead for lead in fact.leads if lead.clear]
    close = [lead for lead in fact.leads if not lead.clear]
    value = f"{fact.value:.3f}{UNITS[fact.measure]}"
    unit = UNITS[fact.measure]
    if close:
        names = some([lead.over for lead in close], MOST)
        claim = f"{at} {fact.arm} is ahead ({value}), not distinguishable from {names}"
    else:
        claim = f"{at} {fact.arm} is best ({value})"
    if clear:
        nearest = clear[0]
        sizes = f"{amount(nearest.difference.mean, True)}{between(nearest.difference)}{unit}"
        claim += f"; better than {some([lead.over for lead in clear], MOST)}"
        evidence = f"{sizes} over {nearest.over}"
    else:
        nearest = close[0]
        sizes = f"{amount(nearest.difference.mean, True)}{between(nearest.difference)}{unit}"
        evidence = f"{sizes} over {nearest.over}"
    seeds = count_of(nearest.difference.seeds, "seed")
    return Sentence(
        claim,
        evidence=(
            f"{evidence}, paired on the same targets, {seeds}, interval adjusted for"
            f" {count_of(len(fact.leads), 'comparison')}"
        ),
    )


def listed(names: Sequence[str]) -> str:
    """Names with commas and an "and".

    >>> listed(["2L", "4L", "8L"]), listed(["8L"])
    ('2L, 4L and 8L', '8L')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def row_words(row: TableRow) -> tuple[str, str] | None:
    """Of a row the longest context and the words there, by accuracy and by nll."""
    by_measure = row.kept.values()
    if not by_measure:
        return None
    longest = max(max(by_factor) for by_factor in by_measure)
    words = (IN_TABLE[by_factor[longest].word] for by_factor in by_measure)
    return context_name(longest), " / ".join(words)


def length_cells(rows: Sequence[TableRow]) -> tuple[str, list[str]] | None:
    """The column of words: its second heading and a text by row; None where no record has them."""
    words = [row_words(row) for row in rows]
    contexts = {word[0] for word in words if word is not None}
    if not contexts:
        return None
    one = len(contexts) == 1
    cells = [
        Missing.UNMEASURED.value if word is None else word[1] if one else f"{word[1]} at {word[0]}"
        for word in words
    ]
    return (f"at {contexts.pop()} acc. / nll" if one else "acc. / nll"), cells


LEGEND = (
    "against L: what becomes at the longest context of what was learned at L, by accuracy (exact"
    " match, where there is any) and by nll, over seeds and documents: keeps (surely no more than"
    " 0.02 worse), loses, gains (surely by more), undecided; knew nothing: no better than guessing"
    " at L; –: a row of several arms, or a record without sums by document"
)
