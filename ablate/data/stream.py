"""Documents through `datasets` and a tokenizer, a few pieces at a time."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ablate.data.corpora import Corpus
from ablate.data.documents import Digest, Part, Piece, Split, Survey, parts
from ablate.data.tokenizers import Tokenizer
from ablate.errors import UserError

BATCH = 32  # pieces tokenised at a time: 8 Mi characters at most
HEARTBEAT = 5.0  # seconds between two messages

Say = Callable[[str], None]


def silent(text: str) -> None:
    """Say nothing."""


def training_texts(corpus: Corpus, seen: Survey) -> Iterator[str]:
    """The training split alone, for what a tokenizer has to learn."""
    return (part.text for part in parts(corpus.pieces(silent), seen) if part.split == "train")


def tokens(
    scratch: Path, corpus: Corpus, seen: Survey, tokenizer: Tokenizer, say: Say
) -> Iterator[tuple[Split, np.ndarray, bool]]:
    """Split, token ids and whether they begin a document, for every stretch of a corpus.

    Raises UserError where the corpus is not what the survey saw. `scratch` is for what `datasets`
    writes: nothing of a local corpus goes to its own cache.
    """
    total, done, spoken = sum(seen.lengths), 0, time.monotonic()
    for batch in _dataset(scratch, corpus, seen).iter(BATCH):
        ids = tokenizer.encode_many(batch["text"])
        yield from zip(batch["split"], ids, batch["first"], strict=True)
        done += sum(map(len, batch["text"]))
        if done < total and time.monotonic() - spoken > HEARTBEAT:
            spoken = time.monotonic()
            say(f"corpus={corpus.name}: tokenised {done / total:.0%} of {total:,} characters")


def _dataset(scratch: Path, corpus: Corpus, seen: Survey) -> Any:
    import datasets

    cache = datasets.config.HF_DATASETS_CACHE
    datasets.config.HF_DATASETS_CACHE = scratch  # from_generator has no argument for it
    try:
        return datasets.IterableDataset.from_generator(
            _rows, gen_kwargs={"corpus": corpus, "seen": seen}
        )
    finally:
        datasets.config.HF_DATASETS_CACHE = cache


def _rows(corpus: Corpus, seen: Survey) -> Iterator[dict[str, Any]]:
    stretches: Iterator[Part] = parts(_same(corpus, seen), seen)
    for part in stretches:
        yield part._asdict()


def _same(corpus: Corpus, seen: Survey) -> Iterator[Piece]:
    digest = Digest()
    for piece in corpus.pieces(silent):
        digest.feed(piece)
        yield piece
    if digest.hexdigest() != seen.sha256:
        raise UserError(f"corpus={corpus.name} changed while it was read: run the command again")
