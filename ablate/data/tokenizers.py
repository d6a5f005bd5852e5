"""Tokenizers: bytes, characters, byte-level BPE. Token 0 ends a document and is in no text."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from ablate.errors import UserError

SEPARATOR = 0
LONGEST_WORD = 256
"""Bytes of a word within which bpe merges: its time grows with the square of a word's length."""


class Tokenizer(ABC):
    """Text to token ids and back; text in the tokenizer's alphabet comes back unchanged."""

    vocabulary: int

    @classmethod
    @abstractmethod
    def train(cls, texts: Iterable[str], vocabulary: int | None) -> Self:
        """Learn from the training split; UserError where it has fewer than `vocabulary` tokens."""

    @classmethod
    @abstractmethod
    def load(cls, text: str) -> Self:
        """The tokenizer that `dump` wrote."""

    @abstractmethod
    def dump(self) -> str:
        """Everything `load` needs, as JSON."""

    @abstractmethod
    def encode_many(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Token ids of each text, without separators. Raises ValueError for a NUL in a text."""

    @abstractmethod
    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        """Text of token ids, without separators; U+FFFD where ids make no valid text."""

    def encode(self, text: str) -> np.ndarray:
        """Token ids of one text, 1-D, in the smallest unsigned type that holds the vocabulary."""
        return self.encode_many([text])[0]

    @property
    def dtype(self) -> np.dtype:
        """Smallest unsigned integer type that holds every id."""
        return np.min_scalar_type(self.vocabulary - 1)


def _refuse_nul(text: str) -> None:
    if "\0" in text:
        raise ValueError(f"NUL at character {text.index(chr(0)):,}: binary data, not text")


class Bytes(Tokenizer):
    """UTF-8 bytes: id = byte, 256 ids; byte 0 is in no text and so is free for the separator."""

    vocabulary = 256

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary: int | None) -> Self:
        """Nothing is learned."""
        return cls()

    @classmethod
    def load(cls, text: str) -> Self:
        """Nothing is stored."""
        return cls()

    def dump(self) -> str:
        """Nothing is stored."""
        return "{}"

    def encode_many(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The bytes of each text."""
        for text in texts:
            _refuse_nul(text)
        return [np.frombuffer(text.encode("utf-8"), np.uint8) for text in texts]

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        """UTF-8 text."""
        text = bytes(np.asarray(ids).tolist()).replace(b"\0", b"")
        return text.decode("utf-8", errors="replace")


class Characters(Tokenizer):
    """Characters of the training split by code point: id = rank + 2; 1 stands for all others."""

    unknown = 1

    def __init__(self, alphabet: np.ndarray) -> None:
        self._alphabet = alphabet  # sorted code points, uint32
        self.vocabulary = len(alphabet) + 2

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary: int | None) -> Self:
        """The alphabet of the training split."""
        alphabet: set[str] = set()
        for text in texts:
            alphabet.update(text)
        return cls(np.array(sorted(map(ord, alphabet)), np.uint32))

    @classmethod
    def load(cls, text: str) -> Self:
        """From the alphabet."""
        return cls(np.array([ord(character) for character in json.loads(text)], np.uint32))

    def dump(self) -> str:
        """The alphabet."""
        return json.dumps("".join(map(chr, self._alphabet)))

    def encode_many(self, texts: Sequence[str]) -> list[np.ndarray]:
        """One id a character."""
        return [self._encode(text) for text in texts]

    def _encode(self, text: str) -> np.ndarray:
        _refuse_nul(text)
        points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
        if not len(self._alphabet):
            return np.full(len(points), self.unknown, self.dtype)
        rank = np.searchsorted(self._alphabet, points)
        known = self._alphabet[np.minimum(rank, len(self._alphabet) - 1)] == points
        return np.where(known, rank + 2, self.unknown).astype(self.dtype)

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        """One character an id."""
        letters = ["", "\ufffd", *map(chr, self._alphabet)]
        return "".join(letters[i] for i in np.asarray(ids).tolist())


class Bpe(Tokenizer):
    """Byte-level byte-pair encoding (Radford 2019) trained on the corpus; any text round-trips.

    The separator is a special token spelled NUL, the one string that no text holds.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self.vocabulary = model.get_vocab_size()

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary: int | None) -> Self:
        """Merges of the training split, of the size asked for."""
        from tokenizers import Tokenizer as Model
        from tokenizers import decoders, models, pre_tokenizers, trainers

        assert vocabulary is not None, "Corpus refuses a bpe without a size"
        model = Model(models.BPE())
        words = pre_tokenizers.ByteLevel(add_prefix_space=False)
        parts = pre_tokenizers.FixedLength(LONGEST_WORD)
        model.pre_tokenizer = pre_tokenizers.Sequence([words, parts])
        model.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocabulary,
            special_tokens=["\0"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        model.train_from_iterator(texts, trainer)
        if (size := model.get_vocab_size()) != vocabulary:
            raise UserError(
                f"corpus.vocabulary={vocabulary}: the training text has only {size:,} distinct"
                f" tokens; choose corpus.vocabulary={size} or less, or more text"
            )
        return cls(model)

    @classmethod
    def load(cls, text: str) -> Self:
        """From the library's own JSON."""
        from tokenizers import Tokenizer as Model

        return cls(Model.from_str(text))

    def dump(self) -> str:
        """The library's own JSON."""
        return str(self._model.to_str())

    def encode_many(self, texts: Sequence[str]) -> list[np.ndarray]:
        """In parallel where there are several texts."""
        for text in texts:
            _refuse_nul(text)
        encodings = self._model.encode_batch(list(texts), add_special_tokens=False)
        return [np.array(encoding.ids, self.dtype) for encoding in encodings]

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        """UTF-8 text."""
        return str(self._model.decode(np.asarray(ids).tolist(), skip_special_tokens=True))


TOKENIZERS: dict[str, type[Tokenizer]] = {"bytes": Bytes, "characters": Characters, "bpe": Bpe}
SMALLEST_BPE = 257  # the separator and the 256 bytes
LARGEST_BPE = 2**20  # the library makes room for all before it counts any
