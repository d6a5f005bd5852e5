"""Validation texts that stand in training too are counted, told and recorded."""

import pytest

from ablate.data.documents import Part, Split
from ablate.data.repeated import LINES, LineHashes, Repeated
from ablate.data.tasks import BatchSource


def lines_of(number: int, count: int = 10) -> list[str]:
    """LineHashes of a text that no other number has."""
    return [
        f"text {number} in line {n} tells what no other line has ever told\n" for n in range(count)
    ]


def repeated(texts: list[tuple[Split, str]], most: int = LINES) -> Repeated:
    counted = LineHashes(most)
    for split, text in texts:
        half = len(text) // 2
        cut = text.find("\n", half) + 1 or half
        counted.feed(Part(split, text[:cut], first=True))
        counted.feed(Part(split, text[cut:], first=False))
    return counted.repeated()


def test_texts_that_are_the_same_or_nearly_are_counted_in_any_order() -> None:
    nearly = "".join(
        [*lines_of(1)[:9], "but this one line is new and it was not there before, was it\n"]
    )
    half = "".join([*lines_of(2)[:5], *lines_of(3, 5)])
    short = "roses are red\nviolets are blue\n"
    train: list[tuple[Split, str]] = [("train", "".join(lines_of(n))) for n in (0, 1, 2)] + [
        ("train", short)
    ]
    own = "".join(lines_of(9))
    texts: list[tuple[Split, str]] = [
        ("validation", text) for text in ("".join(lines_of(0)), nearly, half, short, own, "other\n")
    ]
    for order in (train + texts, texts + train):
        counts = repeated(order)
        assert (counts.texts, counts.repeated) == (6, 3)
        assert counts.share == pytest.approx(0.5, abs=0.02)
        assert "3 of 6 validation texts" in counts.warning()
    assert repeated(train + texts[4:]).warning() == ""


def test_of_more_lines_than_are_held_an_even_sample_counts() -> None:
    train: list[tuple[Split, str]] = [("train", "".join(lines_of(n, 100))) for n in range(60)]
    texts: list[tuple[Split, str]] = [
        ("validation", "".join(lines_of(n, 100))) for n in range(40, 80)
    ]
    counts = repeated(train + texts, most=2000)
    assert (counts.texts, counts.repeated) == (40, 20)
    assert counts.share == pytest.approx(0.5, abs=0.1)


def test_nothing_at_all_repeats_nothing() -> None:
    assert repeated([]) == Repeated(0, 0, 0.0)


def test_a_corpus_of_copies_is_told_and_counted(tmp_path, text_of, write) -> None:
    from ablate.data.lm import LanguageModelling
    from ablate.data.store import prepare

    for number in range(400):
        write(tmp_path / f"{number}.txt", "".join(lines_of(number % 10)))
    for _ in range(2):  # read anew, and from the cache
        said: list[str] = []
        corpus = prepare(text_of(tmp_path / "*.txt"), progress=said.append)
        told = [line for line in said if "stand in training too" in line]
        assert len(told) == 1
    source = LanguageModelling(corpus, seq_len=8, batch_size=1, seed=0).source
    assert isinstance(source, BatchSource)
    assert source.texts_repeated == source.texts_validation == corpus.repeated.texts
    assert source.share_repeated == 1
