"""Sweeps by launchers of Hydra: the same records in the same place; lost runs are done again."""

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus

from ablate.cli import main
from ablate.config.compose import Composer
from ablate.errors import UserError
from ablate.record import disk
from ablate.run.planned import PlannedRun
from ablate.sweep import cluster, remote
from ablate.sweep.arguments import separate
from ablate.sweep.plan import Product
from tests.conftest import TINY, Command, later_wins

RUN = (*TINY, "log.every=4", "evaluate.windows=4", "evaluate.batches=2", "threads=1")


class Scripted:
    """A launcher whose jobs end as a script says: a status to record, or an exception."""

    def __init__(self, *script: list[str | Exception]) -> None:
        self.script = list(script)
        self.batches: list[int] = []
        self.plan: list[PlannedRun] = []

    def launch(self, jobs: list[list[str]], first: int) -> list[JobReturn]:
        self.batches.append(len(jobs))
        by_job = {tuple(p.overrides): p for p in self.plan}
        returned = []
        for job, what in zip(jobs, self.script.pop(0), strict=True):
            if isinstance(what, OSError):
                raise what
            if isinstance(what, str):
                write(by_job[tuple(job)], what)
            status = JobStatus.FAILED if isinstance(what, Exception) else JobStatus.COMPLETED
            returned.append(JobReturn(_return_value=what, status=status))
        return returned


def write(planned: PlannedRun, status: str) -> None:
    planned.directory.mkdir(parents=True, exist_ok=True)
    from ablate.run.recording import first_record

    record = first_record(planned.config, planned.identity)
    record.status = status
    disk.write(planned.directory, record)


def launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, launcher: Scripted, *words: str
) -> tuple[dict[str, str], list[str | None]]:
    """What the launcher could not do, and the status of each run."""
    composer = Composer()
    line = ["-m", "seed=0..2", f"outputs={tmp_path}", *words]
    launcher.plan = Product(separate(line), composer).plan()
    monkeypatch.setattr(cluster, "make_launcher", lambda first, composer, stop: launcher)
    unrecorded = cluster.launch(launcher.plan, composer, lambda: False)
    return unrecorded, [p.status() for p in launcher.plan]


def test_jobs_are_handed_over_some_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = Scripted(["done", "diverged"], ["failed"])
    unrecorded, statuses = launch(tmp_path, monkeypatch, launcher, "jobs=2")
    assert launcher.batches == [2, 1]
    assert statuses == ["done", "diverged", "failed"]
    assert unrecorded == {}


def test_a_run_whose_worker_is_lost_is_handed_over_again_and_then_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = Scripted(["done", "running", OSError("killed")], ["running", "done"])
    unrecorded, statuses = launch(tmp_path, monkeypatch, launcher)
    assert launcher.batches == [3, 2]
    assert statuses == ["done", "failed", "done"]
    assert unrecorded == {}
    found, _ = disk.read(launcher.plan[1].directory)
    assert found is not None
    assert "lost, 2 times" in found.error


def test_a_launcher_that_cannot_start_is_a_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match="does not begin: OSError: no sbatch here"):
        launch(tmp_path, monkeypatch, Scripted([OSError("no sbatch here"), "", ""]))
    assert list(tmp_path.iterdir()) == []


def test_a_launcher_that_is_not_installed_is_told_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "-m", "seed=0,1", "hydra/launcher=submitit_slrm"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "hydra/launcher=submitit_slrm: there is no such launcher" in line
    assert "ablate[slurm]" in line


def test_a_launcher_whose_plugin_is_missing_is_told_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(self: Plugins, **_: object) -> None:
        raise RuntimeError("Unknown plugin class : 'RayLauncher'")

    monkeypatch.setattr(Plugins, "instantiate_launcher", missing)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "-m", "seed=0,1", "hydra/launcher=ray_cluster"]) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert "hydra/launcher=ray_cluster: RuntimeError: Unknown plugin class" in told
    assert "ablate[ray]" in told


def test_what_breaks_outside_a_run_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = Scripted(["done", ValueError("no such module\nthere"), "done"])
    unrecorded, statuses = launch(tmp_path, monkeypatch, launcher)
    assert [*unrecorded.values()] == ["ValueError: no such module"]
    assert statuses == ["done", None, "done"]


def test_a_job_that_arrives_at_a_worker_is_where_it_was_sent_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent_from, elsewhere = tmp_path / "sent from", tmp_path / "elsewhere"
    sent_from.mkdir()
    elsewhere.mkdir()
    monkeypatch.chdir(sent_from)
    monkeypatch.setattr(sys, "path", [*sys.path, str(sent_from)])
    envelope = pickle.dumps(remote.here(lambda: False))
    monkeypatch.chdir(elsewhere)
    monkeypatch.setattr(sys, "path", sys.path[:-1])
    arrived = pickle.loads(envelope)
    assert Path.cwd() == sent_from
    assert sys.path[-1] == str(sent_from)
    assert arrived.stop is None


