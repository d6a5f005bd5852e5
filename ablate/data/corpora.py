"""Corpora: where the text comes from. `configs/corpus/*.yaml` name these classes."""

import re
import sys
import sysconfig
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

from ablate.data import files, hub, python_source
from ablate.data.documents import Piece
from ablate.data.files import Stamp, TextSource
from ablate.data.tokenizers import LARGEST_BPE, SMALLEST_BPE, TOKENIZERS
from ablate.errors import UserError

Say = Callable[[str], None]


class Corpus(ABC):
    """A named stream of documents, and the tokenizer it is to be read with.

    A new corpus is a class with `stamp` and `pieces` and a YAML that names it.
    """

    name: str

    def __init__(self, *, tokenizer: str, vocabulary: int | None) -> None:
        if tokenizer not in TOKENIZERS:
            matches = get_close_matches(str(tokenizer), TOKENIZERS, 1)
            hint = f"; did you mean {matches[0]}?" if matches else ""
            allowed = ", ".join(TOKENIZERS)
            raise UserError(f"corpus.tokenizer={tokenizer}: choose one of {allowed}{hint}")
        if tokenizer != "bpe" and vocabulary is not None:
            raise UserError(
                f"corpus.vocabulary={vocabulary} is for corpus.tokenizer=bpe alone;"
                f" {tokenizer} have a vocabulary of their own: leave it null"
            )
        if tokenizer == "bpe" and (not isinstance(vocabulary, int) or vocabulary < SMALLEST_BPE):
            raise UserError(
                f"corpus.vocabulary={'null' if vocabulary is None else vocabulary}: a bpe needs"
                f" its size, a whole number of {SMALLEST_BPE} or more, say corpus.vocabulary=1024"
            )
        if vocabulary is not None and vocabulary > LARGEST_BPE:
            raise UserError(f"corpus.vocabulary={vocabulary}: at most {LARGEST_BPE}")
        self.tokenizer = tokenizer
        self.vocabulary = vocabulary

    @abstractmethod
    def stamp(self) -> Stamp:
        """Facts known without reading the text; where they are equal, the text is the same."""

    @abstractmethod
    def pieces(self, say: Say) -> Iterator[Piece]:
        """The documents in a fixed order; each call begins anew. Raises UserError."""


class Stdlib(Corpus):
    """Source files of the running Python's standard library, without its tests."""

    name = "stdlib"

    def stamp(self) -> Stamp:
        """Paths, sizes and times of the files."""
        return files.stamp(_stdlib(), self.name)

    def pieces(self, say: Say) -> Iterator[Piece]:
        """One document a file."""
        for source in _stdlib():
            for text in files.cut(python_source.read(source.path) or ""):
                yield Piece(source.name, text)


class Docs(Corpus):
    """Docstrings of the standard library: modules, classes and functions, in source order."""

    name = "docs"

    def stamp(self) -> Stamp:
        """Paths, sizes and times of the files, and the Python that parses them."""
        return files.stamp(_stdlib(), self.name, list(sys.version_info[:3]))

    def pieces(self, say: Say) -> Iterator[Piece]:
        """One document a file that has docstrings."""
        for source in _stdlib():
            for text in files.cut(python_source.docstrings(source.path)):
                yield Piece(source.name, text)


class Text(Corpus):
    """Text files of the user's own: paths, folders, globs. One document a file."""

    name = "text"

    def __init__(
        self, *, files: str | Sequence[str] | None, tokenizer: str, vocabulary: int | None
    ) -> None:
        super().__init__(tokenizer=tokenizer, vocabulary=vocabulary)
        if not files:
            raise UserError(
                "corpus=text needs corpus.files: a text file, a folder, a glob or a list of them,"
                " say corpus.files=book.txt"
            )
        several = isinstance(files, Sequence) and not isinstance(files, str)
        self._patterns = [str(file) for file in (files if several else [files])]

    def stamp(self) -> Stamp:
        """Paths, sizes and times of the files."""
        return files.stamp(files.expand(self._patterns), self.name)

    def pieces(self, say: Say) -> Iterator[Piece]:
        """One document a file; a binary or empty file below a folder is left out, and counted."""
        binaries = 0
        for source in files.expand(self._patterns):
            if source.in_folder and not files.is_text(source.path):
                binaries += 1
                continue
            for text in files.read_utf8(source.path):
                yield Piece(source.name, text)
        if binaries:
            say(f"corpus.files: {binaries:,} empty or binary files in folders left out")


class Hub(Corpus):
    """A data set of the Hugging Face Hub, or a local folder that `datasets` can load."""

    def __init__(
        self,
        *,
        name: str,
        dataset: str | None,
        subset: str | None,
        column: str,
        train: str,
        validation: str | None,
        document_start: str | None,
        revision: str | None,
        folder: str | None,
        tokenizer: str,
        vocabulary: int | None,
    ) -> None:
        super().__init__(tokenizer=tokenizer, vocabulary=vocabulary)
        if not dataset:
            raise UserError(
                "corpus=hub needs corpus.dataset, say corpus.dataset=roneneldan/TinyStories"
            )
        try:
            re.compile(document_start or "")
        except re.error as error:
            raise UserError(
                f"corpus.document_start={document_start}: no pattern ({error})"
            ) from error
        self.name = name
        self._rows = hub.HubRows(name, dataset, subset, column, train, validation, revision, folder)
        self._document_start = document_start

    def stamp(self) -> Stamp:
        """The data set's name and options; of a local folder the files as well."""
        facts = [*self._rows, self._document_start]
        local = Path(self._rows.dataset)
        sources = files.below(local) if local.is_dir() else []
        return files.stamp(sources, *facts)

    def pieces(self, say: Say) -> Iterator[Piece]:
        """One document a row, or all rows up to the next that matches `document_start`."""
        return hub.documents(self._rows, self._document_start, say)


def _stdlib() -> list[TextSource]:
    root = Path(sysconfig.get_path("stdlib"))
    every = files.below(root, python_source.skip) if root.is_dir() else []
    sources = [source for source in every if source.path.suffix == ".py"]
    if not sources:
        raise UserError(
            f"corpus=stdlib or docs: no source files of Python's library in {root};"
            " use corpus=text corpus.files=..."
        )
    return sources
