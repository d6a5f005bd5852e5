import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ablate.data.corpora import Text
from ablate.data.store import TokenizedCorpus, prepare

START = """
import sys
from ablate.data.corpora import Text
from ablate.data.store import prepare
corpus = prepare(Text(files=sys.argv[1], tokenizer="bytes", vocabulary=None), progress=print)
print(corpus.sha256, len(corpus.train))
print([name for name in ("datasets", "tokenizers", "torch", "pyarrow") if name in sys.modules])
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing that a test prepares or loads goes to the caches of the person who runs it."""
    import datasets

    monkeypatch.setenv("ABLATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "datasets")
    return tmp_path / "cache"


@pytest.fixture
def entries() -> Callable[[Path], list[Path]]:
    return lambda cache: [path for path in (cache / "tokens").iterdir() if path.is_dir()]


@pytest.fixture
def write() -> Callable[..., None]:
    def make(path: Path, text: str, seconds: int = 1) -> None:
        """A file whose modification time is not of this moment."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (seconds, seconds))

    return make


@pytest.fixture
def book(tmp_path: Path, write: Callable[..., None]) -> Path:
    """A text file under a name with spaces and letters outside ASCII."""
    path = tmp_path / "ein Büch 文.txt"
    write(path, "".join(f"line {number:03d} of the text\n" for number in range(100)))
    return path


@pytest.fixture
def start() -> Callable[..., subprocess.Popen]:
    """Another process that prepares a file and prints what it did."""
    return lambda *arguments, before=(), **settings: subprocess.Popen(
        [*before, sys.executable, "-c", START, *arguments],
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if before else None,
        text=True,
    )


@pytest.fixture
def text_of() -> Callable[..., Text]:
    def make(*files: Path | str, tokenizer: str = "bytes", vocabulary: int | None = None) -> Text:
        names = [str(file) for file in files]
        return Text(files=names, tokenizer=tokenizer, vocabulary=vocabulary)

    return make


@pytest.fixture
def prepared(text_of: Callable[..., Text]) -> Callable[..., TokenizedCorpus]:
    return lambda *files, **options: prepare(text_of(*files, **options))
