"""Sweepers of Hydra that choose their values themselves."""

import json
import math
import sys
from pathlib import Path

import pytest

from ablate.cli import main
from ablate.sweep.search import bounded, corners
from tests.conftest import TINY, Command, later_wins


def test_a_search_is_checked_at_the_ends_of_its_intervals() -> None:
    words = ["lr=tag(log, interval(1e-4, 1e-2))", "depth=interval(2,4)", "norm=pre,post", "seed=3"]
    assert corners([*words, "hydra/sweeper=optuna", "hydra.sweeper.n_trials=3"]) == [
        "lr=0.0001,0.01",
        "depth=2,4",
        "norm=pre,post",
        "seed=3",
    ]


def test_a_run_that_blew_up_counts_as_a_uniform_guess() -> None:
    assert [bounded(x, 5.5) for x in (2.0, 9.0, None, math.nan, math.inf)] == [2.0] + [5.5] * 4


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["hydra/sweeper=optuna", "lr=1e-3"], "add -m"),
        (["-m", "hydra/sweeper=optuna", "--study", "warmup"], "nothing to choose"),
        (["-m", "hydra.sweeper.params={lr: '1,2'}"], "KEY=A,B"),
        (["-m", "hydra.sweeper.params.lr=1,2"], "KEY=A,B"),
    ],
)
def test_what_a_sweeper_cannot_do_is_told_in_words(
    capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    assert main(["run", *words]) == 2
    message = capsys.readouterr().err
    assert told in message
    assert len(message.splitlines()) <= 2


def test_a_sweeper_that_is_not_installed_is_named_with_its_extra(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert main(["run", "-m", "hydra/sweeper=optuna", "lr=interval(1e-4,1e-2)"]) == 2
    assert "pip install 'ablate[tune]'" in capsys.readouterr().err


@pytest.mark.slow
def test_optuna_searches_a_learning_rate(ablate: Command, tmp_path: Path, words: Path) -> None:
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper")
    search = (
        "-m",
        "hydra/sweeper=optuna",
        "hydra.sweeper.n_trials=3",
        "hydra.sweeper.sampler.seed=1",
        "lr=tag(log, interval(1e-4, 1e-1))",
    )
    text = ("corpus=text", f"corpus.files={words}", "evaluate.windows=4", "evaluate.lengths=[1]")
    done = ablate("run", *search, *later_wins(*TINY, *text, "depth=1", "steps=8"))
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stderr
    found = [json.loads(p.read_text()) for p in tmp_path.glob("outputs/default/*/record.json")]
    rates = [record["config"]["lr"] for record in found]
    assert len(set(rates)) == 3
    assert all(1e-4 <= rate <= 1e-1 for rate in rates)
    best = min(found, key=lambda record: record["loss"]["validation"])
    assert f"lr={best['config']['lr']}" in done.stderr.split("the best first")[1].splitlines()[1]

    wrong = ablate("run", *search[:-1], "lr=interval(-1,1)", *text)
    assert wrong.returncode == 2
    assert "lr=-1: must be above 0" in wrong.stderr
