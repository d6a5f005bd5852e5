"""The record survives its writer's death and its reader meets any file."""

import errno
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ablate.record import disk, run_files
from ablate.record.evaluated import (
    DocumentScores,
    Evaluation,
    Extrapolation,
    Learning,
    LengthIntervals,
    PositionBuckets,
    PositionCurve,
    PositionProbe,
    ProbeFit,
    ProtocolResult,
    Shuffle,
)
from ablate.record.record import (
    DepthProfile,
    Loss,
    Record,
    RecordedCorpus,
    Signature,
    ThinnedCurve,
)
from ablate.shell.finite import finite


def minimal(**parts: Any) -> dict[str, Any]:
    return {
        "schema": 1,
        "status": "done",
        "choices": {"pos": "rope"},
        "config": {"lr": 0.1},
    } | parts


def made(**parts: Any) -> Record:
    return Record(status="done", choices={"pos": "rope"}, config={"lr": 0.1}, **parts)


def put(directory: Path, text: str | bytes) -> Path:
    data = text.encode() if isinstance(text, str) else text
    (directory / disk.FILE).write_bytes(data)
    return directory


def test_what_is_written_is_read(tmp_path: Path) -> None:
    written = made(loss=Loss(validation=2.5, uniform=5.545), seed=3)
    disk.write(tmp_path, written)
    found, problem = disk.read(tmp_path)
    assert problem is None
    assert found == written
    assert [path.name for path in tmp_path.iterdir()] == [disk.FILE]


def test_what_is_missing_or_null_reads_as_nothing(tmp_path: Path) -> None:
    content = minimal(corpus=None, gradients=None, extrapolation=None)
    found, problem = disk.read(put(tmp_path, json.dumps(content)))
    assert problem is None
    assert found is not None
    assert (found.loss, found.corpus, found.curve) == (Loss(), RecordedCorpus(), ThinnedCurve())
    assert found.gradients.parameters_first == []
    assert (found.extrapolation.train_length, found.extrapolation.exact) == (None, [])
    assert (found.position_probe, found.shuffle, found.diagnosis) == (None, None, None)
    assert found.instrument("stream_rms").first is None


def test_a_record_written_back_keeps_what_is_not_known_and_what_was_not_changed(
    tmp_path: Path,
) -> None:
    content = minimal(
        later={"new": [1]},
        seed="zero",
        loss={"median": 3.0, "first": True, "final": 2.0},
        extrapolation=None,
        evaluations=["damaged", {"overrides": [], "by": "hand", "shuffle": {"skill": 1}}],
        timing={"seconds": 1.0, "cpu": 3.0},
        schema=7,
    )
    found, _ = disk.read(put(tmp_path, json.dumps(content)))
    assert found is not None
    disk.write(tmp_path, found)
    assert json.loads((tmp_path / disk.FILE).read_text()) == content
    assert list(json.loads((tmp_path / disk.FILE).read_text())) == list(content)

    new = made(evaluations=found.evaluations)  # as a run that goes on has it
    disk.write(tmp_path, new)
    after = json.loads((tmp_path / disk.FILE).read_text())
    assert after["evaluations"] == content["evaluations"]

    found.timing.seconds = 2.0
    found.evaluations = [*found.evaluations, Evaluation(overrides=["depth=2"])]
    disk.write(tmp_path, found)
    after = json.loads((tmp_path / disk.FILE).read_text())
    assert after["evaluations"].pop()["overrides"] == ["depth=2"]
    assert after == content | {"timing": {"seconds": 2.0, "cpu": 3.0}}


def test_what_was_not_measured_is_null_or_left_out(tmp_path: Path) -> None:
    disk.write(tmp_path, made())
    content = json.loads((tmp_path / disk.FILE).read_text())
    assert (content["corpus"], content["extrapolation"], content["label"]) == (None, None, None)
    assert content["loss"] == dict.fromkeys(content["loss"])
    assert content["gradients"] == dict.fromkeys(
        ("parameters_first", "parameters_mean", "inputs_first", "inputs_mean", "clip_fraction")
    )
    absent = {"evaluations", "curve", "instruments", "position_probe", "shuffle", "diagnosis"}
    assert not absent & set(content)
    few = made(position_probe=PositionProbe(), diagnosis=[], instruments={})
    disk.write(tmp_path, few)
    content = json.loads((tmp_path / disk.FILE).read_text())
    assert [content[key] for key in ("position_probe", "diagnosis", "instruments")] == [
        None,
        [],
        {},
    ]


