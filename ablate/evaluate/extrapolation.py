"""Accuracy at context lengths shorter and longer than trained, on the same held-out targets.

The fixed-target protocol: targets come in groups of w = L/8 tokens on a grid of step w. A group
is scored teacher-forced as the last w tokens of a window of c tokens, for every c, so that
lengths differ in context alone. The last target of a window has c tokens before it. An encoder
is scored on the hidden tokens among the last w, which are the same for every c too.
"""

from collections.abc import Sequence

import numpy as np
import torch

from ablate.data.tasks import CorpusTask
from ablate.errors import UserError
from ablate.evaluate.by_position import bucket_table, position_curve
from ablate.evaluate.document_sums import length_intervals, text_documents
from ablate.evaluate.protocols import measure_protocols
from ablate.evaluate.windows import Check, Scores, Windows, score_windows
from ablate.model.transformer import Transformer
from ablate.record.evaluated import Extrapolation, PositionBuckets, PositionCurve

MEASURES = ("accuracy", "nll")


def lay_windows(tokens: int, *, seq_len: int, longest: int, count: int) -> Windows:
    """Up to `count` target groups, evenly spread over the grid of step L/8.

    Raises UserError where the stream is too short for one window of the longest context.

    >>> lay_windows(100, seq_len=16, longest=32, count=4).ends.tolist()
    [33, 49, 67, 83]
    """
    width = max(1, seq_len // 8)
    room = (tokens - longest - width) // width + 1
    if room < 1:
        raise UserError(
            f"the validation split has {tokens:,} tokens, but extrapolation windows of {longest:,} "
            f"tokens need at least {longest + width:,}; use a larger corpus, a smaller seq_len or "
            "shorter evaluate.lengths"
        )
    count = min(count, room)
    return Windows(longest + width - 1 + np.arange(count) * room // count * width, width)


def window_layout(
    tokens: int, *, seq_len: int, multiples: Sequence[float], windows: int
) -> tuple[list[int], Windows]:
    """The context lengths in tokens, ascending and with L among them, and where windows lie.

    Raises UserError where the stream is too short.
    """
    shortest = max(1, seq_len // 8)
    lengths = sorted({max(shortest, round(m * seq_len)) for m in multiples} | {seq_len})
    return lengths, lay_windows(tokens, seq_len=seq_len, longest=lengths[-1], count=windows)


@torch.inference_mode()
def extrapolate(
    model: Transformer,
    task: CorpusTask,
    *,
    multiples: Sequence[float],
    windows: int,
    protocols: Sequence[str] = (),
    batch_tokens: int,
    check: Check = lambda doing: None,
) -> Extrapolation:
    """Accuracy and nll of the fixed targets at each multiple of the train length.

    `accuracy_unigram` is the accuracy of always guessing the most frequent training token.
    `protocols` are measured too. `batch_tokens` bounds the tokens of one forward pass (one window
    at least). Values are null at a length beyond the scheme's limit, and where a diverged model
    gives no finite number.
    """
    seq_len, corpus = model.shape.seq_len, task.corpus
    lengths, layout = window_layout(
        len(corpus.validation), seq_len=seq_len, multiples=multiples, windows=windows
    )
    model.eval()
    scores = score_lengths(model, task, layout, lengths, batch_tokens, check)
    by_protocol = measure_protocols(
        model,
        task,
        lengths,
        names=protocols,
        windows=windows,
        batch_tokens=batch_tokens,
        check=check,
    )
    model.train()
    width, longest = layout.width, scores[max(scores)]
    ends = {length: all_scores.last(width) for length, all_scores in scores.items()}
    accuracy, nll = ([ends[c].mean(m) if c in ends else None for c in lengths] for m in MEASURES)
    unigram = ends[min(ends)].share_of(int(corpus.counts.argmax()))
    whole = bool(longest.scored.all()) and longest.finite
    measured = Extrapolation(
        protocol="fixed-target",
        train_length=seq_len,
        lengths=lengths,
        accuracy=accuracy,
        nll=nll,
        retention=[retention(a, accuracy[lengths.index(seq_len)], unigram) for a in accuracy],
        accuracy_unigram=unigram,
        targets=ends[max(ends)].count,
        curve=position_curve(longest.nll, longest.correct, width) if whole else PositionCurve(),
        buckets=bucket_table(longest.nll, longest.correct, lengths) if whole else PositionBuckets(),
        documents=text_documents(
            ends, lengths, seq_len, layout, corpus.validation_documents, task.costs()
        ),
        protocols=by_protocol,
    )
    measured.interval = length_intervals(measured)
    return measured


def score_lengths(
    model: Transformer,
    task: CorpusTask,
    layout: Windows,
    lengths: Sequence[int],
    batch_tokens: int,
    check: Check,
) -> dict[int, Scores]:
    """Scores by length up to the scheme's limit: of the targets; at the longest, of all tokens."""
    limit = model.position.max_length
    defined = [c for c in lengths if limit is None or c <= limit]
    scores: dict[int, Scores] = {}
    for length in defined:
        check(f"evaluating with {length} tokens of context")
        keep = length if length == defined[-1] else layout.width
        scores[length] = score_windows(model, task, layout, length, batch_tokens, check, keep=keep)
    return scores


def retention(accuracy: float | None, trained: float | None, unigram: float) -> float | None:
    """(acc(c) − unigram) / (acc(L) − unigram); None where acc(L) is no better than unigram.

    >>> retention(0.4, 0.6, 0.2)
    0.5
    """
    if accuracy is None or trained is None or trained <= unigram:
        return None
    return round((accuracy - unigram) / (trained - unigram), 12)
