import json
import math
import os
from pathlib import Path

import pytest

from ablate.record.curves import read_lines
from ablate.train.listeners import Curves, Listener
from tests.run import made_up_run


def steps(directory: Path) -> list[int]:
    return [line["step"] for line in read_lines(directory)]


def test_the_base_hears_everything_and_does_nothing() -> None:
    listener = Listener()
    listener.start(made_up_run.record(), 0)
    made_up_run.train([listener], 1, 3)
    listener.message("evaluating at 8L")
    listener.finish(made_up_run.finished())


def test_a_line_is_on_disk_as_soon_as_it_is_logged(tmp_path: Path) -> None:
    curves = Curves(tmp_path)
    curves.start(made_up_run.record(), 0)
    curves.log(made_up_run.line(1))
    assert read_lines(tmp_path) == [made_up_run.line(1)]
    curves.finish(made_up_run.finished())


def test_a_fresh_run_forgets_an_older_curve(tmp_path: Path) -> None:
    for last in (40, 20):
        curves = Curves(tmp_path)
        curves.start(made_up_run.record(), 0)
        made_up_run.train([curves], 1, last)
        curves.finish(made_up_run.finished())
    assert steps(tmp_path) == [1, 10, 20]


def test_a_resumed_run_has_each_step_once_and_the_rest_untouched(tmp_path: Path) -> None:
    curves = Curves(tmp_path)
    curves.start(made_up_run.record(), 0)
    made_up_run.train([curves], 1, 40)
    curves.finish(made_up_run.record(status="interrupted"))
    before = (tmp_path / "curves.jsonl").read_bytes()
    resumed = Curves(tmp_path)
    resumed.start(made_up_run.record(), 25)
    assert steps(tmp_path) == [1, 10, 20]
    made_up_run.train([resumed], 26, 40)
    resumed.finish(made_up_run.finished())
    assert (tmp_path / "curves.jsonl").read_bytes() == before


@pytest.mark.parametrize("tail", ['{"step": 40, "lo', '{"step": 40}\n\x00\x00', "null\n", "[4]\n"])
def test_a_half_written_line_is_dropped(tmp_path: Path, tail: str) -> None:
    path = tmp_path / "curves.jsonl"
    path.write_text(json.dumps({"step": 30, "loss": 2.5}) + "\n" + tail)
    curves = Curves(tmp_path)
    curves.start(made_up_run.record(), 30)
    curves.log({"step": 40, "loss": 2.4})
    curves.finish(made_up_run.finished())
    assert steps(tmp_path) == [30, 40]
    assert len(path.read_text().splitlines()) == 2


def test_a_crash_while_the_file_is_brought_back_keeps_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    curves = Curves(tmp_path)
    curves.start(made_up_run.record(), 0)
    made_up_run.train([curves], 1, 40)
    curves.finish(made_up_run.record(status="interrupted"))

    def crash(descriptor: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(OSError, match="no space"):
        Curves(tmp_path).start(made_up_run.record(), 20)
    assert steps(tmp_path) == [1, 10, 20, 30, 40]


def test_what_json_does_not_have_becomes_null(tmp_path: Path) -> None:
    curves = Curves(tmp_path)
    curves.start(made_up_run.record(), 0)
    gradients = {"parameters": [math.inf, 1.0], "inputs": [math.nan, 2.0]}
    curves.log(made_up_run.line(1, loss=math.nan, gradients=gradients))
    curves.finish(made_up_run.finished(status="diverged"))
    text = (tmp_path / "curves.jsonl").read_text()
    assert "NaN" not in text
    assert "Infinity" not in text
    line = json.loads(text)
    assert line["loss"] is None
    assert line["gradients"] == {"parameters": [None, 1.0], "inputs": [None, 2.0]}


def test_a_line_before_the_start_is_a_mistake_of_the_caller(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="before the start"):
        Curves(tmp_path).log(made_up_run.line(1))
