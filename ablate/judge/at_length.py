"""From the part of a record about lengths to what is asked of it (`judge.keeping`)."""

from collections.abc import Sequence

from ablate.judge.by_document import DocumentEstimate, DocumentSums
from ablate.judge.keeping import (
    MARGINS,
    Keeping,
    Measure,
    SeedAtLength,
    better,
    keeping,
    keeping_together,
)
from ablate.record.evaluated import DocumentScores, Extrapolation


def sums_at(measured: Extrapolation, measure: Measure, context: int) -> DocumentSums | None:
    """A measure by document at a context; None where it is undefined or was not recorded so."""
    if context not in measured.lengths:
        return None
    scores, place = measured.documents, measured.lengths.index(context)
    totals_by_length = {"accuracy": scores.correct, "exact": scores.exact, "nll": scores.nll}
    counts_by_length = scores.examples if measure == "exact" else scores.counts
    totals, counts = row(totals_by_length[measure], place), row(counts_by_length, place)
    if totals is None or counts is None or len(totals) != len(counts):
        return None
    return DocumentSums(totals, counts, scores.windows or 0)


def row(rows: Sequence[Sequence[float] | None], place: int) -> Sequence[float] | None:
    """The row in a place, None where there is none."""
    return rows[place] if place < len(rows) else None


def guessed(measured: Extrapolation, measure: Measure) -> DocumentSums | None:
    """The same at the train length of a guess that knows only frequencies."""
    scores = measured.documents
    own = (
        None if measured.train_length is None else sums_at(measured, measure, measured.train_length)
    )
    guesses = {"accuracy": scores.frequent, "exact": scores.guessed, "nll": scores.unigram}[measure]
    if own is None or len(guesses) != len(own.counts):
        return None
    return DocumentSums(guesses, own.counts, own.windows)


def has_documents(measured: Extrapolation) -> bool:
    """Whether a record has sums by document; older ones do not."""
    return bool(measured.documents.counts)


def effect_at(measured: Extrapolation, measure: Measure, context: int) -> DocumentEstimate | None:
    """How much better one run does the same targets at a context than at L; None: no number."""
    trained = measured.train_length
    own = None if trained is None else sums_at(measured, measure, trained)
    at = sums_at(measured, measure, context)
    paired = at is not None and own is not None and len(at.counts) == len(own.counts)
    return better(measure, at, own) if paired and at and own else None


def seeds_at_lengths(
    measured: Extrapolation, measure: Measure, contexts: Sequence[int]
) -> list[SeedAtLength]:
    """One run at each context; how far it is above guessing at L is the same for all."""
    trained = measured.train_length
    own = None if trained is None else sums_at(measured, measure, trained)
    guess = guessed(measured, measure)
    above_guessing = None if own is None or guess is None else better(measure, own, guess)
    effects = (effect_at(measured, measure, context) for context in contexts)
    return [SeedAtLength(effect, above_guessing) for effect in effects]


def kept(runs: Sequence[Extrapolation], measure: Measure, context: int) -> Keeping:
    """The word for an arm at a context from what its runs measured, one a seed; at 5 % alone."""
    seeds = [seed for run in runs for seed in seeds_at_lengths(run, measure, [context])]
    return keeping(seeds, MARGINS[measure])


def kept_together(
    runs: Sequence[Extrapolation], measure: Measure, contexts: Sequence[int]
) -> list[Keeping]:
    """The words for an arm at several contexts, at 5 % all together."""
    by_run = [seeds_at_lengths(run, measure, contexts) for run in runs]
    lengths = [[seeds[place] for seeds in by_run] for place in range(len(contexts))]
    return keeping_together(lengths, MARGINS[measure])


def same_targets(first: Extrapolation, second: Extrapolation, context: int) -> bool:
    """Whether two measurements scored the same targets at a context, as far as records tell.

    The texts are for the caller to compare.
    """

    def targets(measured: Extrapolation) -> tuple[object, ...]:
        scores: DocumentScores = measured.documents
        place = measured.lengths.index(context)
        protocol = (measured.protocol, measured.train_length, scores.windows)
        return (*protocol, *scores.places, row(scores.counts, place))

    known = has_documents(first) and has_documents(second)
    both = context in first.lengths and context in second.lengths
    return known and both and targets(first) == targets(second)
