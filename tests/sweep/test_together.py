"""One run by several processes: the numbers of one process, and one end for all of them."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from ablate.config.compose import Composer
from ablate.errors import UserError
from ablate.run.stop import Stop
from ablate.sweep.arguments import separate
from ablate.sweep.plan import Product
from ablate.sweep.together import meet, take_device, the_run
from ablate.train.distributed import Failed, Meeting, Several
from ablate.train.loop import Stopped
from tests.conftest import TINY, Command, later_wins

CPU = torch.device("cpu")


def nobody() -> None:
    """Nobody asks to stop."""


@pytest.fixture
def pair() -> tuple[Meeting, Meeting]:
    store = dist.HashStore()
    return Meeting(store, 0, 2), Meeting(store, 1, 2)


def test_the_first_process_decides(pair: tuple[Meeting, Meeting]) -> None:
    first, second = pair
    first.decide({"config": {"depth": 2, "lr": 1e-3, "clip": None}})
    assert second.decision(nobody) == {"config": {"depth": 2, "lr": 1e-3, "clip": None}}
    first.decide(None)
    assert second.decision(nobody) is None


def test_the_first_reason_to_end_is_heard(pair: tuple[Meeting, Meeting]) -> None:
    first, second = pair
    assert first.failure() is None
    assert second.fail("ValueError: x\nand its traceback")
    assert not first.fail("RuntimeError: the other is gone")
    assert first.failure() == "process 1 of 2: ValueError: x\nand its traceback"
    with pytest.raises(Failed, match="process 1 of 2: ValueError: x"):
        first.begin(CPU, nobody)
    assert Several(CPU, first).failure(RuntimeError("mine")) == first.failure()


def test_a_killed_process_is_told_from_a_mistake_of_ones_own(
    pair: tuple[Meeting, Meeting], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ablate.train.distributed.FAREWELL", 0.0)
    several = Several(CPU, pair[0])
    assert several.failure(RuntimeError("shapes do not fit")) is None
    told = several.failure(RuntimeError("gloo/pair.cc: Connection closed by peer"))
    assert told is not None
    assert "killed" in told


def test_a_signal_ends_the_waiting_for_others(pair: tuple[Meeting, Meeting]) -> None:
    with Stop("stopping", patient=True) as asked:
        asked.check()
        for _ in range(2):
            signal.raise_signal(signal.SIGINT)
        assert asked()
        with pytest.raises(Stopped):
            pair[0].begin(CPU, asked.check)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-m", "seed=0,1"], "-m: under torchrun several processes do one run"),
        (["--study", "any"], "--study: under torchrun several processes do one run"),
        (["batch_size=6"], "batch_size=6: must be divisible by 4 processes.* batch_size=8"),
        (["batch_size=4", "accumulate=2"], "4 processes x accumulate=2.* batch_size=8"),
        (["batch_size=4", "run.timeout=60"], "run.timeout: not heeded under torchrun"),
    ],
)
def test_what_several_processes_cannot_do_is_told(words: list[str], told: str) -> None:
    with pytest.raises(UserError, match=told):
        the_run(Product(separate(words), Composer()), 4)


def test_each_process_takes_a_device_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    take_device("cpu")
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    taken: list[int] = []
    monkeypatch.setattr("torch.cuda.set_device", taken.append)
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    take_device("auto")
    assert taken == [1]
    with pytest.raises(UserError, match="device=cuda:1: each process takes its own"):
        take_device("cuda:1")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    with pytest.raises(UserError, match="4 processes here, but 2 CUDA devices"):
        take_device("cuda")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "RuntimeError|DistStoreError"),
        ({"TORCHELASTIC_USE_AGENT_STORE": "True"}, "ConnectionRefusedError"),
        ({"RANK": "2"}, "there is no RANK=2 of WORLD_SIZE=2"),
        ({"WORLD_SIZE": "two"}, "invalid literal"),
        ({"MASTER_PORT": "a"}, "invalid literal"),
    ],
)
def test_variables_that_torchrun_left_over_are_told(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, str],
    told: str,
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    left = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    monkeypatch.delenv("TORCHELASTIC_USE_AGENT_STORE", raising=False)
    for name, value in {**left, **changes}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("ablate.sweep.together.WORTH_SAYING", 0.1)
    with pytest.raises(UserError, match=f"({told}).*; for a run of one .*unset RANK WORLD_SIZE"):
        meet(timedelta(seconds=1))
    if not changes:
        assert "Waiting for the other processes of this run (RANK=0" in capsys.readouterr().err


SMALL = (
    *later_wins(*TINY, "steps=30"),
    *("task=mlm", "task.padding=0.5", "clip=1.0", "evaluate.lengths=[1]"),
    *("log.every=3", "evaluate.every=15", "checkpoint.every=7"),
    *("evaluate.windows=4", "evaluate.batches=3"),
)
"""Rows with unequal numbers of targets, so that a mean of means would show."""

CLOCK = ("seconds", "tokens_per_second", "instruments")


def processes(folder: Path, cache: Path, *words: str) -> subprocess.Popen[str]:
    """Two of them under torchrun."""
    start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    return subprocess.Popen(
        [sys.executable, *start, "-m", "ablate", "run", *words],
        cwd=folder,
        env={**os.environ, "ABLATE_CACHE": str(cache), "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )


def numbers(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Every number in nested plain data, under its dotted name."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, f"{name}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from numbers(inner, f"{name}.{index}")
    elif isinstance(value, int | float):
        yield name, float(value)


def found(folder: Path) -> tuple[dict[str, Any], dict[str, float]]:
    """The record of the one run in a folder, and the numbers that are the same for any split."""
    (run,) = (folder / "outputs" / "default").glob("*seed=*")
    record = json.loads((run / "record.json").read_text())
    lines = [json.loads(line) for line in (run / "curves.jsonl").read_text().splitlines()]
    told = {key: record[key] for key in ("loss", "gradients", "curve", "steps_done", "tokens")}
    told["nll"] = (record["extrapolation"] or {}).get("nll")
    told["curves"] = [{k: v for k, v in line.items() if k not in CLOCK} for line in lines]
    return record, dict(numbers(told))


@pytest.fixture(scope="module")
def alone(words: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the same run done by one process."""
    folder = tmp_path_factory.mktemp("alone")
    command = [sys.executable, "-m", "ablate", "run", *SMALL, *text(words)]
    environment = {**os.environ, "ABLATE_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
    subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, timeout=120
    )
    return folder


