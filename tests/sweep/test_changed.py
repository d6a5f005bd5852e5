"""Finished runs of other code or another text are told of, and kept."""

import json
from pathlib import Path

import pytest
import yaml

from ablate.config.catalogue import config_folder
from ablate.config.compose import Composer
from ablate.data.store import fingerprint
from ablate.record import disk
from ablate.record.record import Environment, Record, RecordedCorpus
from ablate.run.planned import PlannedRun
from ablate.sweep import changed
from ablate.sweep.arguments import separate
from ablate.sweep.plan import Product
from tests.conftest import Command

GIT = "0123456789ab"


@pytest.fixture
def finished(tmp_path: Path, words: Path, monkeypatch: pytest.MonkeyPatch) -> list[PlannedRun]:
    """Four runs done by this code on this text."""
    monkeypatch.setattr(changed, "git_version", lambda: GIT)
    own = tmp_path / "own.txt"
    own.write_text(words.read_text())
    line = ["-m", "seed=range(4)", "corpus=text", f"corpus.files={own}", f"outputs={tmp_path}/out"]
    plan = Product(separate(line), Composer()).plan()
    for planned in plan:
        rewrite(planned, sha256=changed.fingerprint_of(planned.config["corpus"]))
    return plan


def rewrite(
    planned: PlannedRun, *, sha256: str | None, git: str = GIT, status: str = "done"
) -> None:
    planned.directory.mkdir(parents=True, exist_ok=True)
    record = Record(
        status=status,
        config=planned.config,
        choices=planned.identity.choices,
        environment=Environment(ablate=changed.ablate.__version__, git=git),
        corpus=RecordedCorpus(name="text", sha256=sha256),
    )
    disk.write(planned.directory, record)


def sha_of(planned: PlannedRun) -> str:
    return json.loads((planned.directory / "record.json").read_text())["corpus"]["sha256"]


def test_nothing_is_said_of_runs_of_this_code_on_this_text(finished: list[PlannedRun]) -> None:
    assert changed.changes(finished) == []


def test_other_code_is_told_with_how_many_and_which(finished: list[PlannedRun]) -> None:
    sha256 = sha_of(finished[0])
    for planned in finished[:3]:
        rewrite(planned, git="ffff", sha256=sha256)
    rewrite(finished[3], git="eeee", sha256=sha256, status="failed")
    (line,) = changed.changes(finished)
    assert f"ffff: 3 runs ({finished[0].identity.name}" in line
    assert "1 more" in line
    assert f"at {GIT}" in line
    assert "eeee" not in line
    assert "rerun=true" in line


def test_another_text_is_told(finished: list[PlannedRun], tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("another text\n" * 100)
    (line,) = changed.changes(finished)
    assert "another text of corpus=text: 4 runs" in line


def test_a_run_to_be_repeated_and_a_text_that_is_gone_are_no_news(
    finished: list[PlannedRun], tmp_path: Path
) -> None:
    (tmp_path / "own.txt").unlink()
    assert changed.changes(finished) == []
    for planned in finished:
        rewrite(planned, git="ffff", sha256=None)
        planned.config["rerun"] = True
    assert changed.changes(finished) == []


@pytest.mark.parametrize("path", sorted((config_folder() / "corpus").glob("*.yaml")), ids=str)
def test_any_corpus_can_be_asked(path: Path) -> None:
    corpus = yaml.safe_load(path.read_text())
    if "???" not in path.read_text() and path.stem not in ("stdlib", "docs"):
        assert changed.fingerprint_of(corpus) is None


def test_a_large_text_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ablate.data import store
    from ablate.data.corpora import Text

    (tmp_path / "a.txt").write_text("some words\n" * 100)
    corpus = Text(files=str(tmp_path / "a.txt"), tokenizer="bytes", vocabulary=None)
    assert fingerprint(corpus, tmp_path / "cache")
    monkeypatch.setattr(store, "READ_AT_ONCE", 10)
    assert fingerprint(corpus, tmp_path / "cache") is None


def test_the_command_says_it_and_does_nothing(
    ablate: Command, finished: list[PlannedRun], tmp_path: Path
) -> None:
    line = ("-m", "seed=range(4)", "corpus=text", f"corpus.files={tmp_path}/own.txt")
    done = ablate("run", *line, f"outputs={tmp_path}/out")
    assert done.returncode == 0, done.stderr
    told, nothing = done.stderr.splitlines()
    assert f"at {GIT}: 4 runs" in told
    assert nothing.startswith("Nothing to do: 4 done")
