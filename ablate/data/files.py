"""Text files on disk: finding them, seeing whether they changed, reading them piece by piece."""

import codecs
import fnmatch
import os
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from glob import has_magic
from pathlib import Path
from typing import NamedTuple

from ablate.errors import PartError, UserError

CHUNK = 1 << 18  # characters of a piece at most; what one step of tokenising holds in memory
SNIFF = 1 << 13  # bytes read to recognise a binary file in a folder


class TextSource(NamedTuple):
    """A file and its name in the corpus, which is its path below the folder that was asked for.

    A file that comes from a folder (`in_folder`) may be left out; one that was named may not.
    """

    name: str
    path: Path
    in_folder: bool = True


class Stamp(NamedTuple):
    """What is known of a corpus without reading it; equal facts mean equal content.

    `newest` is the latest modification time in nanoseconds since 1970: a file still being written
    may change once more within the clock's resolution. `size` is of all files, in bytes.
    """

    facts: list
    newest: int
    size: int = 0


def stamp(sources: Iterable[TextSource], *facts: object) -> Stamp:
    """A Stamp of `facts` about how files are read and each file's name, path, size and time."""
    rows: list = list(facts)
    newest = size = 0
    for source in sources:
        try:
            status = source.path.stat()
        except OSError as error:
            raise PartError("corpus", f"{source.path}: {error.strerror}") from error
        rows.append([source.name, str(source.path), status.st_size, status.st_mtime_ns])
        newest = max(newest, status.st_mtime_ns)
        size += status.st_size
    return Stamp(rows, newest, size)


def is_hidden(name: str) -> bool:
    """Whether a file or folder is hidden by its name."""
    return name.startswith(".")


def folders_below(folder: Path, skip: Callable[[str], bool]) -> Iterator[tuple[Path, list[Path]]]:
    """A folder and those below it, each with what is in it and once, whatever links lead to it.

    Folders and files whose name `skip` is true of are left out. Raises UserError for a folder that
    cannot be read.
    """
    waiting, visited = [folder], set()
    while waiting:
        place = waiting.pop()
        try:
            status = place.stat()
            inside = sorted(path for path in place.iterdir() if not skip(path.name))
        except OSError as error:
            raise UserError(f"corpus: {place}: cannot be read ({error.strerror})") from error
        if (status.st_dev, status.st_ino) in visited:
            continue
        visited.add((status.st_dev, status.st_ino))
        yield place, inside
        folders = [path for path in inside if path.is_dir()]
        waiting += [path for path in folders if not path.is_symlink()]
        # Links come last, so that a folder is met where it is.
        waiting[:0] = [path for path in folders if path.is_symlink()]


def walk(folder: Path, skip: Callable[[str], bool]) -> Iterator[Path]:
    """Regular files below a folder, without files and folders whose name `skip` is true of."""
    for _, paths in folders_below(folder, skip):
        yield from (path for path in paths if path.is_file())


def below(root: Path, skip: Callable[[str], bool] = is_hidden) -> list[TextSource]:
    """All files below a folder, named and sorted."""
    return named(root, dict.fromkeys(walk(root, skip), True))


def named(root: Path, paths: dict[Path, bool]) -> list[TextSource]:
    """Sources (path → whether from a folder) by their names below `root`, the same everywhere."""
    return sorted(
        TextSource(path.relative_to(root).as_posix(), path, in_folder)
        for path, in_folder in paths.items()
    )


def expand(patterns: list[str]) -> list[TextSource]:
    """Files behind paths, folders (all files below that are not hidden) and globs.

    Each file counts once, however many links lead to it; its name is that of a path without links,
    where there is one. Raises UserError where there is none.
    """
    paths: dict[Path, bool] = {}
    roots = []
    for pattern in patterns:
        path = Path(os.path.abspath(Path(pattern).expanduser()))  # noqa: PTH100  keeps symlinks
        if in_folder := os.path.isdir(path):  # noqa: PTH112  False for a name too long
            files, root = list(walk(path, is_hidden)), path
        elif os.path.exists(path):  # noqa: PTH110  as above
            check_repeatable(path, pattern)
            files, root = [path], path.parent
        else:
            files, root = _matches(pattern, path)
        if not files:
            raise UserError(f"corpus.files={pattern}: no file in this folder")
        paths.update({file: in_folder and paths.get(file, True) for file in files})
        roots.append(root)
    return named(Path(os.path.commonpath(roots)), each_once(paths))


