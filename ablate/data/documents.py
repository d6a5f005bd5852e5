"""Streams of documents: their content hash, and which part is training and which validation."""

import hashlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, NamedTuple

Split = Literal["train", "validation"]
SPLITS: tuple[Split, Split] = ("train", "validation")

VALIDATION_SHARE = 0.05
WHOLE_SHARE = 0.01  # of the corpus; a larger document would make up too much of the validation
LEAST_SHARE = 0.02  # of validation, below which even small documents are cut
EARLIEST_CUT = 0.9


class Piece(NamedTuple):
    """A stretch of one document; consecutive pieces of the same name and split make it up.

    `split` is None unless the corpus comes with a split of its own.
    """

    name: str
    text: str
    split: Split | None = None


class Part(NamedTuple):
    """A stretch of text that belongs to one split; `first` where it begins a document there."""

    split: Split
    text: str
    first: bool


@dataclass(frozen=True)
class Survey:
    """What one pass over a corpus finds out about it.

    `lengths` of documents are in characters, in the order of the stream; `characters` are those of
    each split. Where the corpus has no split of its own, a document of up to `whole` characters is
    in one split as a whole; a longer one gives its last 5 % to validation.
    """

    sha256: str
    lengths: array
    characters: dict[Split, int]
    whole: int


def in_validation(name: str) -> bool:
    """Whether the hash of its name puts a document into validation; 5 % of names are.

    Only the name decides, so that a document stays in its split when others come or go.
    """
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") < VALIDATION_SHARE * 2**64


class Digest:
    """SHA-256 over names and texts (UTF-8) of a stream, wherever its documents are cut."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._last: tuple[str, str | None] | None = None

    def feed(self, piece: Piece) -> None:
        """Take in the next piece."""
        if (piece.name, piece.split) != self._last:
            self._last = piece.name, piece.split
            header = f"\0{piece.split or ''}\0{piece.name}\0"  # NUL is in no text: no collisions
            self._hash.update(header.encode("utf-8", "surrogatepass"))
        self._hash.update(piece.text.encode("utf-8"))

    def hexdigest(self) -> str:
        """Hash of all that was fed."""
        return self._hash.hexdigest()


def take_survey(pieces: Iterable[Piece]) -> Survey:
    """Hash a stream of documents, measure it and decide how it is split.

    A corpus without a split of its own is split so: 5 % of the documents that are at most 1 % of
    the corpus are validation, chosen by the hash of their names, and so are the last 5 % of each
    longer document. Where that makes less than 2 % of the text validation, the last 5 % of every
    document are instead.
    """
    digest = Digest()
    lengths, hashed = array("q"), array("b")
    own_split: dict[Split, int] = {"train": 0, "validation": 0}
    for (split, name), group in groupby(pieces, key=lambda piece: (piece.split, piece.name)):
        length = 0
        for piece in group:
            digest.feed(piece)
            length += len(piece.text)
        lengths.append(length)
        hashed.append(in_validation(name))
        if split is not None:
            own_split[split] += length
    if any(own_split.values()):
        return Survey(digest.hexdigest(), lengths, own_split, whole=0)
    total = sum(lengths)
    whole = int(WHOLE_SHARE * total)
    validation = _validation_size(lengths, hashed, whole)
    if validation < LEAST_SHARE * total:
        whole = 0
        validation = _validation_size(lengths, hashed, whole)
    characters: dict[Split, int] = {"train": total - validation, "validation": validation}
    return Survey(digest.hexdigest(), lengths, characters, whole)


def _validation_size(lengths: array, hashed: array, whole: int) -> int:
    """Characters of validation; `hashed` is 1 for a document that its hash puts there."""
    return sum(
        length * in_it if length <= whole else length - _tail_start(length)
        for length, in_it in zip(lengths, hashed, strict=True)
    )


def parts(pieces: Iterable[Piece], survey: Survey) -> Iterator[Part]:
    """The text in the order of the stream, each stretch with the split that it belongs to."""
    lengths = iter(survey.lengths)
    for (own_split, name), group in groupby(pieces, key=lambda piece: (piece.split, piece.name)):
        length = next(lengths, 0)
        if own_split is None and length > survey.whole:
            stretches = _cut_tail(group, length)
        else:
            split: Split = own_split or ("validation" if in_validation(name) else "train")
            stretches = ((split, piece.text) for piece in group)
        begun: set[Split] = set()
        for split, text in stretches:
            if text:
                yield Part(split, text, split not in begun)
                begun.add(split)


def _tail_start(length: int) -> int:
    """Where the last 5 % of a document begin, in characters; each side gets one where it can.

    >>> _tail_start(1000), _tail_start(2), _tail_start(1)
    (950, 1, 1)
    """
    return max(min(int((1 - VALIDATION_SHARE) * length), length - 1), 1)


def _cut_tail(group: Iterator[Piece], length: int) -> Iterator[tuple[Split, str]]:
    """Cut where the last 5 % begin: at the last line end before, unless that is before 90 %."""
    mark, position, split = _tail_start(length), 0, SPLITS[0]
    for piece in group:
        text = piece.text
        if split == "validation" or position + len(text) <= mark:
            yield split, text
        else:
            line = text.rfind("\n", 0, mark - position) + 1
            late_enough = line and position + line >= EARLIEST_CUT * length
            cut = line if late_enough else mark - position
            yield "train", text[:cut]
            yield "validation", text[cut:]
            split = "validation"
        position += len(text)
