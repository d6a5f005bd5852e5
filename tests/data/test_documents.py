from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ablate.data.documents import Piece, in_validation, parts, take_survey

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60)
DOCUMENTS = st.lists(TEXT, min_size=1, max_size=6)


def documents(texts: list[str]) -> list[Piece]:
    return [Piece(f"{number}", text) for number, text in enumerate(texts)]


def split(pieces: list[Piece]) -> dict[str, str]:
    texts = {"train": "", "validation": ""}
    for part in parts(pieces, take_survey(pieces)):
        texts[part.split] += part.text
    return texts


@given(DOCUMENTS, st.data())
def test_where_a_document_is_cut_into_pieces_does_not_change_its_hash(texts, data):
    whole = documents(texts)
    cut = []
    for name, text, _ in whole:
        ends = data.draw(st.lists(st.integers(0, len(text)), max_size=3))
        edges = [0, *sorted(ends), len(text)]
        cut += [Piece(name, text[start:end]) for start, end in pairwise(edges)]
    assert take_survey(cut).sha256 == take_survey(whole).sha256
    assert take_survey(cut).characters == take_survey(whole).characters


@given(DOCUMENTS)
def test_every_character_goes_to_one_split_as_the_survey_counted(texts):
    pieces = documents(texts)
    got = split(pieces)
    survey = take_survey(pieces)
    assert sorted("".join(got.values())) == sorted("".join(texts))
    difference = len(got["validation"]) - survey.characters["validation"]
    assert abs(difference) <= 0.05 * sum(map(len, texts))


@given(DOCUMENTS)
def test_each_document_begins_once_in_each_split_that_has_some_of_it(texts):
    pieces = documents(texts)
    got = list(parts(pieces, take_survey(pieces)))
    count = sum(map(bool, texts))
    for split in ("train", "validation"):
        begun = [part.first for part in got if part.split == split]
        assert begun[:1] in ([], [True])
        assert sum(begun) <= count
    assert sum(part.first for part in got) >= count


def test_names_and_texts_are_told_apart_in_the_hash():
    pairs = [[("a", "bc")], [("ab", "c")], [("a", "b"), ("c", "")], [("a", "b"), ("", "c")]]
    hashes = {take_survey([Piece(*pair) for pair in documents]).sha256 for documents in pairs}
    assert len(hashes) == len(pairs)


def test_a_document_keeps_its_split_when_others_come_and_go():
    names = [f"folder/file {number}.txt" for number in range(2000)]
    before = [Piece(name, name) for name in names[::2]]
    after = [Piece(name, name) for name in names]
    validation_before = {
        part.text for part in parts(before, take_survey(before)) if part.split == "validation"
    }
    validation_after = {
        part.text for part in parts(after, take_survey(after)) if part.split == "validation"
    }
    assert validation_before == validation_after & set(names[::2])
    assert 0.03 < len(validation_after) / len(names) < 0.07


def test_the_split_of_known_names_is_fixed_for_good():
    chosen = [number for number in range(100) if in_validation(f"{number}")]
    assert chosen == [39, 51, 55], "this changes the validation split of every corpus"


def test_one_document_is_cut_at_a_line_end_before_95_percent():
    text = "".join(f"line {number:03d}\n" for number in range(101))
    got = split([Piece("book", text)])
    assert got["train"] + got["validation"] == text
    assert got["validation"].startswith("line 095")


def test_one_document_without_lines_is_cut_at_95_percent():
    assert split([Piece("book", "x" * 1000)]) == {"train": "x" * 950, "validation": "x" * 50}


def test_few_documents_all_give_their_tails():
    got = split([Piece(name, name * 100) for name in "abc"])
    assert got["validation"] == "aaaaabbbbbccccc"


def test_two_documents_never_leave_validation_empty():
    assert split([Piece("a", "xy"), Piece("b", "z")])["validation"] == "y"


def test_where_no_small_document_is_chosen_all_give_their_tails():
    names = [name for name in map(str, range(200)) if not in_validation(name)][:150]
    got = split([Piece(name, "x" * 100) for name in names])
    assert len(got["validation"]) == 150 * 5


def test_one_large_document_does_not_fill_validation():
    chosen = next(name for name in map(str, range(100)) if in_validation(name))
    pieces = [Piece(f"small {number}", "s" * 10) for number in range(1000)]
    got = split([*pieces, Piece(chosen, "L" * 10_000)])
    assert got["validation"].count("L") == 500


def test_a_split_of_its_own_is_kept():
    pieces = [Piece("1", "abc", "train"), Piece("1", "def", "validation")]
    assert split(pieces) == {"train": "abc", "validation": "def"}
