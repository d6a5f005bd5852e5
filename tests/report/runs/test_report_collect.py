"""Which folders are runs and which study is the newest."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ablate.errors import UserError
from ablate.report.runs.collect import collect, find

Factory = Callable[..., Path]


def names(runs: list) -> list[str]:
    return [f"{run.study}/{run.name}" for run in runs]


def test_a_path_is_a_run_a_study_an_outputs_root_or_a_record(
    outputs: Path, add_run: Factory
) -> None:
    first = add_run({"pos": "rope"})
    add_run({"pos": "alibi"})
    other = add_run({"pos": "rope"}, study="other")
    assert len(collect([first], outputs)) == 1
    assert len(collect([first / "record.json"], outputs)) == 1
    assert len(collect([outputs / "scout"], outputs)) == 2
    assert len(collect([outputs], outputs)) == 3
    assert names(collect([Path("other")], outputs)) == [f"other/{other.name}"]


def test_a_run_named_twice_counts_once(outputs: Path, add_run: Factory) -> None:
    run = add_run()
    assert len(collect([outputs, run, outputs / "scout"], outputs)) == 1


def test_the_default_is_the_study_whose_record_changed_last(
    outputs: Path, add_run: Factory
) -> None:
    for age, study in enumerate(("newest", "older", "oldest")):
        for seed in (0, 1):
            record = add_run(study=study, seed=seed) / "record.json"
            os.utime(record, (1e9 - age, 1e9 - age - seed))
    assert names(collect([], outputs)) == ["newest/default,seed=0", "newest/default,seed=1"]


def test_every_folder_of_a_run_is_listed_whatever_is_in_it(outputs: Path, add_run: Factory) -> None:
    add_run()
    study = outputs / "scout"
    (study / "empty").mkdir()
    (study / "only_hydra" / ".hydra").mkdir(parents=True)
    (study / "only_lock").mkdir()
    (study / "only_lock" / ".lock").touch()
    (study / "only_log").mkdir()
    (study / "only_log" / "run.log").touch()
    (study / "multirun.yaml").touch()
    (study / ".submitit").mkdir()
    (study / "figures").mkdir()
    (study / "figures" / "loss.png").touch()
    found = {run.name: run.problem for run in collect([study], outputs)}
    missing = dict.fromkeys(("empty", "only_hydra", "only_lock", "only_log"), "missing record.json")
    assert found == {"default,seed=0": None, **missing}


def test_a_study_of_one_run_that_left_nothing_is_found(outputs: Path) -> None:
    (outputs / "scout" / "pos=rope").mkdir(parents=True)
    assert names(collect([], outputs)) == ["scout/pos=rope"]


def test_an_empty_study_is_no_run_beside_others(outputs: Path, add_run: Factory) -> None:
    add_run()
    (outputs / "empty_study").mkdir()
    assert len(find(outputs)) == 1


def test_what_cannot_be_found_is_told_with_what_to_do(outputs: Path, add_run: Factory) -> None:
    with pytest.raises(UserError, match="no runs here yet; `ablate run`"):
        collect([], outputs)
    with pytest.raises(UserError, match="no such outputs folder"):
        collect([], outputs / "nowhere")
    add_run()
    with pytest.raises(UserError, match="does not exist; did you mean scout"):
        collect([outputs / "scuot"], outputs)
    with pytest.raises(UserError, match="does not exist; did you mean scout"):
        collect([Path("scuot")], outputs)
    (outputs / "notes.txt").touch()
    with pytest.raises(UserError, match="is a file"):
        collect([outputs / "notes.txt"], outputs)
    (outputs / "unrelated").mkdir()
    with pytest.raises(UserError, match="no runs here"):
        collect([outputs / "unrelated"], outputs)
