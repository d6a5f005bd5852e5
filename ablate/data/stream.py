"""The documents of a corpus through a tokenizer, a few pieces at a time."""

import time
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from ablate.data.corpora import Corpus
from ablate.data.documents import Digest, Piece, Split, Survey, parts
from ablate.data.repeated import LineHashes
from ablate.data.tokenizers import Tokenizer
from ablate.errors import UserError

BATCH = 32  # pieces tokenised at a time: 8 Mi characters at most
HEARTBEAT = 5.0  # seconds between two messages

Say = Callable[[str], None]


def silent(text: str) -> None:
    """Say nothing."""


def training_texts(corpus: Corpus, survey: Survey) -> Iterator[str]:
    """The training split alone, for what a tokenizer has to learn."""
    return (part.text for part in parts(corpus.pieces(silent), survey) if part.split == "train")


def tokens(
    corpus: Corpus, survey: Survey, tokenizer: Tokenizer, say: Say, lines: LineHashes
) -> Iterator[tuple[Split, np.ndarray, bool]]:
    """Split, token ids and whether they begin a document, for every stretch of a corpus.

    `lines` is shown the text on the way. Raises UserError, at the end, where the corpus is not what
    the survey saw.
    """
    total, done, spoken = sum(survey.lengths), 0, time.monotonic()
    stretches = parts(_unchanged(corpus, survey), survey)
    while batch := list(islice(stretches, BATCH)):
        ids = tokenizer.encode_many([part.text for part in batch])
        for part, part_ids in zip(batch, ids, strict=True):
            lines.feed(part)
            yield part.split, part_ids, part.first
        done += sum(len(part.text) for part in batch)
        if done < total and time.monotonic() - spoken > HEARTBEAT:
            spoken = time.monotonic()
            say(f"corpus={corpus.name}: tokenised {done / total:.0%} of {total:,} characters")


def _unchanged(corpus: Corpus, survey: Survey) -> Iterator[Piece]:
    """The pieces of a corpus; UserError after the last where their hash is not the survey's."""
    digest = Digest()
    for piece in corpus.pieces(silent):
        digest.feed(piece)
        yield piece
    if digest.hexdigest() != survey.sha256:
        raise UserError(f"corpus={corpus.name} changed while it was read: run the command again")
