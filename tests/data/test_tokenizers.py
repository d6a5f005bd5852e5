import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ablate.data.tokenizers import SEPARATOR, TOKENIZERS, Bpe, Bytes, Characters, Tokenizer
from ablate.errors import UserError

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=200)
SAMPLE = ["the theme of the thesis\n", "then they thought of thermal themes\n"] * 20


def trained(kind: type[Tokenizer], vocabulary: int | None = None) -> Tokenizer:
    return kind.train(iter(SAMPLE), vocabulary)


ALL = [trained(Bytes), trained(Characters), trained(Bpe, 280)]
each = pytest.mark.parametrize("tokenizer", ALL, ids=list(TOKENIZERS))


@pytest.mark.parametrize("tokenizer", [ALL[0], ALL[2]], ids=["bytes", "bpe"])
@given(text=TEXT)
def test_any_text_round_trips(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == text


@given(TEXT)
def test_characters_round_trip_where_training_had_them(text):
    tokenizer = Characters.train([text], None)
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.vocabulary == len(set(text)) + 2


@given(TEXT)
def test_a_character_that_training_had_not_is_unknown(text):
    tokenizer = Characters.train(["abc"], None)
    expected = "".join(letter if letter in "abc" else "\ufffd" for letter in text)
    assert tokenizer.decode(tokenizer.encode(text)) == expected


@each
@given(text=TEXT)
def test_the_separator_is_in_no_text(tokenizer, text):
    ids = tokenizer.encode(text)
    assert SEPARATOR not in ids
    assert ids.dtype == tokenizer.dtype
    assert (ids < tokenizer.vocabulary).all()
    assert tokenizer.decode([*ids, SEPARATOR]) == tokenizer.decode(ids)


@each
def test_nul_is_refused(tokenizer):
    with pytest.raises(ValueError, match="NUL at character 1: binary"):
        tokenizer.encode("a\0b")


@each
def test_what_is_stored_gives_the_same_tokenizer(tokenizer):
    again = type(tokenizer).load(tokenizer.dump())
    text = "the thesis, größer 文 🙂"
    assert again.vocabulary == tokenizer.vocabulary
    assert again.encode(text).tolist() == tokenizer.encode(text).tolist()


def test_bytes_are_bytes():
    assert Bytes().vocabulary == 256
    assert Bytes().encode("aé").tolist() == [97, 0xC3, 0xA9]
    assert Bytes().decode([0xC3]) == "\ufffd"


def test_an_empty_alphabet_knows_nothing():
    assert Characters.train([], None).encode("ab").tolist() == [1, 1]


def test_a_bpe_has_the_size_asked_for_and_is_the_same_each_time():
    first, second = trained(Bpe, 270), trained(Bpe, 270)
    assert first.vocabulary == 270
    assert first.dump() == second.dump()
    assert len(first.encode("the theme")) < len("the theme")


def test_a_bpe_larger_than_the_text_allows_names_the_largest():
    with pytest.raises(UserError, match=r"corpus\.vocabulary=5000: .* only (\d+) distinct"):
        trained(Bpe, 5000)


def test_types_are_the_smallest_that_hold_the_vocabulary():
    letters = "".join(map(chr, range(1, 255)))
    assert Characters.train([letters], None).dtype == np.uint8
    assert Characters.train([letters + "é文"], None).dtype == np.uint16
    assert trained(Bpe, 280).dtype == np.uint16


def test_one_word_of_any_length_takes_time_in_proportion():
    """Unbounded, these 100,000 letters took ten seconds, and ten times as many a thousand."""
    word = "ab" * 50_000
    began = time.process_time()
    tokenizer = Bpe.train([word], 260)
    ids = tokenizer.encode(word)
    assert time.process_time() - began < 3
    assert tokenizer.decode(ids) == word
    assert len(ids) < len(word) / 2
