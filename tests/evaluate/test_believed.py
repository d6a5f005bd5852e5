"""What a run's folder says is not believed: no class, no text elsewhere, no other schema."""

import json
from pathlib import Path

import pytest
import yaml

from ablate.config.compose import Composer
from ablate.errors import UserError
from ablate.evaluate.believed import believed
from ablate.evaluate.command import add
from ablate.record.evaluated import Evaluation
from ablate.record.record import Record, RecordedCorpus
from ablate.run.planned import refuse_foreign


def folder(directory: Path, words: object) -> Path:
    (directory / ".hydra").mkdir()
    (directory / ".hydra" / "overrides.yaml").write_text(yaml.safe_dump(words))
    return directory


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("pos._target_=evil.Rope", "a class is named by a file"),
        ("pos.inner={_target_:evil.Rope}", "a class is named by a file"),
        ("hydra.searchpath=[evil]", "something of Hydra"),
        ("hydra/launcher=evil", "something of Hydra"),
        ("lr=${oc.env:HOME}", "from elsewhere"),
        ("depth=2,4", "several values"),
        ("corpus.files=/etc/passwd", "outside of the current folder"),
        ("corpus.files=[a.txt,../b.txt]", "outside of the current folder"),
        ("corpus.files=.ssh/id", "outside of the current folder"),
        ("pos=mine", "no such choice"),
    ],
)
def test_a_stored_word_that_reaches_out_is_refused(tmp_path: Path, word: str, reason: str) -> None:
    run = folder(tmp_path, ["corpus=text", word])
    record = Record(corpus=RecordedCorpus(sha256="ab", files=["/etc/hosts"]))
    with pytest.raises(UserError) as refusal:
        believed(run, record, [], Composer())
    assert word in str(refusal.value)
    assert reason in str(refusal.value)


def test_what_was_typed_now_and_what_lies_here_is_believed(tmp_path: Path) -> None:
    run = folder(tmp_path, ["corpus=text", "corpus.files=notes/*.md", "study=../x", "lr=0.1"])
    plain = ["corpus=text", "corpus.files=notes/*.md", "lr=0.1"]
    assert believed(run, Record(), [], Composer()) == plain
    typed = ["corpus.files=/etc/hosts"]
    assert believed(run, Record(), typed, Composer()) == ["corpus=text", "lr=0.1"]


@pytest.mark.parametrize("content", [5, {"a": 1}, [1], ["lr=0.1", None]])
def test_damaged_overrides_are_told(tmp_path: Path, content: object) -> None:
    with pytest.raises(UserError, match="missing or damaged"):
        believed(folder(tmp_path, content), Record(), [], Composer())


def test_a_record_of_another_schema_is_not_added_to(tmp_path: Path) -> None:
    content = {"schema": 2, "status": "done", "config": {}, "choices": {}, "new": [1]}
    for change, words in (({}, "newer schema 2"), ({"schema": 1, "evaluations": "x"}, "no list")):
        text = json.dumps(content | change)
        (tmp_path / "record.json").write_text(text)
        with pytest.raises(UserError, match=words):
            add(tmp_path, Evaluation())
        assert (tmp_path / "record.json").read_text() == text


def test_a_run_is_not_begun_in_a_folder_of_links_or_of_another_schema(tmp_path: Path) -> None:
    outputs, private = tmp_path / "outputs", tmp_path / "private"
    run = outputs / "s" / "r"
    run.mkdir(parents=True)
    private.write_text("secret")
    for name in ("config.yaml", "run.log", ".lock"):
        (run / name).symlink_to(private)
        with pytest.raises(UserError, match=f"{name} is a link"):
            refuse_foreign(run, outputs, {"rerun": False})
        (run / name).unlink()
    (run / "record.json").write_text('{"schema": 2}')
    with pytest.raises(UserError, match="newer schema 2"):
        refuse_foreign(run, outputs, {"rerun": False})
    refuse_foreign(run, outputs, {"rerun": True})
    (outputs / "linked").symlink_to(tmp_path)
    with pytest.raises(UserError, match="a link out of"):
        refuse_foreign(outputs / "linked" / "r", outputs, {"rerun": False})
    assert private.read_text() == "secret"
