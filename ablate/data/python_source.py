"""Python source files: which belong to the library's own text, their text, their docstrings."""

import ast
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path

TESTS = {"test", "tests", "idle_test"}
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
NOT_THE_LIBRARY = {"site-packages", "dist-packages", "__pycache__", "_bundled"}


def skip(name: str) -> bool:
    """Whether a file or folder of the library is left out: tests, guests, traces of the build.

    >>> skip("tests"), skip("config-3.11-x86_64-linux-gnu"), skip("json")
    (True, True, False)
    """
    built = name.startswith(("_sysconfigdata", "config-"))  # differ from machine to machine
    return built or name in TESTS or name in NOT_THE_LIBRARY


def read(path: Path) -> str | None:
    """Source text under its declared encoding, line ends as \\n; None if it cannot be decoded."""
    try:
        with path.open("rb") as file:
            encoding, _ = tokenize.detect_encoding(file.readline)
            file.seek(0)
            text = file.read().decode(encoding)
    except (OSError, SyntaxError, UnicodeDecodeError):
        return None
    return None if "\0" in text else text.replace("\r\n", "\n")


def docstrings(path: Path) -> str:
    """Docstrings of a module, its classes and functions, cleaned, in source order."""
    source = read(path)
    if source is None:
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other people's invalid escapes
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return ""
    texts = (ast.get_docstring(node) for node in _documented(tree))
    return "".join(f"{text}\n\n" for text in texts if text and _is_text(text))


def _documented(node: ast.AST) -> Iterator[Documented]:
    """What can have a docstring, in source order; expressions, most of a tree, are not entered."""
    if isinstance(node, Documented):
        yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from _documented(child)


def _is_text(text: str) -> bool:
    """No NUL and no lone surrogate, which escapes in a literal can make."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)