def each_once(paths: dict[Path, bool]) -> dict[Path, bool]:
    """One path for each file (path → whether from a folder alone), those without links first."""
    own: dict[tuple[int, int], Path] = {}
    from_folder: dict[tuple[int, int], bool] = {}
    for path in sorted(paths, key=lambda path: (path.resolve() != path, path)):
        try:
            status = path.stat()
        except OSError as error:
            raise UserError(f"corpus.files={path}: {error.strerror}") from error
        file = status.st_dev, status.st_ino
        own.setdefault(file, path)
        from_folder[file] = from_folder.get(file, True) and paths[path]
    return {path: from_folder[file] for file, path in own.items()}


def check_repeatable(path: Path, pattern: str) -> None:
    """Raise UserError for what is no file, or one of this process alone: text is read twice."""
    if not path.is_file() or path.is_relative_to("/dev") or path.is_relative_to("/proc"):
        raise UserError(
            f"corpus.files={pattern}: can be read only once or by one process, and a corpus is read"
            " again; save the text to a file and name that"
        )


def is_text(path: Path) -> bool:
    """Whether a file is not empty and has no NUL in its first 8 KiB (the rule of search tools)."""
    head = next(_blocks(path), b"")[:SNIFF]
    return bool(head) and b"\0" not in head


def _matches(pattern: str, path: Path) -> tuple[list[Path], Path]:
    if not has_magic(str(path)):
        siblings = os.listdir(path.parent) if path.parent.is_dir() else []  # noqa: PTH208
        matches = get_close_matches(path.name, siblings, 1)
        hint = f"; did you mean {path.with_name(matches[0])}?" if matches else ""
        raise UserError(f"corpus.files={pattern}: no such file, folder or glob{hint}")
    root = path
    while has_magic(str(root)):
        root = root.parent
    parts = path.relative_to(root).parts
    files = [file for file in _globbed(root, parts) if file.is_file()] if root.is_dir() else []
    if not files:
        raise UserError(f"corpus.files={pattern}: this glob matches no file")
    return files, root


def _globbed(folder: Path, parts: tuple[str, ...]) -> Iterator[Path]:
    """What matches a pattern as `glob` does, but ** enters each folder once, links or not."""
    part, rest = parts[0], parts[1:]
    if part == "**":
        for place, _ in folders_below(folder, is_hidden):
            yield from _globbed(place, rest or ("*",))
        return
    hidden = part.startswith(".")
    try:
        names = [path.name for path in folder.iterdir() if hidden or not is_hidden(path.name)]
    except OSError as error:
        raise UserError(f"corpus: {folder}: cannot be read ({error.strerror})") from error
    for name in fnmatch.filter(sorted(names), part):
        path = folder / name
        if not rest:
            yield path
        elif path.is_dir():
            yield from _globbed(path, rest)


def read_utf8(path: Path) -> Iterator[str]:
    """Text of a file, cut at line ends into pieces of at most 256 Ki characters.

    Raises UserError, naming the file, where it is empty, binary, not UTF-8 or not readable.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    offset, rest = 0, ""
    for block in _blocks(path):
        if (nul := block.find(b"\0")) >= 0:
            raise UserError(
                f"corpus.files={path}: a binary file (NUL at byte {offset + nul:,});"
                " text in UTF-8 is needed"
            )
        rest += _decode(decoder, block, offset, path)
        offset += len(block)
        *pieces, rest = cut(rest) or [""]
        yield from pieces
    _decode(decoder, b"", offset, path)
    if not offset:
        raise UserError(f"corpus.files={path}: the file is empty")
    yield rest


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
