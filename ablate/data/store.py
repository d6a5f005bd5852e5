"""Tokenise a corpus once: a cache of memory-mapped token arrays, keyed by content."""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ablate.data import entry
from ablate.data.corpora import Corpus
from ablate.data.documents import Split, Survey, take_survey
from ablate.data.entry import TokenizedCorpus
from ablate.data.files import Stamp
from ablate.data.repeated import LineHashes
from ablate.data.stream import silent, tokens, training_texts
from ablate.data.tokenizers import TOKENIZERS
from ablate.errors import UserError

SETTLED = 2 * 10**9  # ns; the coarsest clock of a common file system
READ_AT_ONCE = 1 << 24  # bytes of text that are read in about a second
WORDS: dict[Split, str] = {"train": "training", "validation": "validation"}

Say = Callable[[str], None]


def cache_folder() -> Path:
    """ABLATE_CACHE, else `ablate` in XDG_CACHE_HOME, else in ~/.cache."""
    if folder := os.environ.get("ABLATE_CACHE"):
        return Path(folder).expanduser()
    if (base := os.environ.get("XDG_CACHE_HOME")) and Path(base).is_absolute():
        return Path(base) / "ablate"
    return Path("~/.cache/ablate").expanduser()


def prepare(
    corpus: Corpus, cache: Path | None = None, progress: Say | None = None
) -> TokenizedCorpus:
    """Token arrays of a corpus: from the cache, or read, tokenised and cached now.

    `progress` is called with a line of text before each slow step, and where validation repeats
    training. Raises UserError for a corpus that cannot be read and for a cache folder that cannot
    be written.
    """
    say = progress or silent
    stored = _prepared(corpus, (cache or cache_folder()).absolute(), say)
    if stored.repeated and (warning := stored.repeated.warning()):
        say(f"corpus={corpus.name}: {warning}")
    return stored


def _prepared(corpus: Corpus, root: Path, say: Say) -> TokenizedCorpus:
    before = corpus.stamp()
    note = _note_path(root, corpus, before)
    if (sha256 := _noted_hash(note)) and (stored := _read(_place(root, corpus, sha256), sha256)):
        return stored
    say(f"corpus={corpus.name}: reading")
    survey = take_survey(corpus.pieces(say))
    _check(corpus, survey)
    stored = _build(root, corpus, survey, say)
    if _settled(before) and corpus.stamp() == before:
        _write_note(note, survey.sha256)
    return stored


def fingerprint(corpus: Corpus, cache: Path | None = None) -> str | None:
    """The sha256 of a corpus as it is now: as noted when it was last read, or read again if small.

    None where reading would take long. Raises UserError for a corpus that cannot be read.
    """
    root = (cache or cache_folder()).absolute()
    now = corpus.stamp()
    note = _note_path(root, corpus, now)
    if (sha256 := _noted_hash(note)) or not 0 < now.size <= READ_AT_ONCE:
        return sha256
    survey = take_survey(corpus.pieces(silent))
    if _settled(now) and corpus.stamp() == now:
        _write_note(note, survey.sha256)
    return survey.sha256


def noted(corpus: Corpus, cache: Path | None = None) -> str | None:
    """The sha256 of a corpus that was read before and has not changed since; no text is read.

    Raises UserError for files that are not there.
    """
    root = (cache or cache_folder()).absolute()
    return _noted_hash(_note_path(root, corpus, corpus.stamp()))


def require(corpus: TokenizedCorpus, tokens_train: int, tokens_validation: int, why: str) -> None:
    """Raise UserError, with the numbers, where a corpus has fewer tokens than are needed.

    `why` is what needs them, in the plural: "seq_len=64 and evaluation at 8 L".
    """
    for split, count, least in (
        ("training", len(corpus.train), tokens_train),
        ("validation", len(corpus.validation), tokens_validation),
    ):
        if count < least:
            raise UserError(
                f"corpus={corpus.name} has {count:,} {split} tokens; {why} need at least {least:,}:"
                " take more text or a smaller seq_len"
            )


