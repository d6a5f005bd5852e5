"""Two more ways to measure at length, both on the same held-out stretches of text.

non-overlapping: the stretches are cut into windows of c tokens and every target is scored, so that
most have less than c tokens of context.
sliding-window: windows of c tokens advance by c/2, and the last c/2 targets of each are scored; a
target has more than c/2 and at most c tokens of context. At c = L this shows what a model gets on a
text of any length when it is never given more context than in training.
Press et al. 2021 (arXiv 2108.12409) compare the two. Every token of the stretches is scored once
for every c.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from ablate.data.tasks import CorpusTask
from ablate.evaluate.windows import Check, Scores, Windows, score_windows
from ablate.model.transformer import Transformer
from ablate.record.evaluated import ProtocolResult

Cut = Callable[[np.ndarray, int, int], Iterator[tuple[int, Windows]]]
"""(first targets of stretches, their length, c) → pairs of (context, windows)."""
Means = tuple[float | None, float | None, int | None]
"""Accuracy, nats a target, number of targets."""


def measure_protocols(
    model: Transformer,
    task: CorpusTask,
    lengths: Sequence[int],
    *,
    names: Sequence[str],
    windows: int,
    batch_tokens: int,
    check: Check,
) -> dict[str, ProtocolResult]:
    """Accuracy and nll at each length by each named protocol; the model is in evaluation mode.

    There is one stretch of the longest length for every 32 `windows`. Values are null at a length
    beyond the scheme's limit and where numbers are not finite.
    """
    total, limit = max(lengths), model.position.max_length
    starts = lay_stretches(len(task.corpus.validation), total, max(1, windows // 32))
    rows: dict[str, list[Means]] = {name: [] for name in names}
    for length in lengths:
        if limit is not None and length > limit:
            for name in names:
                rows[name].append((None, None, None))
            continue
        cuts = {name: merged(PROTOCOLS[name](starts, total, length)) for name in names}
        # What an encoder has to predict in a window depends on which of its targets count.
        together = [cuts] if task.causal else [{name: cut} for name, cut in cuts.items()]
        for group in together:
            if group:
                check(f"evaluating {' and '.join(group)}, {length} tokens")
            scored = score_once(model, task, group, batch_tokens, check)
            for name, cut in group.items():
                rows[name].append(means(cut, scored))
    return {
        name: ProtocolResult(DEFINITIONS[name], list(lengths), *map(list, zip(*row, strict=True)))
        for name, row in rows.items()
    }


def lay_stretches(tokens: int, total: int, count: int) -> np.ndarray:
    """First targets of up to `count` stretches of `total` targets, evenly spread.

    >>> lay_stretches(100, 20, 3).tolist(), lay_stretches(30, 20, 3).tolist()
    ([1, 21, 41], [1])
    """
    room = (tokens - 1) // total
    count = min(count, room)
    return 1 + np.arange(count) * room // count * total


def non_overlapping(starts: np.ndarray, total: int, length: int) -> Iterator[tuple[int, Windows]]:
    """Windows of `length` side by side, a shorter one at the end where it does not divide."""
    for first in range(0, total, length):
        width = min(length, total - first)
        yield width, Windows(starts + first + width - 1, width)


def sliding_window(starts: np.ndarray, total: int, length: int) -> Iterator[tuple[int, Windows]]:
    """Windows of `length` that end at every half of it; shorter at the text's beginning alone."""
    stride = max(1, length // 2)
    for first in range(0, total, stride):
        width = min(stride, total - first)
        ends = starts + first + width - 1
        contexts = np.minimum(length, ends)
        for context in np.unique(contexts):
            yield int(context), Windows(ends[contexts == context], width)


PROTOCOLS: dict[str, Cut] = {"non-overlapping": non_overlapping, "sliding-window": sliding_window}
DEFINITIONS = {
    "non-overlapping": "stretches of text cut into windows of c tokens, every target scored",
    "sliding-window": (
        "windows of c tokens that advance by c/2, the last c/2 targets of each scored; every "
        "target has more than c/2 and at most c tokens of context"
    ),
}


def score_once(
    model: Transformer,
    task: CorpusTask,
    cuts: Mapping[str, Sequence[tuple[int, Windows]]],
    batch_tokens: int,
    check: Check,
) -> dict[tuple[int, int], Scores]:
    """Scores of every window that is in any cut, by (context, last target); each is scored once.

    Where windows of several cuts are the same, the one with the most targets is scored: windows
    side by side are every second one of those that advance by half.
    """
    widths: dict[tuple[int, int], int] = {}
    for context, windows in (pair for cut in cuts.values() for pair in cut):
        for end in windows.ends.tolist():
            widths[context, end] = max(windows.width, widths.get((context, end), 0))
    ends: dict[tuple[int, int], list[int]] = {}
    for (context, end), width in widths.items():
        ends.setdefault((context, width), []).append(end)
    scored: dict[tuple[int, int], Scores] = {}
    for (context, width), own in ends.items():
        windows = Windows(np.array(own), width)
        scores = score_windows(model, task, windows, context, batch_tokens, check, keep=width)
        scored |= {(context, end): scores.of(index) for index, end in enumerate(own)}
    return scored


def means(cut: Sequence[tuple[int, Windows]], scored: Mapping[tuple[int, int], Scores]) -> Means:
    """Accuracy, nll and number of targets over all windows of a cut; None where not finite."""
    right, nll, count = 0.0, 0.0, 0
    for context, windows in cut:
        for end in windows.ends.tolist():
            scores = scored[context, end].last(windows.width)
            right += float(scores.correct[scores.scored].sum(dtype=np.float64))
            nll += float(scores.nll[scores.scored].sum(dtype=np.float64))
            count += scores.count
    if not np.isfinite(nll):
        return None, None, count
    return right / count, nll / count, count


def merged(cuts: Iterator[tuple[int, Windows]]) -> list[tuple[int, Windows]]:
    """The same windows, those of equal context and width in one, so that they fill batches."""
    ends: dict[tuple[int, int], list[np.ndarray]] = {}
    for context, windows in cuts:
        ends.setdefault((context, windows.width), []).append(windows.ends)
    return [
        (context, Windows(np.concatenate(parts), width)) for (context, width), parts in ends.items()
    ]