def sweep(words: Path) -> list[str]:
    """Two runs that find everything from the folder in which the command is given."""
    own = ("--config-dir", "mine", "corpus=text", f"corpus.files={words.name}")
    return [*own, *later_wins(*RUN, "steps=40")]


PRODUCT = ("-m", "pos=own,none", "seed=3")
STUDY = "arms: [pos=own, pos=none]\nseeds: 3\n"


@pytest.fixture
def at(tmp_path: Path, words: Path) -> Path:
    """A folder with the text and a scheme of the user's own, where commands are given."""
    (tmp_path / words.name).write_text(words.read_text())
    (tmp_path / "mine" / "pos").mkdir(parents=True)
    (tmp_path / "mine" / "pos" / "own.yaml").write_text("_target_: own.Own\n")
    (tmp_path / "own.py").write_text(
        "from ablate.model.position.base import NoPosition\nclass Own(NoPosition): ...\n"
    )
    (tmp_path / "mine" / "studies").mkdir()
    (tmp_path / "mine" / "studies" / "far.yaml").write_text(STUDY)
    return tmp_path


def statuses(at: Path, study: str) -> dict[str, str]:
    found = (at / "outputs" / study).glob("*/record.json")
    return {path.parent.name: json.loads(path.read_text())["status"] for path in found}


def curves(at: Path, study: str) -> dict[str, list[float]]:
    found = (at / "outputs" / study).glob("*/curves.jsonl")
    return {
        path.parent.name: [json.loads(line)["loss"] for line in path.read_text().splitlines()]
        for path in found
    }


def spans(at: Path, study: str) -> list[tuple[str, str]]:
    """When each run was begun and ended, in order."""
    found = (at / "outputs" / study).glob("*/record.json")
    times = [json.loads(path.read_text())["timing"] for path in found]
    return sorted((time["started"], time["finished"]) for time in times)


def kill_a_worker(at: Path, study: str) -> None:
    """Kill the process that holds a run, once there is one."""
    for _ in range(600):
        for path in (at / "outputs" / study).glob("*/.lock"):
            if (path.parent / "curves.jsonl").exists() and (pid := path.read_text()):
                os.kill(int(pid), signal.SIGKILL)
                return
        time.sleep(0.1)
    raise AssertionError("no run began")


def start(at: Path, cache: Path, *words: str, **more: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "ABLATE_CACHE": str(cache), "OMP_NUM_THREADS": "1", **more}
    return subprocess.Popen(
        [sys.executable, "-m", "ablate", "run", *words],
        cwd=at,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_submitit_gives_what_this_machine_gives_and_brings_back_a_lost_run(
    ablate: Command, at: Path, words: Path, cache: Path
) -> None:
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher")
    line = sweep(words)
    launcher = ("hydra/launcher=submitit_local", "hydra.launcher.timeout_min=5", "jobs=1")
    far = start(at, cache, *line, "--study", "far", *launcher)
    kill_a_worker(at, "far")
    _, told = far.communicate(timeout=200)
    assert far.returncode == 0, told
    assert "2 runs: 2 done" in told
    one, other = spans(at, "far")
    assert one[1] <= other[0]  # jobs=1: one after the other
    near = ablate("run", *PRODUCT, *line, "study=near")
    assert near.returncode == 0, near.stderr
    assert curves(at, "far") == curves(at, "near")
    report = ablate("report", "far", "near", "--by", "pos")
    assert report.returncode == 0, report.stderr
    assert "4 runs" in report.stdout
    assert "Nothing to do: 2 done" in ablate("run", *PRODUCT, *line, "study=far").stderr


@pytest.fixture
def ray_address() -> Iterator[str]:
    """A Ray cluster on this machine."""
    pytest.importorskip("hydra_plugins.hydra_ray_launcher")
    pytest.importorskip("ray")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"),
        *("--num-cpus=2", f"--port={port}", "--include-dashboard=false"),
        *("--disable-usage-stats", "--object-store-memory=80000000"),
    ]
    head = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"127.0.0.1:{port}"
    finally:
        os.killpg(head.pid, signal.SIGTERM)
        head.wait(timeout=60)


@pytest.mark.slow
def test_ray_does_the_runs_and_brings_back_a_lost_one(
    at: Path, words: Path, cache: Path, ray_address: str
) -> None:
    line = sweep(words)
    launcher = "hydra/launcher=ray_cluster"
    far = start(at, cache, *PRODUCT, *line, launcher, RAY_ADDRESS=ray_address)
    kill_a_worker(at, "default")
    _, told = far.communicate(timeout=200)
    assert far.returncode == 0, told
    assert [*statuses(at, "default").values()] == ["done", "done"]