def text(words: Path) -> tuple[str, str]:
    return "corpus=text", f"corpus.files={words}"


def same(one: Path, two: Path) -> None:
    (_, expected), (record, got) = found(one), found(two)
    assert record["status"] == "done"
    assert got.keys() == expected.keys()
    for key, value in expected.items():
        assert got[key] == pytest.approx(value, rel=2e-5, abs=1e-7), key


@pytest.mark.slow
def test_two_processes_give_the_numbers_of_one(
    tmp_path: Path, words: Path, cache: Path, alone: Path
) -> None:
    both = processes(tmp_path, cache, *SMALL, *text(words))
    _, printed = both.communicate(timeout=120)
    assert both.returncode == 0, printed
    assert printed.count("started") == printed.count("done") == 1
    same(alone, tmp_path)
    record, got = found(tmp_path)
    assert record["environment"]["processes"] == 2
    assert got[".gradients.clip_fraction"] > 0


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_together_and_in_one_process(
    ablate: Command, tmp_path: Path, words: Path, cache: Path, alone: Path
) -> None:
    slowly = folder_of_slow_scheme(tmp_path)
    line = (*SMALL, *text(words), *slowly)
    both = processes(tmp_path, cache, *line)
    until = time.monotonic() + 60
    while not any(
        path.read_text().count("\n") > 3 for path in tmp_path.glob("outputs/*/*/curves.jsonl")
    ):
        assert time.monotonic() < until
        time.sleep(0.05)
    both.send_signal(signal.SIGINT)
    _, printed = both.communicate(timeout=60)
    stopped, _ = found(tmp_path)
    assert stopped["status"] == "interrupted", printed
    assert 6 <= stopped["steps_done"] < 30
    shutil.copytree(tmp_path, tmp_path / "copy")
    rest = ablate("run", *line)
    assert rest.returncode == 0, rest.stderr
    same(alone, tmp_path)
    both = processes(tmp_path / "copy", cache, *line)
    _, printed = both.communicate(timeout=120)
    assert both.returncode == 0, printed
    same(alone, tmp_path / "copy")


def folder_of_slow_scheme(folder: Path) -> tuple[str, ...]:
    """A choice that is RoPE with a pause, so that a signal finds the run at work."""
    (folder / "mine" / "pos").mkdir(parents=True)
    (folder / "mine" / "pos" / "slow.yaml").write_text(
        "_target_: slow.Slow\nbase: 10000.0\nlayout: interleaved\n"
    )
    (folder / "slow.py").write_text(
        "import time\nfrom ablate.model.position.rotary import Rope\n"
        "class Slow(Rope):\n"
        "    def embed(self, x, positions):\n        time.sleep(0.05)\n        return x\n"
    )
    return "pos=slow", "--config-dir", "mine"


@pytest.mark.slow
def test_what_one_process_fails_with_ends_all_and_is_in_the_record(
    tmp_path: Path, words: Path, cache: Path
) -> None:
    (tmp_path / "mine" / "pos").mkdir(parents=True)
    (tmp_path / "mine" / "pos" / "broken.yaml").write_text("_target_: broken.Broken\n")
    (tmp_path / "broken.py").write_text(
        "import os\nfrom ablate.model.position.base import PositionScheme\n"
        "class Broken(PositionScheme):\n"
        "    passes = 0\n"
        "    def embed(self, x, positions):\n"
        "        self.passes += self.training\n"
        "        if os.environ['RANK'] == '1' and self.passes > 5:\n"
        "            raise RuntimeError('broke on purpose')\n"
        "        return x\n"
    )
    line = (*SMALL, *text(words), "pos=broken", "--config-dir", "mine")
    both = processes(tmp_path, cache, *line)
    _, printed = both.communicate(timeout=120)
    assert both.returncode != 0
    record, _ = found(tmp_path)
    assert record["status"] == "failed"
    assert record["steps_done"] >= 4
    assert record["error"] == "RuntimeError: process 1 of 2: RuntimeError: broke on purpose"
    assert record["error"] in printed
    (log,) = tmp_path.glob("outputs/*/*/run.log")
    assert "broken.py" in log.read_text()
