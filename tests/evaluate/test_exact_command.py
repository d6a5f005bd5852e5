"""A generated task from the command line to its record, without any corpus."""

import json
import re
from pathlib import Path

import pytest

from ablate import cli
from tests.conftest import TINY, Command, later_wins

OWN_TASK = """
import numpy as np
from ablate.data.generated.generated_task import OWN, Example, GeneratedTask, ExampleLayout, asked


class Longest(GeneratedTask):
    name = "longest"

    def __init__(self, *, symbols: int, **sizes: int) -> None:
        layout, options = ExampleLayout(fixed=1, each=1, smallest=1), {"symbols": symbols}
        super().__init__(layout=layout, words=symbols, options=options, **sizes)

    def example(self, size: int, random: np.random.Generator) -> Example:
        text = OWN + random.integers(0, self.options["symbols"], size)
        return asked(text, text.max(keepdims=True), end=False)
"""


@pytest.fixture
def within(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ABLATE_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_a_run_is_trained_measured_and_measured_again(
    ablate: Command, within: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = later_wins(
        *TINY, "task=copy", "pos=learned", "depth=1", "evaluate.windows=20", "corpus=docs"
    )
    done = ablate("run", *line, env={"ABLATE_CACHE": str(within / "cache")})
    assert done.returncode == 0, done.stderr
    assert "corpus=docs is not read: task=copy makes up its own examples" in done.stderr
    assert "exact match by length (L = 16): L/2 0.0 %, L 0.0 %, 2L undefined" in done.stderr
    assert not (within / "cache").exists()

    (folder,) = (within / "outputs" / "default").glob("*task=copy*seed=0*")
    record = json.loads((folder / "record.json").read_text())
    assert record["status"] == "done"
    assert record["corpus"] == {
        "name": "copy(symbols=26)",
        "sha256": record["corpus"]["sha256"],
        "vocabulary": 29,
        "tokens_train": None,
        "tokens_validation": None,
    }
    extrapolation = record["extrapolation"]
    assert extrapolation["protocol"] == "exact-match"
    assert extrapolation["lengths"] == [8, 16, 32, 64, 128]
    for measure in ("accuracy", "exact"):
        undefined = [value is None for value in extrapolation[measure]]
        assert undefined == [False, False, True, True, True]
    assert record["loss"]["unigram"] == record["loss"]["unigram_train"] < record["loss"]["uniform"]

    assert cli.main(["evaluate", str(folder), "evaluate.lengths=[0.5,1]"]) == 0
    printed = capsys.readouterr().out.splitlines()
    heading = re.split(r"  +", printed[0].strip())
    assert heading[:4] == ["context", "accuracy", "as trained", "exact"]
    assert heading[4:7] == ["as trained", "nll", "retention"]
    for line, length, accuracy in zip(
        printed[1:3], ("8", "16"), extrapolation["accuracy"], strict=False
    ):
        assert line.split()[:3] == [length, f"{accuracy:.3f}", f"{accuracy:.3f}"]
    again = json.loads((folder / "record.json").read_text())
    (entry,) = again.pop("evaluations")
    assert again == record
    assert entry["extrapolation"]["exact"] == extrapolation["exact"][:2]
    assert entry["corpus"]["name"] == "copy(symbols=26)"

    assert cli.main(["sample", str(folder)]) == 2
    assert "copy(symbols=26) has tokens of its own and no text" in capsys.readouterr().err


def test_a_cell_of_any_task_can_be_checked(
    within: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = later_wins(*TINY, "depth=1", "task=copy,word_order,associative_recall", "seq_len=16")
    assert cli.main(["check", "-m", *tiny, "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert len(cells) == 3
    assert all(cell["ok"] for cell in cells)
    assert not (within / "cache").exists()


def test_a_task_that_does_not_fit_is_refused_before_anything_is_made(
    within: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", "task=passkey", "seq_len=8", "steps=1"]) == 2
    printed = capsys.readouterr().err
    assert "task=passkey: needs at least 11 tokens, more than seq_len=8" in printed
    assert list(within.iterdir()) == []


def test_a_task_of_ones_own_is_a_class_and_a_file(
    within: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (within / "my_own_task.py").write_text(OWN_TASK)
    (within / "mine" / "task").mkdir(parents=True)
    text = "# The largest. | max x | nobody\n_target_: my_own_task.Longest\nsymbols: 5\n"
    (within / "mine" / "task" / "longest.yaml").write_text(text)
    monkeypatch.syspath_prepend(within)
    line = later_wins(*TINY, "depth=1", "task=longest", "task.symbols=7")
    assert cli.main(["check", "--config-dir", "mine", *line, "--json"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert cell["ok"]
    assert cli.main(["check", "--config-dir", "mine", "task=longest", "task.symbol=7"]) == 2
    assert "symbol" in capsys.readouterr().err
