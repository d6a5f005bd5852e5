"""A cache entry: the token arrays of one corpus under one tokenizer, in one folder.

train.tokens validation.tokens          raw little arrays, memory-mapped when read
train.documents validation.documents    int64, where each document begins
counts                                  int64, how often each token is in training
tokenizer.json                          what makes the tokenizer again
meta.json                               written last: sizes and checksums of the others
checked.json                            which large files have been read in full since they changed
"""

import json
import os
import zlib
from array import array
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ablate.data.documents import SPLITS
from ablate.data.repeated import Repeated
from ablate.data.tokenizers import SEPARATOR, TOKENIZERS, Tokenizer

FORMAT = 2  # raise it when the meaning of an entry changes: older entries are then built anew
FLUSH = 1 << 20  # tokens gathered before they are counted and written
CHECKED = 1 << 26  # bytes; a larger file is read for its checksum once, and again when it changed
BLOCK = 1 << 24  # bytes read at a time


@dataclass(frozen=True)
class TokenizedCorpus:
    """Token arrays of a corpus: 1-D, read-only, memory-mapped; a separator ends every document.

    `*_documents` are the positions where documents begin; `counts` has one number per token of
    the vocabulary and adds up to the length of `train`. `repeated` tells of validation texts that
    stand in training too.
    """

    name: str
    sha256: str
    vocabulary: int
    train: np.ndarray
    validation: np.ndarray
    train_documents: np.ndarray
    validation_documents: np.ndarray
    counts: np.ndarray
    tokenizer: Tokenizer
    repeated: Repeated | None = None


class _SplitWriter:
    """Appends documents to the tokens of a split, holding about a million of them at most."""

    def __init__(self, file: BinaryIO, tokenizer: Tokenizer) -> None:
        self._file = file
        self._dtype = tokenizer.dtype
        self._buffer: list[np.ndarray] = []
        self._buffered = 0
        self._length = 0
        self.starts = array("q")
        self.counts = np.zeros(tokenizer.vocabulary, np.int64)

    def add(self, ids: np.ndarray, first: bool) -> None:
        if first:
            self._end_document()
            self.starts.append(self._length)
        self._append(ids)

    def _end_document(self) -> None:
        if self.starts:
            self._append(np.array([SEPARATOR], self._dtype))

    def _append(self, ids: np.ndarray) -> None:
        self._buffer.append(ids)
        self._buffered += len(ids)
        self._length += len(ids)
        if self._buffered >= FLUSH:
            self._flush()

    def _flush(self) -> None:
        if self._buffer:
            tokens = np.concatenate(self._buffer)
            self.counts += np.bincount(tokens, minlength=len(self.counts))
            self._file.write(tokens.tobytes())
        self._buffer, self._buffered = [], 0

    def finish(self) -> None:
        self._end_document()
        self._flush()


def write(
    folder: Path,
    about: dict[str, Any],
    tokenizer: Tokenizer,
    stream: Iterable[tuple],
    repeated: Callable[[], Repeated],
) -> None:
    """Write an entry into an empty folder; `stream` gives (split, token ids, begins a document).

    `repeated` is asked once the stream has ended. Memory does not grow with the corpus but by the
    eight bytes of each document's start.
    """
    with ExitStack() as stack:
        files = {s: stack.enter_context((folder / f"{s}.tokens").open("wb")) for s in SPLITS}
        writers = {split: _SplitWriter(files[split], tokenizer) for split in SPLITS}
        for split, ids, first in stream:
            writers[split].add(ids, first)
        for split, writer in writers.items():
            writer.finish()
            (folder / f"{split}.documents").write_bytes(writer.starts.tobytes())
    (folder / "counts").write_bytes(writers["train"].counts.tobytes())
    (folder / "tokenizer.json").write_text(tokenizer.dump(), encoding="utf-8")
    seals = {path.name: _seal(path) for path in sorted(folder.iterdir())}
    numbers = {"vocabulary": tokenizer.vocabulary, "repeated": asdict(repeated())}
    meta = {"format": FORMAT, **about, **numbers, "files": seals}
    (folder / "meta.json").write_text(json.dumps(meta, indent=1), encoding="utf-8")
    _seal(folder / "meta.json")


def _seal(path: Path) -> list[int]:
    """Size and checksum of a file that is now on the disk for certain."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
    return [path.stat().st_size, _checksum(path)]


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            checksum = zlib.crc32(block, checksum)
    return checksum


def read(folder: Path) -> TokenizedCorpus | None:
    """The entry in a folder; None where it is missing, half-written, damaged or of old format."""
    try:
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        if meta["format"] != FORMAT or not _intact(folder, meta["files"]):
            return None
        text = (folder / "tokenizer.json").read_text(encoding="utf-8")
        tokenizer = TOKENIZERS[meta["tokenizer"]].load(text)
        arrays = {split: _map(folder / f"{split}.tokens", tokenizer.dtype) for split in SPLITS}
        starts = {split: _map(folder / f"{split}.documents", np.int64) for split in SPLITS}
        return TokenizedCorpus(
            name=meta["name"],
            sha256=meta["sha256"],
            vocabulary=tokenizer.vocabulary,
            train=arrays["train"],
            validation=arrays["validation"],
            train_documents=starts["train"],
            validation_documents=starts["validation"],
            counts=_map(folder / "counts", np.int64),
            tokenizer=tokenizer,
            repeated=Repeated(**meta["repeated"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _intact(folder: Path, files: dict[str, list[int]]) -> bool:
    """Whether all files are as they were written; large ones are read where that is not known."""
    known, large = _checked(folder), {}
    for name, (size, checksum) in files.items():
        status = (folder / name).stat()
        if status.st_size != size:
            return False
        facts = [status.st_ino, status.st_mtime_ns, status.st_ctime_ns]
        if size > CHECKED:
            large[name] = facts
            if known.get(name) == facts:
                continue
        if _checksum(folder / name) != checksum:
            return False
    if large != known:
        partial = folder / f"checked.{os.getpid()}"
        with suppress(OSError):  # a cache that may only be read is checked anew
            partial.write_text(json.dumps(large), encoding="utf-8")
            partial.replace(folder / "checked.json")
    return True


def _checked(folder: Path) -> dict[str, Any]:
    try:
        known = json.loads((folder / "checked.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _map(path: Path, dtype: Any) -> np.ndarray:
    if path.stat().st_size == 0:  # which cannot be mapped
        return np.empty(0, dtype)
    return np.memmap(path, dtype, mode="r")
