"""What becomes of what an arm learned at lengths beyond its own, from the records of its runs."""

from collections.abc import Sequence

from ablate.judge.at_length import has_documents, kept
from ablate.judge.keeping import Keeping, Measure
from ablate.record.evaluated import Extrapolation
from ablate.report.runs.collect import Run


def measured_alike(runs: Sequence[Run]) -> list[Extrapolation]:
    """What the finished runs of one arm measured, one a seed, on the same text.

    Nothing where a record has no sums by document (an older one), where seeds repeat, as in a row
    of several arms, or where texts or train lengths differ.
    """
    done = [run.record for run in runs if run.record.status == "done"]
    measured = [record.extrapolation for record in done]
    texts = {(record.corpus.sha256, record.extrapolation.train_length) for record in done}
    once = len({record.seed for record in done}) == len(done)
    known = all(has_documents(each) and each.train_length for each in measured)
    return measured if known and once and len(texts) == 1 else []


def measures_of(measured: Sequence[Extrapolation]) -> tuple[Measure, Measure]:
    """How runs are judged: by exact match where there is any, else by accuracy; and by nll."""
    exact = any(each.documents.exact for each in measured)
    return ("exact" if exact else "accuracy", "nll")


def factors_beyond(measured: Sequence[Extrapolation]) -> list[float]:
    """The contexts beyond the train length that every run has, in train lengths."""
    shared = set.intersection(*(set(each.lengths) for each in measured)) if measured else set()
    trained = (measured[0].train_length or 1) if measured else 1
    return [context / trained for context in sorted(shared) if context > trained]


def kept_at(measured: Sequence[Extrapolation], measure: Measure, factor: float) -> Keeping:
    """The word for an arm at a context of `factor` train lengths."""
    context = round(factor * (measured[0].train_length or 0))
    return kept(measured, measure, context)


def kept_at_longest(runs: Sequence[Run]) -> tuple[float, Keeping, Keeping] | None:
    """The longest context in train lengths, its word by accuracy (exact match), and by nll."""
    measured = measured_alike(runs)
    factors = factors_beyond(measured)
    if not factors:
        return None
    first, second = measures_of(measured)
    longest = factors[-1]
    return longest, kept_at(measured, first, longest), kept_at(measured, second, longest)
