"""Sweeps with the real command, in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ablate.config.compose import Composer
from ablate.errors import UserError
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
    own = tmp_path / "mine, own"
    (own / "pos").mkdir(parents=True)
    (own / "pos" / "long.yaml").write_text(
        "_target_: ablate.model.position.rotary.Rope\nbase: ${seq_len}\nlayout: half_split\n"
    )
    corpus = ("corpus=text", f"corpus.files={words}", "evaluate.windows=4")
    line = ["--config-dir", str(own), *TINY, *corpus, "pos=long", "norm=post"]
    written = {}
    for name, more in (("ours", []), ("theirs", ["hydra.verbose=false"])):
        home = tmp_path / name
        home.mkdir()
        done = ablate("run", *line, *more, cwd=home)
        assert done.returncode == 0, done.stderr
        (folder,) = home.glob("outputs/default/*/.hydra")
        texts = {path.name: path.read_text() for path in folder.iterdir()}
        texts["hydra.yaml"] = texts["hydra.yaml"].replace(str(home), "HOME")
        written[name] = texts
    assert "base: ${seq_len}" in written["ours"]["config.yaml"]
    passed_to_hydra = "    - hydra.verbose=false\n"
    assert passed_to_hydra in written["theirs"]["hydra.yaml"]
    theirs = written["theirs"]["hydra.yaml"].replace(passed_to_hydra, "")
    assert written["ours"] == {**written["theirs"], "hydra.yaml": theirs}


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
