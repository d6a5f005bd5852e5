import inspect
import sysconfig
from importlib import import_module
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from ablate.data import python_source
from ablate.data.corpora import Corpus, Docs, Hub, Stdlib, Text
from ablate.errors import UserError

CONFIGS = sorted(Path(__file__, "../../../configs/corpus").resolve().glob("*.yaml"))
BYTES = {"tokenizer": "bytes", "vocabulary": None}

MODULE = '''"""Module text.

    Indented.
"""
try:
    import nothing
except ImportError:
    def fallback():
        "In a handler."

class Thing:
    """A thing."""

    async def act(self):
        """Act \\d."""

        def inner():
            r"""Inner."""


def broken():
    "\\0 and \\ud800"
'''


def say(text: str) -> None:
    """Nobody listens."""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A standard library of a few files."""
    files = {
        "b.py": MODULE.encode(),
        "a/latin.py": "# -*- coding: latin-1 -*-\r\n# größe\n".encode("latin-1"),
        "a/undecodable.py": b"# \xff\n",
        "a/unknown.py": b"# -*- coding: klingon -*-\n",
        "a/syntax.py": b"print 1\n",
        "a/data.txt": b"not python",
        "test/t.py": b"1",
        "a/tests/t.py": b"1",
        "site-packages/s.py": b"1",
        "config-3.11-x86_64-linux-gnu/python-config.py": b"1",
        "_sysconfigdata__linux_.py": b"1",
    }
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_bytes(data)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    return tmp_path


def test_stdlib_is_the_source_without_tests_guests_and_traces_of_the_build(library):
    pieces = list(Stdlib(**BYTES).pieces(say))
    assert [piece.name for piece in pieces] == ["a/latin.py", "a/syntax.py", "b.py"]
    assert pieces[0].text == "# -*- coding: latin-1 -*-\n# größe\n"


def test_docs_are_the_docstrings_in_source_order(library):
    pieces = list(Docs(**BYTES).pieces(say))
    paragraphs = ["Module text.", "Indented.", "In a handler.", "A thing.", "Act \\d.", "Inner."]
    assert [(p.name, p.text) for p in pieces] == [("b.py", "\n\n".join(paragraphs) + "\n\n")]


def test_a_changed_file_changes_the_stamp(library):
    before = Stdlib(**BYTES).stamp()
    assert Stdlib(**BYTES).stamp() == before
    (library / "b.py").write_text("longer" * 1000)
    assert Stdlib(**BYTES).stamp().facts != before.facts


def test_a_python_without_sources_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / "none"))
    with pytest.raises(UserError, match="no source files of Python's library"):
        Stdlib(**BYTES).stamp()


def test_this_python_has_about_twelve_megabytes():
    sizes = {row[0]: row[2] for row in Stdlib(**BYTES).stamp().facts[1:]}
    assert 8e6 < sum(sizes.values()) < 20e6
    assert "argparse.py" in sizes
    assert not any(python_source.skip(part) for name in sizes for part in Path(name).parts)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_yaml_says_what_it_is_and_gives_all_options(path):
    assert path.read_text(encoding="utf-8").startswith("# ")
    options = OmegaConf.to_container(OmegaConf.load(path))
    module, _, name = options.pop("_target_").rpartition(".")
    kind = getattr(import_module(module), name)
    parameters = inspect.signature(kind).parameters.values()
    assert set(options) == {parameter.name for parameter in parameters}
    assert all(parameter.default is parameter.empty for parameter in parameters)
    assert options["tokenizer"] == "bytes"


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_corpus_that_needs_nothing_is_named_as_its_file(path):
    options = OmegaConf.to_container(OmegaConf.load(path))
    module, _, name = options.pop("_target_").rpartition(".")
    required = {"files": "book.txt", "dataset": "owner/name"}
    options |= {key: value for key, value in required.items() if options.get(key, "") is None}
    corpus = getattr(import_module(module), name)(**options)
    assert isinstance(corpus, Corpus)
    assert corpus.name == path.stem


@pytest.mark.parametrize(
    ("tokenizer", "vocabulary", "message"),
    [
        ("byte", None, "corpus.tokenizer=byte: choose one of bytes, .* mean bytes"),
        ("bytes", 300, "corpus.vocabulary=300 is for corpus.tokenizer=bpe"),
        ("bpe", None, "corpus.vocabulary=null: a bpe needs its size, .* 257 or more"),
        ("bpe", 256, "corpus.vocabulary=256"),
        ("bpe", 10**9, "corpus.vocabulary=1000000000: at most 1048576"),
        ("bpe", "abc", "corpus.vocabulary=abc"),
    ],
)
def test_a_tokenizer_that_cannot_be_is_refused(tokenizer, vocabulary, message):
    with pytest.raises(UserError, match=message):
        Stdlib(tokenizer=tokenizer, vocabulary=vocabulary)


@pytest.mark.parametrize("files", [None, "", []])
def test_text_needs_files(files):
    with pytest.raises(UserError, match=r"corpus=text needs corpus\.files"):
        Text(files=files, **BYTES)


def test_hub_needs_a_data_set():
    options = OmegaConf.to_container(OmegaConf.load(CONFIGS[0].with_name("hub.yaml")))
    options.pop("_target_")
    with pytest.raises(UserError, match=r"corpus=hub needs corpus\.dataset"):
        Hub(**options)


def test_of_a_folder_the_text_files_are_taken_and_the_others_counted(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "b.png").write_bytes(b"\x89PNG\0")
    (tmp_path / "empty.py").touch()
    messages: list[str] = []
    pieces = list(Text(files=str(tmp_path), **BYTES).pieces(messages.append))
    assert [piece.text for piece in pieces] == ["text"]
    assert messages == ["corpus.files: 2 empty or binary files in folders left out"]


@pytest.mark.parametrize("order", [1, -1])
def test_a_named_binary_file_is_refused_also_beside_its_folder(tmp_path, order):
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "b.png").write_bytes(b"\x89PNG\0")
    corpus = Text(files=[str(tmp_path), str(tmp_path / "b.png")][::order], **BYTES)
    with pytest.raises(UserError, match=r"b\.png: a binary file"):
        list(corpus.pieces(say))
