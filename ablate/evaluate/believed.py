"""Which of the settings that a run's folder states are believed when the run is rebuilt.

Anybody may have written them: they choose among the choices that there are and set plain values.
A text that lies elsewhere is read only where it is known to be that of the run.
"""

import os
from collections.abc import Iterator, Sequence
from glob import has_magic
from pathlib import Path
from typing import Any

from ablate.build import known_text
from ablate.config.compose import Composer
from ablate.config.identity import NOT_IDENTITY
from ablate.config.values import write
from ablate.errors import UserError
from ablate.record import stored
from ablate.record.record import Record

LEFT_BEHIND = frozenset(NOT_IDENTITY) - {"device", "threads"}
"""What only concerns how the run was made."""

FILES = "corpus.files"


def believed(
    directory: Path, record: Record, typed: Sequence[str], composer: Composer
) -> list[str]:
    """The overrides that a run's folder states, without those of keys that are `typed` now.

    Raises UserError, with the word, for one that names a class, sets something of Hydra, asks for
    the value of something else, or has a text outside of the current folder read.
    """
    replaced = {word.partition("=")[0] for word in typed}
    words = []
    for word in _stated(directory):
        key = word.partition("=")[0].lstrip("+~")
        try:
            composer.check_stored(word)
        except UserError as error:
            raise UserError(f"{directory.name}: its folder has {error}") from error
        if key.partition(".")[0] not in LEFT_BEHIND and key not in replaced:
            words.append(word)
    if any(key.partition(".")[0] == "corpus" for key in replaced):
        return words
    for choice in (_with_whole_paths(words, record, composer), words):
        outside = [word for word in choice if not all(map(_is_here, _texts(word, composer)))]
        if not outside or _is_known(choice, record, composer):
            return choice
    raise UserError(
        f"{directory.name}: its folder has {outside[0]}, outside of the current folder, which is "
        f"not read on its word; to read it, type {outside[0]} on this command line"
    )


def _stated(directory: Path) -> list[str]:
    try:
        return stored.overrides(directory)
    except (OSError, ValueError) as error:
        place = directory / stored.FOLDER / "overrides.yaml"
        raise UserError(f"{place}: missing or damaged, so the run cannot be rebuilt") from error


def _with_whole_paths(words: Sequence[str], record: Record, composer: Composer) -> list[str]:
    """The words with the files where they were when the run was made, as its record has them.

    Where the record has other files than the words, the words stay as they are.
    """
    files = record.corpus.files
    whole = f"{FILES}={write(files if len(files) > 1 else ''.join(files))}"
    return [
        whole
        if word.partition("=")[0] == FILES and _same_files([*_texts(word, composer)], files)
        else word
        for word in words
    ]


def _same_files(typed: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether whole paths may be those of what was typed in some folder."""
    return len(typed) == len(whole) and all(
        path == word or path.endswith(f"/{word.removeprefix('./')}")
        for word, path in zip(typed, whole, strict=True)
    )


def _texts(word: str, composer: Composer) -> Iterator[str]:
    """Every text among the values of an override, any of which may be a path."""
    return _leaves(composer.check_stored(word).value())


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str):
        yield value


def _is_here(text: str) -> bool:
    """Whether a path or glob stays below the current folder, links followed, and is not hidden.

    >>> _is_here("notes/*.md"), _is_here("/etc/passwd"), _is_here("../a"), _is_here(".ssh/id")
    (True, False, False, False)
    """
    try:
        path = Path(text).expanduser()
        while has_magic(str(path)):
            path = path.parent
        below = Path(os.path.realpath(path)).relative_to(os.path.realpath(Path.cwd()))
    except (ValueError, RuntimeError, OSError):
        return False
    return not any(part.startswith(".") for part in below.parts)


def _is_known(words: Sequence[str], record: Record, composer: Composer) -> bool:
    """Whether this machine has read the text before, and it is the one that the record names."""
    trained_on = record.corpus.sha256
    try:
        with composer.session():
            config, _ = composer.one(words)
        return trained_on is not None and known_text(config) == trained_on
    except UserError:
        return False