def _check(corpus: Corpus, survey: Survey) -> None:
    empty = [word for split, word in WORDS.items() if survey.characters[split] == 0]
    if empty:
        raise UserError(
            f"corpus={corpus.name} has no {empty[0]} text"
            f" ({sum(survey.lengths):,} characters in all): take more text"
        )


def _build(root: Path, corpus: Corpus, survey: Survey, say: Say) -> TokenizedCorpus:
    place = _place(root, corpus, survey.sha256)
    if stored := _read(place, survey.sha256):
        return stored
    with _cache_errors(root), _locked(place, say) as partial:
        if not _read(place, survey.sha256):  # else another process made it meanwhile
            _make(place, partial, corpus, survey, say)
        stored = _read(place, survey.sha256)
    if stored is None:
        raise UserError(f"cache folder {root} does not give back what is written to it")
    return stored


def _make(place: Path, partial: Path, corpus: Corpus, survey: Survey, say: Say) -> None:
    """Write an entry beside its place and move it there whole; the caller holds the lock."""
    shutil.rmtree(partial, ignore_errors=True)  # of a process that was killed
    partial.mkdir()
    try:
        _fill(partial, corpus, survey, say)
        shutil.rmtree(place, ignore_errors=True)  # damaged, or it would have been read
        partial.replace(place)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _fill(folder: Path, corpus: Corpus, survey: Survey, say: Say) -> None:
    say(f"corpus={corpus.name}: tokenising {sum(survey.lengths):,} characters ({corpus.tokenizer})")
    kind = TOKENIZERS[corpus.tokenizer]
    tokenizer = kind.train(training_texts(corpus, survey), corpus.vocabulary)
    about = {"name": corpus.name, "sha256": survey.sha256, "tokenizer": corpus.tokenizer}
    lines = LineHashes()
    stream = tokens(corpus, survey, tokenizer, say, lines)
    entry.write(folder, about, tokenizer, stream, lines.repeated)


def _place(root: Path, corpus: Corpus, sha256: str) -> Path:
    name = re.sub(r"[^\w.-]", "_", corpus.name)
    kind = f"{corpus.tokenizer}{corpus.vocabulary or ''}"
    return root / "tokens" / f"{name}-{kind}-{sha256[:16]}-{entry.FORMAT}"


def _read(place: Path, sha256: str) -> TokenizedCorpus | None:
    stored = entry.read(place)
    return stored if stored and stored.sha256 == sha256 else None


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps([entry.FORMAT, value]).encode()).hexdigest()[:32]


def _settled(stamp: Stamp) -> bool:
    """Whether a later change of the files is sure to show in their modification times."""
    return stamp.newest < time.time_ns() - SETTLED


def _note_path(root: Path, corpus: Corpus, stamp: Stamp) -> Path:
    return root / "manifests" / f"{_digest([corpus.name, stamp.facts])}.json"


def _noted_hash(note: Path) -> str | None:
    try:
        return str(json.loads(note.read_text(encoding="utf-8"))["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write_note(note: Path, sha256: str) -> None:
    """Note the hash of a stamp's text; where that fails the next start reads the text again."""
    partial = note.with_name(f"{note.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        note.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps({"sha256": sha256}), encoding="utf-8")
        partial.replace(note)


@contextlib.contextmanager
def _locked(place: Path, say: Say) -> Iterator[Path]:
    """Hold the lock of an entry, which one process makes at a time; it is freed if that dies.

    Yields where to make it: a place of this process's own where the file system has no locks.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_name(f"{place.name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another process that prepares the same corpus")
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:
            yield place.with_name(f"{place.name}.{os.getpid()}.partial")
            return
        yield place.with_name(f"{place.name}.partial")


@contextlib.contextmanager
def _cache_errors(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(
            f"cache folder {root}: {error.strerror or error};"
            " set ABLATE_CACHE to a folder that can be written and has room"
        ) from error
