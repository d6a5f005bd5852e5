import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ablate.data import entry, store
from ablate.data.store import cache_folder, prepare
from ablate.errors import UserError


def test_two_processes_at_once_make_one_entry(book, cache, start, entries):
    processes = [start(str(book)), start(str(book))]
    outputs = [process.communicate()[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert outputs[0][-2] == outputs[1][-2]
    assert len(entries(cache)) == 1


def test_a_process_waits_for_the_one_that_prepares_the_same(book, cache, prepared, entries):
    prepared(book)
    [place] = entries(cache)
    messages: list[str] = []
    code = (
        "import fcntl, sys, time\n"
        "file = open(sys.argv[1], 'w'); fcntl.flock(file, fcntl.LOCK_EX)\n"
        "print('locked', flush=True); time.sleep(0.3)\n"
    )
    lock = str(place.with_name(f"{place.name}.lock"))
    with subprocess.Popen([sys.executable, "-c", code, lock], stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        holder.stdout.readline()
        with store._locked(place, messages.append):
            assert holder.wait() == 0
    assert messages == ["waiting for another process that prepares the same corpus"]


FILES = ["train.tokens", "validation.tokens", "train.documents", "counts", "meta.json"]


@pytest.mark.parametrize("name", [*FILES, "tokenizer.json"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "gone"])
def test_a_damaged_entry_is_made_anew(book, cache, prepared, name, damage, entries):
    first = prepared(book)
    [place] = entries(cache)
    path = place / name
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(data[:-1] if damage == "cut" else bytes([data[0] ^ 1]) + data[1:])
    assert entry.read(place) is None
    again = prepared(book)
    assert again.sha256 == first.sha256
    assert path.read_bytes() == data
    assert len(entries(cache)) == 1


def test_a_large_file_is_read_for_its_checksum_once_and_when_it_changed(
    book, cache, prepared, monkeypatch, entries
):
    monkeypatch.setattr(entry, "CHECKED", 100)
    prepared(book)
    [place] = entries(cache)
    path = place / "train.tokens"
    assert path.stat().st_size > 100
    read, checksum = [], entry._checksum
    monkeypatch.setattr(entry, "_checksum", lambda path: read.append(path.name) or checksum(path))
    assert entry.read(place)
    assert path.name not in read
    before, data = path.stat(), path.read_bytes()
    path.write_bytes(data[:50] + b"?" + data[51:])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert entry.read(place) is None
    assert path.name in read
    prepared(book)
    assert path.read_bytes() == data


def test_what_another_process_made_meanwhile_is_taken(book, prepared, monkeypatch):
    prepared(book)
    answers = iter([None, None])  # not there when the start looked, nor before the lock was had
    read = store._read
    monkeypatch.setattr(store, "_read", lambda *where: next(answers, read(*where)))
    monkeypatch.setattr(store, "_make", None)
    assert len(prepared(book).train) > 0


def test_what_a_killed_process_left_is_cleared_away(book, cache, prepared, entries):
    prepared(book)
    [place] = entries(cache)
    place.rename(place.with_name(f"{place.name}.partial"))
    assert len(prepared(book).train) > 0
    assert entries(cache) == [place]


@pytest.mark.parametrize("note", ["", "[]", '{"sha256": "no such"}', "\0"])
def test_a_damaged_note_costs_only_a_reading(book, cache, prepared, note):
    first = prepared(book)
    [path] = (cache / "manifests").iterdir()
    path.write_text(note)
    assert prepared(book).sha256 == first.sha256
    assert first.sha256 in path.read_text()


def test_a_cache_that_cannot_be_a_folder_is_named_with_the_way_out(book, tmp_path, text_of):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"cache folder .*file.*: .*; set ABLATE_CACHE to a folder"):
        prepare(text_of(book), cache=tmp_path / "file/cache")


def test_a_full_disk_is_told_and_leaves_nothing(book, cache, text_of, monkeypatch, entries):
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(entry, "_seal", full)
    with pytest.raises(UserError, match="No space left on device; set ABLATE_CACHE"):
        prepare(text_of(book))
    assert entries(cache) == []


def test_a_cache_is_read_without_writing_to_it(book, prepared, monkeypatch):
    first = prepared(book)
    monkeypatch.setattr(store, "_locked", None)
    monkeypatch.setattr(store, "_write_note", None)
    assert prepared(book).sha256 == first.sha256


def test_an_entry_is_read_where_only_its_note_cannot_be_written(book, cache, prepared):
    prepared(book)
    shutil.rmtree(cache / "manifests")
    (cache / "manifests").touch()
    assert len(prepared(book).train) > 0


def test_a_read_only_cache_serves_what_it_has(
    book, tmp_path, cache, prepared, write, start, without_privileges
):
    prepared(book)
    write(tmp_path / "other.txt", "another text\n" * 100)
    for folder in (cache / "tokens", cache):
        folder.chmod(0o555)
    try:
        served, _ = start(str(book), before=without_privileges).communicate()
        refused = start(str(tmp_path / "other.txt"), before=without_privileges)
        _, error = refused.communicate()
    finally:
        for folder in (cache, cache / "tokens"):
            folder.chmod(0o755)
    assert len(served.splitlines()) == 2
    assert refused.returncode == 1
    assert "set ABLATE_CACHE" in error


def test_the_cache_folder_follows_the_environment(monkeypatch):
    monkeypatch.setenv("ABLATE_CACHE", "~/mine")
    assert cache_folder() == Path.home() / "mine"
    monkeypatch.delenv("ABLATE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_folder() == Path("/xdg/ablate")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative is not allowed")
    assert cache_folder() == Path.home() / ".cache/ablate"
