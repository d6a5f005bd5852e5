"""Rows of data sets through `datasets`; without a network it says so within seconds."""

import queue
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPException
from pathlib import Path
from ssl import SSLError
from typing import Any, NamedTuple

from ablate.data.documents import SPLITS, Piece, Split
from ablate.data.files import cut
from ablate.errors import UserError

PATIENCE = 3.0  # seconds to wait for the first answer of the hub


class HubRows(NamedTuple):
    """Which rows of which data set; `corpus` is the name that messages use."""

    corpus: str
    dataset: str
    subset: str | None
    column: str
    train: str
    validation: str | None
    revision: str | None
    folder: str | None

    @property
    def label(self) -> str:
        """The data set as messages name it."""
        return f"corpus={self.corpus} (corpus.dataset={self.dataset})"


def documents(
    rows: HubRows, document_start: str | None, say: Callable[[str], None]
) -> Iterator[Piece]:
    """Documents of both splits, whose `split` is None where the corpus has no validation split.

    Raises UserError for a data set, split or column that is not there, or is no text.
    """
    loaded = _load(rows, say)
    names = (rows.train,) if rows.validation is None else (rows.train, rows.validation)
    for split, name in zip(SPLITS, names, strict=False):
        own_split = None if rows.validation is None else split
        texts = _column(rows, loaded, name)
        yield from _pieces(rows, texts, name, own_split, document_start)


def _pieces(
    rows: HubRows, texts: Any, name: str, split: Split | None, document_start: str | None
) -> Iterator[Piece]:
    begins = re.compile(document_start) if document_start else None
    number = 0
    for row, text in enumerate(texts):
        if text is None:
            continue
        if "\0" in text:
            raise UserError(f"{rows.label}: row {row:,} of {name} is binary (it holds a NUL)")
        if begins is None:
            number = row
        else:
            number += bool(begins.search(text))
            if not number and not text.strip():
                continue  # blank rows before the first document
            text = text if text.endswith("\n") else f"{text}\n"
        for piece in cut(text):
            yield Piece(f"{name}/{number}", piece, split)


def _column(rows: HubRows, loaded: Any, split: str) -> Any:
    import datasets

    if split not in loaded:
        raise UserError(
            f"{rows.label} has no split {split}; it has {', '.join(loaded)}:"
            " set corpus.train and corpus.validation (null to split by document)"
        )
    columns = loaded[split].column_names
    if rows.column not in columns:
        raise UserError(
            f"corpus.column={rows.column}: {rows.label} has no such column; it has"
            f" {', '.join(columns)}"
        )
    kind = loaded[split].features[rows.column]
    if not isinstance(kind, datasets.Value) or kind.dtype not in ("string", "large_string"):
        what = kind.dtype if isinstance(kind, datasets.Value) else kind
        raise UserError(f"corpus.column={rows.column} of {rows.label} holds {what}, not text")
    return loaded[split][rows.column]


def _load(rows: HubRows, say: Callable[[str], None]) -> Any:
    """The splits of a data set, downloaded or from the cache of `datasets`; else UserError."""
    import datasets

    offline = "" if Path(rows.dataset).is_dir() else _why_offline()
    say(f"{rows.label}: {f'{offline}, looking in the cache' if offline else 'loading'}")
    try:
        with _quiet(bool(offline)):
            return datasets.load_dataset(
                rows.dataset, rows.subset, data_dir=rows.folder, revision=rows.revision
            )
    except Exception as error:  # a dozen kinds, all about what the user asked for
        if offline:
            raise UserError(
                f"{rows.label} is not on this machine, and {offline};"
                " without a network use corpus=stdlib, corpus=docs or corpus=text corpus.files=..."
            ) from error
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise UserError(f"{rows.label}, corpus.subset={rows.subset or 'null'}: {reason}") from error


@contextmanager
def _quiet(offline: bool) -> Iterator[None]:
    """No bars and no warnings of the libraries, and no retries where the hub is out of reach."""
    import datasets
    from huggingface_hub import utils

    before = datasets.config.HF_HUB_OFFLINE
    with ExitStack() as undo:
        for library in (datasets, utils):
            undo.callback(library.logging.set_verbosity, library.logging.get_verbosity())
            library.logging.set_verbosity_error()
            if not library.are_progress_bars_disabled():
                undo.callback(library.enable_progress_bars)
                library.disable_progress_bars()
        datasets.config.HF_HUB_OFFLINE = offline
        undo.callback(setattr, datasets.config, "HF_HUB_OFFLINE", before)
        yield


def _why_offline() -> str:
    """Why the hub cannot be reached; empty if it can."""
    import datasets

    if datasets.config.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    return "" if _answers(datasets.config.HF_ENDPOINT) else "the hub cannot be reached"


def _answers(endpoint: str) -> bool:
    """Whether anything answers at an address within three seconds, proxies respected.

    `datasets` itself would try for half a minute; a look-up of a name cannot be timed out, hence
    the thread.
    """
    answers: queue.SimpleQueue[bool] = queue.SimpleQueue()
    threading.Thread(target=lambda: answers.put(_ask(endpoint)), daemon=True).start()
    try:
        return answers.get(timeout=PATIENCE)
    except queue.Empty:
        return False


def _ask(endpoint: str) -> bool:
    try:
        request = urllib.request.Request(endpoint, method="HEAD")
        urllib.request.urlopen(request, timeout=PATIENCE).close()
    except urllib.error.HTTPError:
        return True
    except urllib.error.URLError as error:
        return isinstance(error.reason, SSLError)  # somebody is there; let the library judge
    except (OSError, HTTPException):
        return False
    return True
