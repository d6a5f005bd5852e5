"""What becomes of what an arm learned at lengths beyond its own, from the records of its runs."""

from collections.abc import Sequence

from ablate.judge.at_length import has_documents, kept_together
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


def kept_beyond(measured: Sequence[Extrapolation], measure: Measure) -> dict[float, Keeping]:
    """The words for an arm at all contexts beyond the train length, by context in train lengths.

    They are judged together, so that the word for a context is the same wherever it is told.
    """
    factors = factors_beyond(measured)
    trained = (measured[0].train_length or 0) if measured else 0
    contexts = [round(factor * trained) for factor in factors]
    return dict(zip(factors, kept_together(measured, measure, contexts), strict=True))


def kept_by_measure(runs: Sequence[Run]) -> dict[Measure, dict[float, Keeping]]:
    """The words for the runs of one arm, by measure and context; {} where no record has them."""
    measured = measured_alike(runs)
    if not factors_beyond(measured):
        return {}
    return {measure: kept_beyond(measured, measure) for measure in measures_of(measured)}
