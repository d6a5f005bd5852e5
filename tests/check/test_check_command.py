"""The verb `check`: its output, its exit codes, and that a run is not changed by its warnings."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from ablate import cli
from ablate.check.listed import CHECKS
from ablate.config.compose import Composer
from ablate.record.record import Record
from ablate.run import execute as run
from ablate.run.planned import PlannedRun
from ablate.train.listeners import Listener
from tests.check.check_parts import SMALL
from tests.conftest import later_wins

NAMES = [check.name for check in CHECKS]


@pytest.fixture
def check(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: Path,
) -> Any:
    """Run the verb in this process: `check("depth=3").out`, with the exit code in `.code`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)

    class Done:
        def __init__(self, *given: str) -> None:
            corpus = ("corpus=text", f"corpus.files={words}")
            self.code = cli.main(["check", *later_wins(*SMALL, *corpus, *given)])
            self.out, self.err = capsys.readouterr()

    return Done


def test_a_cell_is_told_in_lines(check: Any, tmp_path: Path) -> None:
    done = check()
    assert done.code == 0
    lines = done.out.splitlines()
    assert [line[2:14].strip() for line in lines[1:-1]] == NAMES
    assert all(line.startswith("✓") for line in lines[1:-1])
    assert lines[-1] == f"{len(NAMES)} ✓"
    assert "\x1b" not in done.out + done.err
    assert list(tmp_path.iterdir()) == []


def test_a_warning_says_what_to_try_and_is_no_failure(check: Any) -> None:
    done = check("tied=true", "pos=learned")
    assert done.code == 0
    lines = done.out.splitlines()
    (place,) = [i for i, line in enumerate(lines) if line.startswith("! first loss")]
    assert lines[place + 1].strip().startswith("try: tied=false")
    assert lines[-1] == f"{len(NAMES) - 2} ✓  2 !"


def test_a_broken_property_is_exit_code_1(check: Any, tmp_path: Path) -> None:
    (tmp_path / "mine" / "pos").mkdir(parents=True)
    text = "# Leaks. | x |\n# kind: relative\n_target_: tests.check.check_parts.SeesTheMean\n"
    (tmp_path / "mine" / "pos" / "leak.yaml").write_text(text)
    done = check("pos=leak", "--config-dir", "mine")
    assert done.code == 1
    assert "✗ causality" in done.out
    both = check("pos=leak,rope", "-m", "--config-dir=mine", "--json")
    assert both.code == 1
    assert [cell["ok"] for cell in json.loads(both.out)["cells"]] == [False, True]


@pytest.mark.parametrize(
    ("words_given", "told"),
    [
        (("deph=3",), "Did you mean depth?"),
        (("norm=prre",), "Did you mean pre?"),
        (("heads=3",), "heads=3: must divide width=16"),
        (("width=15", "heads=5"), "pos=rope: the number of rotated features must be even"),
        (("seed=0,1",), "add -m"),
        (("--jsn",), "Did you mean --json?"),
        (("--format", "yaml"), "invalid choice"),
        (("--config-dir", "nowhere"), "no such folder"),
        (("-m", "heads=2,3"), "heads=3"),
    ],
)
def test_mistakes_are_told_in_a_line(
    check: Any, tmp_path: Path, words_given: tuple[str, ...], told: str
) -> None:
    done = check(*words_given)
    assert done.code == 2
    assert told in done.err
    assert done.out == ""
    assert "Traceback" not in done.err
    assert len(done.err.strip().splitlines()) <= 2
    assert list(tmp_path.iterdir()) == []


def test_json_has_everything(check: Any) -> None:
    data = json.loads(check("pos=alibi", "--json").out)
    assert data["schema"] == 1
    (cell,) = data["cells"]
    assert set(cell) == {"name", "choices", "differs", "ok", "marks", "findings", "config"}
    assert cell["choices"]["pos"] == "alibi"
    assert cell["config"]["width"] == 16
    assert cell["marks"] == {"ok": len(NAMES), "warning": 0, "broken": 0}
    found = {finding["name"]: finding for finding in cell["findings"]}
    assert list(found) == NAMES
    for finding in found.values():
        assert set(finding) == {"name", "mark", "text", "values", "advice"}
    assert len(found["gradients"]["values"]["inputs"]) == 2
    assert found["first loss"]["values"]["excess"] == pytest.approx(
        found["first loss"]["values"]["loss"] - found["first loss"]["values"]["uniform"]
    )


