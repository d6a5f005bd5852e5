import os
from pathlib import Path

import pytest

from ablate.data.files import CHUNK, cut, expand, read_utf8
from ablate.errors import UserError


def names(*patterns: Path | str) -> list[str]:
    return [source.name for source in expand([str(pattern) for pattern in patterns])]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose names hold spaces and letters outside ASCII."""
    root = tmp_path / "mein Büro 文"
    for name in ("b.txt", "a b.txt", "sub/ü.txt", ".hidden.txt", ".git/config"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    return root


def test_a_folder_gives_all_files_below_but_hidden_ones_in_the_order_of_names(folder):
    assert names(folder) == ["a b.txt", "b.txt", "sub/ü.txt"]


def test_files_folders_and_globs_together_give_each_file_once(folder):
    assert names(folder, folder / "b.txt", folder / "**/*.txt") == names(folder)


def test_the_name_of_a_single_file_is_its_own(folder):
    assert names(folder / "sub/ü.txt") == ["ü.txt"]


def test_a_name_with_glob_characters_is_a_file_before_it_is_a_glob(tmp_path):
    (tmp_path / "a[1].txt").write_text("x")
    assert names(tmp_path / "a[1].txt") == ["a[1].txt"]


def test_home_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "book.txt").write_text("x")
    assert names("~/book.txt") == ["book.txt"]


def test_a_missing_file_is_named_with_the_nearest_that_exists(folder):
    with pytest.raises(UserError, match=r"corpus\.files=.*bb\.txt: no such file.*mean .*b\.txt\?"):
        expand([str(folder / "bb.txt")])


@pytest.mark.parametrize("pattern", ["nothing/at/all", "*.nothing", "empty", "x" * 300])
def test_what_gives_no_file_is_named(tmp_path, monkeypatch, pattern):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"corpus\.files="):
        expand([pattern])


def read(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return "".join(read_utf8(path))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"PK\x03\x04\x00\x00", r"a binary file \(NUL at byte 4\)"),
        ("größe".encode("latin-1"), r"not UTF-8 text \(byte 0xf6 at 2\)"),
        (b"x" * CHUNK + b"\xff", rf"byte 0xff at {CHUNK:,}"),
        (b"x" * (CHUNK - 1) + "é".encode()[:1], rf"byte 0xc3 at {CHUNK - 1:,}"),
        ("wide".encode("utf-16-le"), "a binary file"),
    ],
)
def test_what_is_no_text_is_refused_with_its_place(tmp_path, data, message):
    with pytest.raises(UserError, match=rf"corpus\.files=.*bad\.bin: .*{message}"):
        read(tmp_path / "bad.bin", data)


def test_a_folder_is_not_readable_as_a_file(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        list(read_utf8(tmp_path))


def test_a_long_file_is_read_in_pieces_at_line_ends(tmp_path):
    text = "zwölf Boxkämpfer 文\n" * 60_000
    path = tmp_path / "long.txt"
    path.write_text(text, encoding="utf-8")
    pieces = list(read_utf8(path))
    assert "".join(pieces) == text
    assert len(pieces) > 3
    assert all(len(piece) <= CHUNK and piece.endswith("\n") for piece in pieces)


def test_a_long_file_without_lines_is_read_in_pieces_too(tmp_path):
    text = "é" * (3 * CHUNK)
    (tmp_path / "long.txt").write_text(text, encoding="utf-8")
    pieces = list(read_utf8(tmp_path / "long.txt"))
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= CHUNK


def test_cutting_loses_nothing():
    text = "line\n" * 200_000 + "x" * (2 * CHUNK)
    assert "".join(cut(text)) == text


def test_line_ends_are_kept_and_a_byte_order_mark_is_not(tmp_path):
    assert read(tmp_path / "dos.txt", b"\xef\xbb\xbfa\r\nb") == "a\r\nb"


def test_each_file_counts_once_however_many_links_lead_to_it(tmp_path):
    deep = tmp_path / "corpus" / "a" / "b"
    deep.mkdir(parents=True)
    for name in ("a/one.txt", "a/b/two.txt"):
        (tmp_path / "corpus" / name).write_text(name)
    for name in ("a/up", "a/b/up", "zz"):
        (tmp_path / "corpus" / name).symlink_to(tmp_path / "corpus", target_is_directory=True)
    (tmp_path / "corpus" / "a" / "again.txt").symlink_to(deep / "two.txt")
    (deep / "hard.txt").hardlink_to(tmp_path / "corpus" / "a" / "one.txt")
    (deep / "loop").symlink_to("loop")
    both = ["a/b/hard.txt", "a/b/two.txt"]
    folder = tmp_path / "corpus"
    for patterns in ([folder], [folder / "**/*.txt"], [folder / "**"], [folder, deep / "up"]):
        assert names(*patterns) == both
    assert names(folder / "a/up/a/b/two.txt", folder / "a/again.txt") == ["again.txt"]


def test_a_linked_folder_is_followed_in_folders_as_in_globs(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x.txt").write_text("x")
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "linked").symlink_to(tmp_path / "elsewhere")
    for pattern in ("corpus", "corpus/**/*.txt", "corpus/*/*.txt", "corpus/**"):
        assert names(tmp_path / pattern) == ["linked/x.txt"]


def test_what_can_be_read_once_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/stdin", "/proc/self/environ"):
        with pytest.raises(UserError, match="save the text to a file"):
            expand([str(path)])
    with pytest.raises(UserError, match="no file in this folder"):
        expand([str(tmp_path)])
