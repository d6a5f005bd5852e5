"""Records and folders that someone else made, in every format of the report."""

import json
import os
import socket
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from ablate.cli import main
from ablate.record import run_files
from ablate.report.runs.collect import collect, find
from tests.report.conftest import make_content, write_run
from tests.report.hostile_parts import EVIL, damaged, every_format, faults

TEXTUAL = ("table", "markdown", "csv", "json", "latex")


@pytest.fixture
def study(outputs: Path) -> Path:
    for pos in ("rope", "alibi"):
        for seed in (0, 1):
            write_run(outputs, {"pos": pos}, seed=seed)
    return outputs / "scout"


def report_all(study: Path, count: int, seed: int, formats: tuple[str, ...]) -> None:
    record = make_content("scout", 0, {"pos": "rope"})
    place = study / "pos=rope,seed=0" / "record.json"
    for at, odd, text in islice(damaged(record, seed), count):
        place.write_text(text)
        for name, report in every_format(study, formats).items():
            assert faults(name, report) == [], (at, odd)


def test_a_record_with_any_value_of_another_type_leaves_a_clean_report(study: Path) -> None:
    report_all(study, 12, 0, TEXTUAL)


@pytest.mark.slow
def test_so_do_a_hundred_and_fifty_in_every_format(study: Path) -> None:
    report_all(study, 150, 1, (*TEXTUAL, "html"))


def test_texts_that_would_steer_a_program_are_escaped(outputs: Path) -> None:
    changes: list[dict[str, Any]] = [{"pos": "rope"}, {"pos": "alibi"}]
    for change in changes:
        run = write_run(outputs, change)
        content = make_content("scout", 0, change, error=EVIL, label=EVIL, status=EVIL)
        content["config"][EVIL] = content["choices"]["norm"] = f"={EVIL}{change['pos']}"
        content["environment"]["git"] = content["corpus"]["name"] = EVIL
        (run / "record.json").write_text(json.dumps(content))
        (run / "run.log").write_text(EVIL)
    reports = every_format(outputs / "scout", TEXTUAL)
    assert [fault for name, text in reports.items() for fault in faults(name, text)] == []
    assert "evil" in reports["table"]


def test_a_file_that_is_no_regular_file_is_named_and_the_others_are_told(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = sorted(study.iterdir())
    os.mkfifo(runs[0] / "curves.jsonl")
    private = tmp_path / "private"
    private.write_text("secret")
    (runs[1] / "run.log").symlink_to(private)
    (runs[2] / ".hydra").symlink_to(tmp_path)
    content = make_content("scout", 0, {"pos": "none"}, error=EVIL, label=EVIL, status=EVIL)
    content["config"][EVIL] = content["environment"]["git"] = EVIL
    (runs[0] / "record.json").write_text(json.dumps(content))
    (runs[0] / "run.log").write_text(EVIL)
    (runs[3] / "record.json").unlink()
    listener = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(runs[3])
    listener.bind("record.json")
    os.chdir(here)
    page = tmp_path / "page.html"
    assert main(["report", str(study), "-o", str(page)]) == 0
    listener.close()
    text = page.read_text()
    for words in ("curves.jsonl is a FIFO", "run.log is a link", ".hydra is a link", "a socket"):
        assert words in text
    assert "secret" not in text
    assert "evil" in text
    assert faults("html", text) == []
    assert main(["diff", str(runs[0]), str(runs[2]), "--outputs", str(study.parent)]) == 0


def test_a_link_out_of_the_outputs_is_named_and_not_read(
    outputs: Path, study: Path, tmp_path: Path
) -> None:
    elsewhere = write_run(tmp_path / "elsewhere", {"pos": "none"}).parent
    (outputs / "linked").symlink_to(elsewhere)
    (study / "loop").symlink_to("loop")
    (outputs / "again").symlink_to("scout")
    runs = {run.name: run for run in collect([outputs], outputs)}
    assert len(runs) == 6
    assert runs["linked"].readable is None
    assert "a link out of" in str(runs["linked"].problem)
    assert runs["loop"].problem is not None
    assert run_files.outside(outputs / "again", outputs) is None
    assert [run.problem for run in collect([elsewhere], outputs)] == [None]


@pytest.mark.parametrize("name", ["run.log", "record.json", "checkpoint.pt", "config.yaml"])
def test_a_stray_file_hides_no_study_nor_does_its_name(
    outputs: Path, study: Path, add_run: Callable[..., Path], name: str
) -> None:
    (study / name).write_text("{}")
    (outputs / name).mkdir()
    add_run(study=name)
    add_run(study=".hidden")
    (study / "pos=rope,seed=0" / "plots").mkdir()
    found = [path.relative_to(outputs).as_posix() for path in find(outputs)]
    assert f"{name}/default,seed=0" in found
    assert ".hidden/default,seed=0" in found
    assert sum(path.startswith("scout/pos=") for path in found) == 4
    assert ("scout" in found) == (name == "record.json")


def test_a_full_disk_leaves_the_old_page(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert main(["report", str(study), "-o", str(page)]) == 2
    assert page.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