def test_what_only_some_tasks_measure_is_a_list_of_numbers_or_not_there(tmp_path: Path) -> None:
    for exact, expected in (([0.5, None], [0.5, None]), ("much", []), ([True], [None])):
        table = {"lengths": [16, 32][: len(expected)], "exact": exact}
        content = minimal(extrapolation=table)
        found, problem = disk.read(put(tmp_path, json.dumps(content)))
        assert found is not None
        assert found.extrapolation.exact == expected
        assert (problem is None) == (exact == expected)


def test_the_file_is_standard_json_a_key_a_line(tmp_path: Path) -> None:
    curve = ThinnedCurve([1, 2, 3], [1.0, math.inf, -math.inf])
    disk.write(tmp_path, made(curve=curve, loss=Loss(first=math.nan)))
    lines = (tmp_path / disk.FILE).read_text().splitlines()
    assert (lines[0], lines[1], lines[-1]) == ("{", '  "schema": 1,', "}")
    assert '  "curve": {"steps": [1, 2, 3], "loss": [1.0, null, null]}' in lines
    assert any(line.startswith('  "loss": {"uniform": null') for line in lines)


def test_numpy_numbers_become_plain() -> None:
    values = {
        "one": np.float32(0.5),
        "nan": np.float64("nan"),
        "whole": np.int64(7),
        "flag": np.bool_(True),
        "array": np.array([[1.0, np.nan]]),
        "tuple": (np.float32("inf"), 1),
    }
    assert finite(values) == {
        "one": 0.5,
        "nan": None,
        "whole": 7,
        "flag": True,
        "array": [[1.0, None]],
        "tuple": [None, 1],
    }


