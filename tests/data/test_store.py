import os
import shutil

import numpy as np
import pytest

from ablate.data import entry, stream
from ablate.data.corpora import Corpus, Text
from ablate.data.documents import Piece
from ablate.data.files import CHUNK, Stamp
from ablate.data.store import prepare, require
from ablate.errors import UserError

LINES = "".join(f"line {number:03d} of the text\n" for number in range(100))


class Generated(Corpus):
    """As many documents of one line as asked for, made on the way."""

    name = "generated"

    def __init__(self, documents: int) -> None:
        super().__init__(tokenizer="bytes", vocabulary=None)
        self.documents = documents

    def stamp(self) -> Stamp:
        return Stamp([self.documents], 0)

    def pieces(self, say):
        for number in range(self.documents):
            yield Piece(f"{number}", f"document {number}\n")


def test_tokens_are_the_text_with_a_separator_after_each_document(tmp_path, prepared, write):
    write(tmp_path / "in/a.txt", LINES)
    write(tmp_path / "in/b.txt", LINES.upper())
    corpus = prepared(tmp_path / "in")
    assert corpus.vocabulary == 256
    assert corpus.train.dtype == np.uint8
    assert corpus.train.ndim == 1
    starts = corpus.train_documents
    assert starts.tolist() == [0, np.flatnonzero(corpus.train == 0)[0] + 1]
    halves = [corpus.train[: starts[1]], corpus.train[starts[1] :]]
    ends = [corpus.validation[: corpus.validation_documents[1]]]
    ends += [corpus.validation[corpus.validation_documents[1] :]]
    for begin, end, text in zip(halves, ends, (LINES, LINES.upper()), strict=True):
        assert begin[-1] == end[-1] == 0
        assert corpus.tokenizer.decode(np.concatenate([begin, end])) == text


def test_counts_are_of_the_training_tokens(book, prepared):
    corpus = prepared(book)
    assert corpus.counts.sum() == len(corpus.train)
    assert corpus.counts.tolist() == np.bincount(corpus.train, minlength=256).tolist()


def test_arrays_cannot_be_written(book, prepared):
    corpus = prepared(book)
    for array in (corpus.train, corpus.validation, corpus.train_documents, corpus.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_characters_are_those_of_the_training_text(tmp_path, prepared, write):
    write(tmp_path / "a.txt", "abab\n" * 95 + "xyxy\n" * 5)
    corpus = prepared(tmp_path / "a.txt", tokenizer="characters")
    assert corpus.vocabulary == len(corpus.counts) == 2 + len("\nab")
    assert corpus.tokenizer.decode(corpus.train) == "abab\n" * 95
    assert corpus.tokenizer.decode(corpus.validation) == "\ufffd\ufffd\ufffd\ufffd\n" * 5


def test_a_bpe_is_trained_on_the_training_text(tmp_path, prepared, write):
    write(tmp_path / "a.txt", "abab\n" * 95 + "xyxy\n" * 5)
    corpus = prepared(tmp_path / "a.txt", tokenizer="bpe", vocabulary=259)
    assert corpus.vocabulary == len(corpus.counts) == 259
    assert len(corpus.tokenizer.encode("abab")) < len(corpus.tokenizer.encode("xyxy")) == 4
    assert corpus.tokenizer.decode(corpus.validation) == "xyxy\n" * 5


def test_the_content_decides_the_hash_and_not_its_place(tmp_path, prepared, write):
    for folder in ("one", "another place"):
        write(tmp_path / folder / "a.txt", LINES)
        write(tmp_path / folder / "b.txt", "B" * 100)
    first, second = prepared(tmp_path / "one"), prepared(tmp_path / "another place")
    assert first.sha256 == second.sha256
    write(tmp_path / "one/b.txt", "C" * 100, seconds=2)
    assert prepared(tmp_path / "one").sha256 != first.sha256
    shutil.move(tmp_path / "another place/b.txt", tmp_path / "another place/c.txt")
    assert prepared(tmp_path / "another place").sha256 != first.sha256


def test_a_file_just_written_is_read_again(tmp_path, prepared):
    """Its modification time may not show the next change."""
    path = tmp_path / "a.txt"
    path.write_text(LINES)
    status = path.stat()
    first = prepared(path)
    path.write_text(LINES.swapcase())
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert prepared(path).sha256 != first.sha256


def test_local_text_is_read_once_and_without_datasets_or_torch(book, start):
    first, _ = start(str(book)).communicate()
    second, _ = start(str(book)).communicate()
    assert first.splitlines()[:2] == [
        "corpus=text: reading",
        "corpus=text: tokenising 2,100 characters (bytes)",
    ]
    assert first.splitlines()[-1] == "[]"
    assert second.splitlines() == first.splitlines()[-2:]


def test_text_longer_than_a_chunk_and_a_buffer_comes_through_whole(
    tmp_path, prepared, monkeypatch, write
):
    monkeypatch.setattr(entry, "FLUSH", 1000)
    monkeypatch.setattr(stream, "BATCH", 2)
    text = "".join(f"{number} zwölf Boxkämpfer\n" for number in range(60_000))
    assert len(text) > 5 * CHUNK
    write(tmp_path / "long.txt", text)
    corpus = prepared(tmp_path / "long.txt")
    got = corpus.tokenizer.decode(corpus.train) + corpus.tokenizer.decode(corpus.validation)
    assert got == text
    assert corpus.counts.sum() == len(corpus.train)
    assert len(corpus.train_documents) == 1


def test_many_documents_are_split_by_document(cache):
    prepared = prepare(Generated(3000), cache)
    assert len(prepared.train_documents) + len(prepared.validation_documents) == 3000
    assert 0.03 < len(prepared.validation) / len(prepared.train) < 0.07


def test_a_corpus_that_changes_between_two_readings_is_refused(cache, monkeypatch, entries):
    corpus = Generated(10)
    read = Generated.pieces

    def grown(self, say):
        yield from read(self, say)
        if say is stream.silent:  # the second reading
            yield Piece("one more", "text")

    monkeypatch.setattr(Generated, "pieces", grown)
    with pytest.raises(UserError, match="corpus=generated changed while it was read"):
        prepare(corpus, cache, progress=print)
    assert entries(cache) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [("x", "corpus=text has no validation text"), ("\ufeff", "corpus=text has no training text")],
)
def test_too_little_to_split_is_told(tmp_path, prepared, text, message, write):
    write(tmp_path / "a.txt", text)
    with pytest.raises(UserError, match=message):
        prepared(tmp_path / "a.txt")


def test_what_is_missing_is_said_with_the_numbers(book, prepared):
    corpus = prepared(book)
    have = len(corpus.train)
    require(corpus, have, len(corpus.validation), "nothing")
    with pytest.raises(UserError) as caught:
        require(corpus, 12_345, 1, "seq_len=64 and batch_size=8")
    assert str(caught.value) == (
        f"corpus=text has {have:,} training tokens; seq_len=64 and batch_size=8 need at least"
        " 12,345: take more text or a smaller seq_len"
    )
    with pytest.raises(UserError, match="validation tokens; windows of 8 L need at least 12,345"):
        require(corpus, 1, 12_345, "windows of 8 L")


def test_bad_files_are_refused_before_anything_is_made(tmp_path, cache):
    (tmp_path / "empty.txt").touch()
    with pytest.raises(UserError, match=r"corpus\.files=.*empty\.txt: the file is empty"):
        prepare(Text(files=str(tmp_path / "empty.txt"), tokenizer="bytes", vocabulary=None))
    assert not cache.exists()
