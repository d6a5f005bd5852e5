import json
import os
import subprocess
import sys
import time
from pathlib import Path

import datasets
import pytest

from ablate.data import hub
from ablate.data.corpora import Hub
from ablate.data.store import prepare
from ablate.errors import UserError

OPTIONS = {
    "name": "wikitext2",
    "dataset": "Salesforce/wikitext",
    "subset": None,
    "column": "text",
    "train": "train",
    "validation": "validation",
    "document_start": None,
    "revision": None,
    "folder": None,
    "tokenizer": "bytes",
    "vocabulary": None,
}


@pytest.fixture
def local(tmp_path: Path) -> Path:
    """A data set in a folder, its rows the lines of articles."""
    folder = tmp_path / "data set é"
    folder.mkdir()
    for split, count in (("train", 3), ("validation", 1)):
        rows = [""]
        for number in range(count):
            rows += [f" = Title {number} = \n", "", f" Text {split} é . \n", " = = Part = = \n"]
        more = {"number": 1, "list": ["a"], "parts": {"a": "b"}}
        lines = [json.dumps({"text": row, **more}) for row in rows]
        (folder / f"{split}.jsonl").write_text("\n".join(lines))
    return folder


def said_of(corpus: Hub) -> str:
    with pytest.raises(UserError) as caught:
        prepare(corpus)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_rows_are_joined_into_documents_and_the_splits_are_kept(local):
    options = OPTIONS | {"dataset": str(local), "document_start": "^ = [^=].* = $"}
    corpus = prepare(Hub(**options))
    article = " = Title {} = \n\n Text {} é . \n = = Part = = \n"
    train = "".join(article.format(number, "train") for number in range(3))
    assert corpus.tokenizer.decode(corpus.train) == train
    assert corpus.tokenizer.decode(corpus.validation) == article.format(0, "validation")
    assert len(corpus.train_documents) == 3


def test_a_second_start_does_not_load_the_data_set(local, monkeypatch):
    corpus = Hub(**OPTIONS | {"dataset": str(local)})
    for path in local.iterdir():
        os.utime(path, (1, 1))
    first = prepare(corpus)
    monkeypatch.setattr(hub, "documents", None)
    assert prepare(corpus).sha256 == first.sha256


def test_rows_are_documents_split_by_hash_where_there_is_no_validation(local):
    corpus = prepare(Hub(**OPTIONS | {"dataset": str(local), "validation": None}))
    assert len(corpus.validation) > 0
    assert len(corpus.train_documents) == 9


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("column", "body", "corpus.column=body: .* no such column; it has text, number"),
        ("column", "list", "corpus.column=list .* holds List.*, not text"),
        ("column", "parts", "corpus.column=parts .* holds .*, not text"),
        ("column", "number", "corpus.column=number .* holds int64, not text"),
        ("validation", "test", "has no split test; it has train, validation"),
    ],
)
def test_what_the_data_set_has_not_is_named(local, key, value, message):
    corpus = Hub(**OPTIONS | {"dataset": str(local), key: value})
    with pytest.raises(UserError, match=message):
        prepare(corpus)


def test_a_pattern_that_is_none_is_named():
    with pytest.raises(UserError, match=r"corpus\.document_start=\[: no pattern"):
        Hub(**OPTIONS | {"document_start": "["})


def test_without_an_answer_the_offline_corpora_are_named_at_once(monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_ENDPOINT", "http://127.0.0.1:9")
    began = time.monotonic()
    message = said_of(Hub(**OPTIONS))
    assert time.monotonic() - began < 3
    assert message.startswith("corpus=wikitext2 (corpus.dataset=Salesforce/wikitext) is not on")
    assert "the hub cannot be reached; without a network use corpus=stdlib, corpus=docs" in message
    assert not datasets.config.HF_HUB_OFFLINE


def test_a_hub_that_never_answers_is_given_up_in_time(monkeypatch):
    monkeypatch.setattr(hub, "PATIENCE", 0.1)
    monkeypatch.setattr(hub, "_ask", lambda endpoint: time.sleep(0.5) or True)
    began = time.monotonic()
    assert "the hub cannot be reached" in said_of(Hub(**OPTIONS))
    assert time.monotonic() - began < 0.5


def test_the_offline_variable_is_honoured_without_a_look_at_the_network(tmp_path):
    script = (
        "import socket, sys\n"
        "from ablate.data.corpora import Hub\n"
        "from ablate.data.store import prepare\n"
        "from ablate.errors import UserError\n"
        "def refuse(*arguments, **options): raise AssertionError('asked the network')\n"
        "socket.getaddrinfo = refuse\n"
        f"try: prepare(Hub(**{OPTIONS}))\n"
        "except UserError as error: sys.exit(str(error))\n"
    )
    settings = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "ABLATE_CACHE": str(tmp_path)}
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "HF_HUB_OFFLINE is set; without a network use corpus=stdlib" in done.stderr
    assert time.monotonic() - began < 15
