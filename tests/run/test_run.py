"""The real command: one run from nothing to a record, and whatever may interrupt it."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from ablate.evaluate.command import add
from ablate.record.evaluated import Evaluation
from tests.conftest import TINY, Command, later_wins


def only_run(folder: Path) -> Path:
    (found,) = (folder / "outputs" / "default").glob("*seed=*")
    return found


def record_of(folder: Path) -> dict[str, Any]:
    return json.loads((only_run(folder) / "record.json").read_text())


def curve(folder: Path) -> list[dict[str, Any]]:
    lines = (only_run(folder) / "curves.jsonl").read_text().splitlines()
    clock = ("seconds", "tokens_per_second")
    return [{k: v for k, v in json.loads(line).items() if k not in clock} for line in lines]


def corpus(words: Path) -> tuple[str, ...]:
    return ("corpus=text", f"corpus.files={words}", "evaluate.windows=4", "evaluate.batches=2")


def test_a_run_leaves_everything_that_the_design_names(
    ablate: Command, tmp_path: Path, words: Path
) -> None:
    done = ablate("run", *TINY, *corpus(words), "pos=learned", "log.every=4")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "\x1b" not in done.stderr
    run = only_run(tmp_path)
    files = {p.name.split(".tfevents")[0] for p in run.iterdir()}
    named = {"config.yaml", "record.json", "curves.jsonl", "checkpoint.pt", "run.log", ".hydra"}
    assert named | {"events.out"} <= files
    found = record_of(tmp_path)
    assert found["schema"] == 1
    assert found["status"] == "done"
    assert found["run_id"] == f"default/{run.name}"
    assert found["choices"]["pos"] == "learned"
    assert found["steps_done"] == 12
    assert found["tokens"] == 12 * 4 * 16
    assert found["loss"]["uniform"] == pytest.approx(5.545177)
    assert found["loss"]["excess"] == found["loss"]["first"] - found["loss"]["uniform"]
    gradients = found["gradients"]
    for name in ("parameters", "inputs"):
        profiles = [gradients[f"{name}_{when}"] for when in ("first", "mean", "last")]
        assert all(len(profile) == 2 and min(profile) > 0 for profile in profiles)
        first, _, last = profiles
        assert gradients[f"{name}_slope_first"] == pytest.approx(math.log(first[1] / first[0]))
        assert gradients[f"{name}_slope_last"] == pytest.approx(math.log(last[1] / last[0]))
    lines = curve(tmp_path)
    assert gradients["inputs_last"] == lines[-1]["gradients"]["inputs"]
    assert found["extrapolation"]["lengths"] == [8, 16, 32, 64, 128]
    accuracy = found["extrapolation"]["accuracy"]
    assert [a is None for a in accuracy] == [False, False, True, True, True]
    assert found["environment"]["torch"].startswith("2.13")
    assert found["corpus"]["vocabulary"] == 256
    config = yaml.safe_load((run / "config.yaml").read_text())
    assert config == found["config"]
    assert [line["step"] for line in curve(tmp_path)] == [1, 4, 8, 12]
    assert curve(tmp_path)[0]["gradients"]["parameters"] == found["gradients"]["parameters_first"]


def test_the_same_command_again_does_nothing_and_rerun_does_it_again(
    ablate: Command, tmp_path: Path, words: Path
) -> None:
    ablate("run", *TINY, *corpus(words))
    before = record_of(tmp_path)
    again = ablate("run", *TINY, *corpus(words))
    assert again.returncode == 0
    assert "Nothing to do: 1 done" in again.stderr
    assert record_of(tmp_path) == before
    repeated = ablate("run", *TINY, *corpus(words), "rerun=true")
    assert repeated.returncode == 0
    after = record_of(tmp_path)
    assert after["timing"] != before["timing"]
    assert after["loss"] == before["loss"]
    assert len(list(only_run(tmp_path).glob("events.out.tfevents.*"))) <= 2


def test_equal_commands_give_equal_bits_and_another_seed_does_not(
    ablate: Command, tmp_path: Path, words: Path
) -> None:
    homes = [tmp_path / name for name in ("a", "b", "c")]
    for home, seed in zip(homes, (0, 0, 1), strict=True):
        home.mkdir()
        ablate("run", *TINY, *corpus(words), "dropout=0.1", f"seed={seed}", cwd=home)
    a, b, c = map(curve, homes)
    assert a == b
    assert a != c
    first, second = record_of(homes[0]), record_of(homes[1])
    for key in ("loss", "gradients", "extrapolation", "curve", "name"):
        assert first[key] == second[key]


def test_a_diverging_run_is_a_result(ablate: Command, tmp_path: Path, words: Path) -> None:
    done = ablate("run", *TINY, *corpus(words), "lr=1e3", "norm=none", "optim=sgd")
    assert done.returncode == 0, done.stderr
    found = record_of(tmp_path)
    assert found["status"] == found["label"] == "diverged"
    assert found["loss"]["first"] > 0
    assert found["extrapolation"]["lengths"] == [8, 16, 32, 64, 128]
    assert set(found) >= {"gradients", "timing", "environment", "corpus", "curve"}
    again = ablate("run", *TINY, *corpus(words), "lr=1e3", "norm=none", "optim=sgd")
    assert "1 diverged" in again.stderr


def start(folder: Path, cache: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ablate", "run", *words],
        cwd=folder,
        env={**os.environ, "ABLATE_CACHE": str(cache), "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_lines(folder: Path, count: int, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        paths = list(folder.glob("outputs/default/*/curves.jsonl"))
        if paths and paths[0].read_text().count("\n") >= count:
            return
        time.sleep(0.02)
    raise AssertionError("the run did not get that far")


LONG = (
    *TINY[:-1],
    "steps=200",
    "log.every=1",
    "checkpoint.every=10",
    "evaluate.every=90",
    "dropout=0.1",
)


@pytest.mark.parametrize(
    "number",
    [signal.SIGKILL, signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)],
)
def test_a_run_that_was_ended_goes_on_to_the_very_same_end(
    ablate: Command, tmp_path: Path, words: Path, cache: Path, number: signal.Signals
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts with spaces é"
    whole.mkdir()
    parts.mkdir()
    ablate("run", *LONG, *corpus(words), cwd=whole)
    for lines in (15, 60):
        process = start(parts, cache, *LONG, *corpus(words))
        wait_for_lines(parts, lines)
        process.send_signal(number)
        _, printed = process.communicate(timeout=60)
        if number == signal.SIGKILL:
            assert process.returncode == -signal.SIGKILL
        else:
            assert process.returncode == 130
            assert record_of(parts)["status"] == "interrupted"
            assert record_of(parts)["label"] is None
            assert "ablate run" in printed
    add(only_run(parts), Evaluation(overrides=["a"]))
    done = ablate("run", *LONG, *corpus(words), cwd=parts)
    assert done.returncode == 0, done.stderr
    assert curve(whole) == curve(parts)
    first, second = record_of(whole), record_of(parts)
    for key in ("loss", "gradients", "extrapolation", "curve", "status", "steps_done"):
        assert first[key] == second[key]
    assert [entry["overrides"] for entry in second["evaluations"]] == [["a"]]


def test_two_processes_never_share_a_directory(
    ablate: Command, tmp_path: Path, words: Path, cache: Path
) -> None:
    line = later_wins(*LONG, *corpus(words), "steps=100000")
    process = start(tmp_path, cache, *line)
    wait_for_lines(tmp_path, 5)
    second = ablate("run", *line)
    assert f"process {process.pid} is at work on it" in second.stderr
    process.kill()
    process.communicate(timeout=60)
    steps = [entry["step"] for entry in curve(tmp_path)]
    assert steps == list(range(1, len(steps) + 1))


def test_a_sweep_runs_every_arm_and_tells_what_came_of_it(
    ablate: Command, tmp_path: Path, words: Path
) -> None:
    line = ("pos=none,alibi", *TINY, *corpus(words), "seed=0,1", "-m", "study=little")
    done = ablate("run", *line)
    assert done.returncode == 0, done.stderr
    assert "4 runs: 4 done" in done.stderr
    runs = sorted(p.parent.name for p in (tmp_path / "outputs/little").glob("*/record.json"))
    assert len(runs) == 4
    assert ablate("run", *line).stderr.strip().endswith("rerun=true to run again.")
    # The data order does not depend on the model: equal seeds, equal targets, equal unigram loss.
    found = [json.loads(p.read_text()) for p in (tmp_path / "outputs/little").glob("*/record.json")]
    assert len({r["loss"]["unigram"] for r in found}) == 1
    report = ablate("report", "outputs/little", "--format", "json")
    assert report.returncode == 0, report.stderr
    json.loads(report.stdout)


def test_a_failing_run_is_recorded_and_the_others_go_on(
    ablate: Command, tmp_path: Path, words: Path
) -> None:
    (tmp_path / "mine" / "pos").mkdir(parents=True)
    (tmp_path / "mine" / "pos" / "broken.yaml").write_text("# Fails.\n_target_: broken.Broken\n")
    (tmp_path / "broken.py").write_text(
        "from ablate.model.position.base import PositionScheme\n"
        "class Broken(PositionScheme):\n"
        "    def embed(self, x, positions):\n"
        "        raise RuntimeError('broke on purpose')\n"
    )
    line = (*TINY, *corpus(words), "pos=broken,none", "-m", "--config-dir", "mine")
    done = ablate("run", *line)
    assert done.returncode == 1
    assert "2 runs: 1 done, 1 failed" in done.stderr
    assert "broke on purpose" in done.stderr
    assert "To go on from there: ablate run" in done.stderr
    (failed,) = (tmp_path / "outputs/default").glob("pos=broken*")
    assert json.loads((failed / "record.json").read_text())["status"] == "failed"
    assert "Traceback" in (failed / "run.log").read_text()
    report = ablate("report")
    assert report.returncode == 0, report.stderr
    assert "broke on purpose" in report.stdout + report.stderr
    # Once mended, the same command does the failed run alone.
    (tmp_path / "broken.py").write_text(
        "from ablate.model.position.base import NoPosition\nclass Broken(NoPosition): ...\n"
    )
    mended = ablate("run", *line)
    assert mended.returncode == 0, mended.stderr
    assert "2 runs: 2 done" in mended.stderr


@pytest.mark.parametrize(
    ("raised", "code", "told"),
    [
        ("SystemExit(3)", 1, "2 runs: 1 done, 1 failed"),
        ("KeyboardInterrupt", 1, "2 runs: 1 done, 1 interrupted"),
    ],
)
def test_an_exit_inside_a_scheme_ends_its_run_with_a_true_status(
    ablate: Command, tmp_path: Path, words: Path, raised: str, code: int, told: str
) -> None:
    (tmp_path / "mine" / "pos").mkdir(parents=True)
    (tmp_path / "mine" / "pos" / "leaving.yaml").write_text("_target_: leaving.Leaving\n")
    (tmp_path / "leaving.py").write_text(
        "from ablate.model.position.base import PositionScheme\n"
        "class Leaving(PositionScheme):\n"
        f"    def embed(self, x, positions):\n        raise {raised}\n"
    )
    done = ablate("run", *TINY, *corpus(words), "pos=leaving,none", "-m", "--config-dir", "mine")
    assert done.returncode == code, done.stderr
    assert told in done.stderr
    assert "failed: pos=none" not in done.stderr
    (left,) = (tmp_path / "outputs/default").glob("pos=leaving*/record.json")
    assert json.loads(left.read_text())["status"] in ("failed", "interrupted")


def test_a_half_done_run_does_not_go_on_with_another_text(
    ablate: Command, tmp_path: Path, words: Path, cache: Path
) -> None:
    text = tmp_path / "own.txt"
    text.write_text(words.read_text())
    line = (*LONG, *corpus(text))
    process = start(tmp_path, cache, *line)
    wait_for_lines(tmp_path, 15)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    partial = only_run(tmp_path) / ".checkpoint.pt.1"
    partial.write_bytes(b"of a process that was killed")
    text.write_text(words.read_text().replace("ba", "be"))
    for _ in range(2):
        refused = ablate("run", *line)
        assert refused.returncode == 1
        assert "no longer what this run began with" in refused.stderr
        assert "rerun=true" in refused.stderr
    assert not partial.exists()
    text.write_text(words.read_text())
    assert ablate("run", *line).returncode == 0
    assert record_of(tmp_path)["status"] == "done"


def test_a_finished_record_that_was_cut_is_no_traceback(
    ablate: Command, tmp_path: Path, words: Path
) -> None:
    ablate("run", *TINY, *corpus(words))
    cut = {"schema": 1, "status": "diverged", "config": {}, "choices": {}}
    (only_run(tmp_path) / "record.json").write_text(json.dumps(cut))
    again = ablate("run", *TINY, *corpus(words))
    assert again.returncode == 0, again.stderr
    assert again.stderr.startswith("Nothing to do: 1 diverged")


def test_an_output_folder_that_cannot_be_written_is_told(
    ablate: Command, tmp_path: Path, words: Path
) -> None:
    (tmp_path / "outputs").write_text("a file, not a folder")
    done = ablate("run", *TINY, *corpus(words))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    reason, how_to_go_on = done.stderr.splitlines()[-2:]
    assert "outputs" in reason
    assert how_to_go_on.startswith("To go on from there: ablate run depth=2 ")


def test_hydra_answers_questions(ablate: Command, tmp_path: Path) -> None:
    shown = ablate("run", "pos=alibi", "--cfg", "job")
    assert shown.returncode == 0, shown.stderr
    assert yaml.safe_load(shown.stdout)["pos"]["_target_"].endswith("Alibi")
    told = ablate("run", "--info", "defaults")
    assert told.returncode == 0
    assert "pos/rope" in told.stdout
    assert list(tmp_path.iterdir()) == []


def test_of_a_sweep_hydra_shows_the_first_run(ablate: Command, tmp_path: Path) -> None:
    shown = ablate("run", "-m", "depth=5,6", "--cfg", "job")
    assert shown.returncode == 0, shown.stderr
    assert "depth: 5" in shown.stdout
    assert list(tmp_path.iterdir()) == []