def test_a_value_that_json_cannot_hold_touches_no_file(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        disk.write(tmp_path, Record(config={"path": object()}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    disk.write(tmp_path, made(seed=1))

    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    owner = os if failing == "fsync" else Path
    monkeypatch.setattr(owner, failing, full)
    with pytest.raises(OSError, match="No space"):
        disk.write(tmp_path, made(seed=2))
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == [disk.FILE]
    found, _ = disk.read(tmp_path)
    assert found is not None
    assert found.seed == 1


def test_a_writer_that_is_interrupted_leaves_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        disk.write(tmp_path, made())
    assert list(tmp_path.iterdir()) == []


def test_the_record_is_readable_by_others(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        disk.write(tmp_path, made())
    finally:
        os.umask(mask)
    assert (tmp_path / disk.FILE).stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "empty"),
        ("\n  \n", "empty"),
        (b"\0" * 4096, "empty"),
        ('{"schema": 1, "loss": {"fir', "the end is missing"),
        ('{"schema": 1,}', "not JSON"),
        ("status: done", "not JSON"),
        (b"\x80\x81\xff", "not JSON"),
        ("[1, 2]", "holds a list"),
        ("3.5", "holds a number"),
        ("true", "holds true or false"),
        ('"done"', "holds text"),
        ("null", "holds null"),
        ('{"name": "some-package", "version": "1.0"}', "no `schema`"),
        ('{"schema": "1"}', "no `schema`"),
        ('{"schema": true}', "no `schema`"),
        ('{"schema": [1]}', "no `schema`"),
        ("[" * 100_000, "not JSON"),
        ('{"schema": ' + "9" * 5000 + "}", "not JSON"),
    ],
)
def test_a_file_that_is_no_record_is_a_problem_in_one_line(
    tmp_path: Path, content: str | bytes, words: str
) -> None:
    found, problem = disk.read(put(tmp_path, content))
    assert found is None
    assert problem is not None
    assert words in problem
    assert "\n" not in problem
    assert len(problem) < 200


def test_a_missing_record_or_run_is_a_problem(tmp_path: Path) -> None:
    assert disk.read(tmp_path) == (None, "missing record.json")
    assert disk.read(tmp_path / "nowhere") == (None, "missing record.json")
    (tmp_path / disk.FILE).mkdir()
    assert disk.read(tmp_path) == (None, "record.json is a folder, not a regular file")


def test_a_record_that_may_not_be_read_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deny(path: Path, most: int) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(run_files, "read", deny)
    found, problem = disk.read(put(tmp_path, json.dumps(minimal())))
    assert (found, problem) == (None, "record.json cannot be read: Permission denied")


@pytest.mark.parametrize(("schema", "age"), [(2, "newer"), (0, "older")])
def test_another_schema_is_read_as_far_as_it_goes(tmp_path: Path, schema: int, age: str) -> None:
    found, problem = disk.read(put(tmp_path, json.dumps(minimal(schema=schema, seed=4))))
    assert found is not None
    assert found.seed == 4
    assert problem == f"record.json has the {age} schema {schema}, this version reads 1"


def test_wrong_types_are_named_and_read_as_nothing(tmp_path: Path) -> None:
    content = minimal(
        seed="zero",
        loss={"validation": "low", "first": True, "uniform": 5.5},
        gradients=[1],
        extrapolation={"lengths": [16, 32, 64], "accuracy": [0.1, "x", None]},
    )
    found, problem = disk.read(put(tmp_path, json.dumps(content)))
    assert found is not None
    assert (found.seed, found.loss.validation, found.loss.first) == (None,) * 3
    assert found.loss.uniform == 5.5
    assert found.gradients.inputs_first == []
    assert found.extrapolation.accuracy == [0.1, None, None]
    assert problem is not None
    assert "`seed` is text, not a number" in problem
    assert problem.endswith("2 more")


def test_missing_required_keys_are_named(tmp_path: Path) -> None:
    found, problem = disk.read(put(tmp_path, '{"schema": 1}'))
    assert found is not None
    assert problem == "no `status`; no `config`; no `choices`"


def test_non_finite_literals_read_as_nothing(tmp_path: Path) -> None:
    text = '{"schema": 1, "status": "done", "config": {}, "choices": {},'
    text += '"loss": {"first": NaN, "final": Infinity, "best": 1e999, "validation": 2.0}}'
    found, problem = disk.read(put(tmp_path, text))
    assert problem is None
    assert found is not None
    loss = found.loss
    assert (loss.first, loss.final, loss.best, loss.validation) == (None,) * 3 + (2.0,)


def test_every_part_is_read_as_it_was_written_and_written_as_it_was_read(tmp_path: Path) -> None:
    measured = Extrapolation(
        protocol="fixed-target",
        train_length=8,
        lengths=[4, 8, 16],
        accuracy=[0.5, 0.25, None],
        nll=[2.0, 2.5, None],
        retention=[1.0, 1.0, None],
        curve=PositionCurve([8, 16], [2.0, 3.0], [0.5, 0.25]),
        buckets=PositionBuckets([0, 8], [8, 16], 4, [2.0, None], [0.5, None]),
        interval=LengthIntervals(0.95, 1000, "documents", 5, accuracy=[None, [0.1, 0.2], None]),
        documents=DocumentScores(
            "documents", 256, [63, 999, 8], [[4, 6], None], [[1.0, 2.5], None]
        ),
        protocols={"sliding-window": ProtocolResult("in steps", [8], [0.5], [2.0], [None])},
    )
    probe = PositionProbe(length=8, ridge=ProbeFit([0.5, None], [1.0, None]))
    shuffle = Shuffle(causal=False, loss=2.0, interval=[-0.5, 0.5])
    whole = made(
        extrapolation=measured,
        learning=Learning("stuck", "nll difference", 0.01, [-0.01, 0.03], units=39),
        evaluations=[Evaluation(overrides=[], extrapolation=measured, shuffle=shuffle)],
        facts={"pos": ["relative"]},
        instruments={
            "stream_rms": DepthProfile([1.0, None], [1.0, 2.0], [1.0, 2.0], 0.5, 0.5),
            "attention_max": DepthProfile([[1.0, 2.0], [None, 4.0]]),
            "logit_scale": DepthProfile(0.5),
        },
        position_probe=probe,
        shuffle=shuffle,
        diagnosis=[Signature("stuck", "it is", "a cause", "advice", {"loss": 2.5})],
    )
    disk.write(tmp_path, whole)
    text = (tmp_path / disk.FILE).read_text()
    found, problem = disk.read(tmp_path)
    assert (found, problem) == (whole, None)
    assert found is not None
    disk.write(tmp_path, found)
    assert (tmp_path / disk.FILE).read_text() == text
