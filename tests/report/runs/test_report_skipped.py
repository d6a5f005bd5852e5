"""What a study left out is told with its reason; a note that cannot be read is no mistake."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.report.conftest import run_report as main

Factory = Callable[..., Path]
NOTE = """\
file: scout.yaml
runs:
- pos=rope,seed=0
skipped:
- because: "pos=rope: an odd \x1b[31m<b>head</b>"
  runs:
  - pos=rope,heads=3,seed=0
  - pos=rope,heads=3,seed=1
- because: not asked
  runs:
  - pos=none,seed=0
"""


def report(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def test_what_a_study_left_out_is_told_in_every_format(
    capsys: pytest.CaptureFixture[str], add_run: Factory, tmp_path: Path
) -> None:
    study = add_run({"pos": "rope"}).parent
    add_run({"pos": "none"})
    (study / "study.yaml").write_text(NOTE.replace("\x1b", "\\e"), encoding="utf-8")
    line = "2 runs left out of study scout: pos=rope: an odd �[31m<b>head</b>"
    for told in (report(capsys, study), report(capsys, study, "--format", "markdown")):
        assert line.replace("<", "\\<").replace("[", "\\[") in told or line in told
        assert "1 run left out of study scout: not asked (pos=none,seed=0)" in told
    content = json.loads(report(capsys, study, "--json"))["left_out_of_studies"]
    assert [(one["because"][:8], len(one["runs"])) for one in content] == [
        ("pos=rope", 2),
        ("not aske", 1),
    ]
    page = tmp_path / "page.html"
    report(capsys, study, "-o", page)
    assert "2 runs left out of study scout" in page.read_text("utf-8")
    assert "<b>head" not in page.read_text("utf-8")


@pytest.mark.parametrize(
    "note",
    ["", "skipped: 3", "a: 1\nskipped:\n- 3\n- {runs: 4}\n", "a: 1\nskipped:\n- [", "\x00", "- 1"],
)
def test_a_note_of_another_shape_says_nothing(
    capsys: pytest.CaptureFixture[str], add_run: Factory, note: str
) -> None:
    study = add_run().parent
    (study / "study.yaml").write_bytes(note.encode() + b"\xff" * (note == ""))
    assert "Left out" not in report(capsys, study)


def test_every_arm_stands_beside_a_baseline_that_was_asked_for(
    capsys: pytest.CaptureFixture[str], add_run: Factory
) -> None:
    for place, (pos, norm) in enumerate(
        [(p, n) for p in ("rope", "none") for n in ("pre", "post")]
    ):
        for seed in range(3):
            loss = 2.0 + 0.1 * place + 0.001 * ((seed * (place + 1)) % 3)
            run = add_run({"pos": pos, "norm": norm}, seed=seed, loss__validation=loss)
    assert "Arm by arm" not in report(capsys, run.parent)
    shown = report(capsys, run.parent, "--baseline", "pos=none,norm=pre")
    told = " ".join(shown.split("Arm by arm")[1].split())  # wherever lines are wrapped
    assert "- pos=rope norm=pre: −0.199 nats [−0.20" in told
    assert told.count(" by Holm: ") == 3
    assert ": better" in told