def test_numbers_that_are_none_become_null(check: Any) -> None:
    done = check("norm=none", "init=gpt2", "init.std=1e30", "--json")
    assert done.code == 1
    (cell,) = json.loads(done.out)["cells"]
    assert cell["findings"][0]["values"]["loss"] is None


@pytest.mark.parametrize("place", [0, 2])
def test_a_grid_is_one_table(check: Any, place: int) -> None:
    given = ["norm=pre,none", "tied=true,false"]
    given.insert(place, "-m")
    done = check(*given)
    assert done.code == 0
    heading, *rows = done.out.split("\n\n")[0].splitlines()
    assert heading.split()[:4] == ["norm", "tied", "excess", "gradient"]
    assert [row.split()[:2] for row in rows] == [
        *(["pre", "true"], ["pre", "false"]),
        *(["none", "true"], ["none", "false"]),
    ]
    assert "! first loss" in rows[0]
    assert "! first loss in 2 of 4, try:" in done.out
    assert "checking 4 of 4: norm=none tied=false" in done.err


@pytest.mark.parametrize("width", [60, 100])
@pytest.mark.parametrize("given", [("tied=true",), ("-m", "norm=pre,none", "depth=1,2")])
def test_lines_fit_the_width(
    check: Any, monkeypatch: pytest.MonkeyPatch, width: int, given: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    done = check(*given)
    # The first line of a cell is the command line as it was typed.
    assert all(len(line) <= width for line in done.out.splitlines()[1:])
    monkeypatch.delenv("COLUMNS")
    words = check(*given).out.split()
    assert sorted(done.out.split()) == sorted(words)


def test_the_help_page_names_every_check(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main(["check", "--help"])
    assert left.value.code == 0
    page = capsys.readouterr().out
    assert all(f"  {name} " in page for name in NAMES)
    assert max(map(len, page.splitlines())) <= 100


class Told(Listener):
    """Keeps what it is warned of."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def warn(self, text: str) -> None:
        self.texts.append(text)


def do_run(directory: Path, words: Path) -> tuple[Record, list[str]]:
    """A short run with everything that draws numbers or keeps statistics."""
    composer, told = Composer(), Told()
    overrides = [
        *SMALL,
        *("corpus=text", f"corpus.files={words}", "steps=6", "evaluate.windows=4"),
        *("tied=true", "norm_layer=batchnorm", "dropout=0.2", "residual=stochastic_depth"),
        *("pos=randomized", "evaluate.batches=2", "log.every=1"),
    ]
    with composer.session():
        config, identity = composer.one(overrides)
    planned = PlannedRun(config, identity, directory)
    return run.execute(planned, [told], lambda: False), told.texts


def test_a_run_is_the_same_with_its_warnings_and_without(
    tmp_path: Path, words: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warned, texts = do_run(tmp_path / "warned", words)
    assert warned.status != "failed", warned.error
    assert "tied" in texts[0]
    assert "WARNING first loss" in (tmp_path / "warned" / "run.log").read_text()
    monkeypatch.setattr(run, "warnings", lambda bench: [])
    plain, silence = do_run(tmp_path / "plain", words)
    assert silence == []
    assert plain.loss == warned.loss
    assert plain.gradients == warned.gradients
    assert plain.extrapolation == warned.extrapolation
    assert plain.curve == warned.curve
    # A finished run has nothing more to be warned of.
    assert do_run(tmp_path / "warned", words)[1] == []
    logging.shutdown()


def test_check_tells_the_first_loss_that_a_run_has(check: Any, tmp_path: Path, words: Path) -> None:
    given = (
        *("tied=true", "norm_layer=batchnorm", "dropout=0.2", "residual=stochastic_depth"),
        "pos=randomized",
    )
    (cell,) = json.loads(check(*given, "--json").out)["cells"]
    record, _ = do_run(tmp_path / "run", words)
    values = cell["findings"][0]["values"]
    assert values["loss"] == pytest.approx(record.loss.first, rel=1e-6)
    gradients = cell["findings"][1]["values"]
    assert gradients["inputs"] == pytest.approx(record.gradients.inputs_first, rel=1e-5)
