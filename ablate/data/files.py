"""Text files on disk: finding them, telling whether they changed, reading them piece by piece."""

import codecs
import os
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from glob import glob, has_magic
from pathlib import Path
from typing import NamedTuple

from ablate.errors import UserError

CHUNK = 1 << 18  # characters of a piece at most; what one step of tokenising holds in memory
SNIFF = 1 << 13  # bytes looked at to tell a binary file in a folder


class TextSource(NamedTuple):
    """A file and its name in the corpus, which is its path below the folder that was asked for.

    A file that was only `found` in a folder may be left out; one that was named may not.
    """

    name: str
    path: Path
    found: bool = True


class Stamp(NamedTuple):
    """What can be known of a corpus without reading it; equal facts mean equal content.

    `newest` is the latest modification time in nanoseconds: a file still being written may change
    once more without a change of its stamp. `size` is that of all files in bytes, 0 without any.
    """

    facts: list
    newest: int
    size: int = 0


def stamp(sources: Iterable[TextSource], *facts: object) -> Stamp:
    """Path, size and modification time of every file, after `facts` about how they are read."""
    rows: list = list(facts)
    newest = size = 0
    for source in sources:
        try:
            status = source.path.stat()
        except OSError as error:
            raise UserError(f"corpus: {source.path}: {error.strerror}") from error
        rows.append([source.name, str(source.path), status.st_size, status.st_mtime_ns])
        newest = max(newest, status.st_mtime_ns)
        size += status.st_size
    return Stamp(rows, newest, size)


def is_hidden(name: str) -> bool:
    """Whether a file or folder is hidden by its name."""
    return name.startswith(".")


def walk(folder: Path, skip: Callable[[str], bool]) -> Iterator[Path]:
    """Regular files below a folder, but for files and folders whose name is to be skipped."""
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not skip(name)]
        for name in files:
            path = Path(root, name)
            if not skip(name) and path.is_file():
                yield path


def below(root: Path, skip: Callable[[str], bool] = is_hidden) -> list[TextSource]:
    """All files below a folder, named and sorted."""
    return named(root, dict.fromkeys(walk(root, skip), True))


def named(root: Path, paths: dict[Path, bool]) -> list[TextSource]:
    """Sources sorted by their names below `root`, so that no file system decides the order."""
    return sorted(
        TextSource(path.relative_to(root).as_posix(), path, found) for path, found in paths.items()
    )


def expand(patterns: list[str]) -> list[TextSource]:
    """Files behind paths, folders (all files below that are not hidden) and globs, each once.

    Raises UserError where there is none.
    """
    paths: dict[Path, bool] = {}
    roots = []
    for pattern in patterns:
        path = Path(os.path.abspath(Path(pattern).expanduser()))  # noqa: PTH100  keeps symlinks
        if found := os.path.isdir(path):  # noqa: PTH112  False for a name too long
            files, root = list(walk(path, is_hidden)), path
        elif os.path.exists(path):  # noqa: PTH110  as above
            files, root = [path], path.parent
        else:
            files, root = _matches(pattern, path)
        if not files:
            raise UserError(f"corpus.files={pattern}: no file in this folder")
        paths.update({file: found and paths.get(file, True) for file in files})
        roots.append(root)
    return named(Path(os.path.commonpath(roots)), paths)


def is_text(path: Path) -> bool:
    """Whether a file is not empty and has no NUL in its first 8 KiB, as search tools decide it."""
    head = next(_blocks(path), b"")[:SNIFF]
    return bool(head) and b"\0" not in head


def _matches(pattern: str, path: Path) -> tuple[list[Path], Path]:
    if not has_magic(str(path)):
        siblings = os.listdir(path.parent) if path.parent.is_dir() else []  # noqa: PTH208
        near = get_close_matches(path.name, siblings, 1)
        hint = f"; did you mean {path.with_name(near[0])}?" if near else ""
        raise UserError(f"corpus.files={pattern}: no such file, folder or glob{hint}")
    matches = map(Path, glob(str(path), recursive=True))  # noqa: PTH207  takes absolute patterns
    files = [match for match in matches if match.is_file()]
    if not files:
        raise UserError(f"corpus.files={pattern}: this glob matches no file")
    root = path
    while has_magic(str(root)):
        root = root.parent
    return files, root


def read_utf8(path: Path) -> Iterator[str]:
    """Text of a file, cut at line ends into pieces of at most 256 Ki characters.

    Raises UserError, naming the file, where it is empty, binary, not UTF-8 or not readable.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    offset, held = 0, ""
    for block in _blocks(path):
        if (nul := block.find(b"\0")) >= 0:
            raise UserError(
                f"corpus.files={path}: a binary file (NUL at byte {offset + nul:,});"
                " text in UTF-8 is needed"
            )
        held += _decode(decoder, block, offset, path)
        offset += len(block)
        *whole, held = cut(held) or [""]
        yield from whole
    _decode(decoder, b"", offset, path)
    if not offset:
        raise UserError(f"corpus.files={path}: the file is empty")
    yield held


def cut(text: str) -> list[str]:
    """Pieces of at most CHUNK characters, cut at line ends where there are any.

    >>> [len(piece) for piece in cut("x" * 300_000)], cut("")
    ([262144, 37856], [])
    """
    pieces, start = [], 0
    while len(text) - start > CHUNK:
        end = text.rfind("\n", start, start + CHUNK) + 1 or start + CHUNK
        pieces.append(text[start:end])
        start = end
    return [*pieces, text[start:]] if start < len(text) else pieces


def _blocks(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while block := file.read(CHUNK):
                yield block
    except OSError as error:
        raise UserError(f"corpus.files={path}: cannot be read ({error.strerror})") from error


def _decode(decoder: codecs.IncrementalDecoder, block: bytes, offset: int, path: Path) -> str:
    pending = len(decoder.getstate()[0])
    try:
        return decoder.decode(block, final=not block)
    except UnicodeDecodeError as error:
        at = offset - pending + error.start
        raise UserError(
            f"corpus.files={path}: not UTF-8 text (byte 0x{error.object[error.start]:02x} at"
            f" {at:,}); convert it to UTF-8"
        ) from error
