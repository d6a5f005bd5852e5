"""Sweeps with the real command, in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ablate.config.compose import Composer
from ablate.errors import UserError
from ablate.run.hydra_files import write_hydra_files
from ablate.sweep.arguments import separate
from ablate.sweep.command import is_pooled
from ablate.sweep.plan import Product
from tests.conftest import TINY, Command

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"


def pooled(*words: str) -> bool:
    given = separate(words)
    return is_pooled(given, Product(given, Composer()).plan())


def test_the_pool_does_sweeps_and_what_has_a_time_limit() -> None:
    assert pooled("-m", "seed=0,1")
    assert pooled("run.timeout=60")
    assert not pooled("seed=0")
    assert not pooled("-m", "seed=0,1", "hydra/launcher=basic")
    with pytest.raises(UserError, match=r"run\.timeout: only ablate's own launcher"):
        pooled("-m", "seed=0,1", "hydra/launcher=basic", "run.timeout=60")


def test_the_hydra_folder_is_as_hydra_writes_it(
    ablate: Command, tmp_path: Path, words: Path
) -> None:
    (tmp_path / "mine, own" / "pos").mkdir(parents=True)
    (tmp_path / "mine, own" / "pos" / "nothing.yaml").write_text(
        "_target_: ablate.model.position.base.NoPosition\n"
    )
    line = [*TINY, "corpus=text", f"corpus.files={words}", "pos=nothing", "evaluate.windows=4"]
    done = ablate("run", "--config-dir", "mine, own", *line)
    assert done.returncode == 0, done.stderr
    (theirs,) = tmp_path.glob("outputs/default/*/.hydra")
    ours = tmp_path / "ours"
    ours.mkdir()
    write_hydra_files(ours, line, [tmp_path / "mine, own"])
    for name in ("config", "overrides"):
        assert (ours / f".hydra/{name}.yaml").read_text() == (theirs / f"{name}.yaml").read_text()
    own, hydra = (
        yaml.safe_load(path.read_text())["hydra"]
        for path in (ours / ".hydra/hydra.yaml", theirs / "hydra.yaml")
    )
    for key in ("version", "cwd", "config_sources"):
        assert own["runtime"][key] is not None
    assert set(own) == set(hydra)
    assert own["runtime"]["choices"] == hydra["runtime"]["choices"]
    assert own["overrides"]["task"] == hydra["overrides"]["task"]
    assert own["runtime"]["output_dir"] == str(ours)


def start(folder: Path, cache: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ablate", "run", *words],
        cwd=folder,
        env={**os.environ, "ABLATE_CACHE": str(cache), "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_two_sweeps_at_once_share_the_work(tmp_path: Path, words: Path, cache: Path) -> None:
    line = [*TINY, "corpus=text", f"corpus.files={words}", "evaluate.windows=4", "-m"]
    sweeps = [
        start(tmp_path, cache, *line, pos) for pos in ("pos=none,alibi,t5", "pos=alibi,t5,rope")
    ]
    for sweep in sweeps:
        _, said = sweep.communicate(timeout=240)
        assert sweep.returncode == 0, said
        assert "3 runs: 3 done" in said
    logs = [path.read_text() for path in tmp_path.glob("outputs/default/*/run.log")]
    assert len(logs) == 4
    for log in logs:
        assert log.count("starting after step") == 1


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["ctrl-c", "kill-parent"])
def test_no_run_is_lost_to_a_fault(fault: str) -> None:
    script = [sys.executable, str(SCRIPTS / "faults.py"), fault]
    done = subprocess.run(script, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "  0 lost" in done.stdout


@pytest.mark.slow
def test_a_run_killed_at_any_moment_ends_the_same(cache: Path) -> None:
    script = [sys.executable, str(SCRIPTS / "kill_and_resume.py"), "--rounds", "4"]
    done = subprocess.run(script, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all ended the same" in done.stdout
