"""What the report says on the command line: sections, options, formats, and in how many lines."""

import cProfile
import json
import pstats
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.report.conftest import run_report as main

Factory = Callable[..., Path]
NOISE = [0.004, -0.003, 0.001, 0.002]


@pytest.fixture(autouse=True)
def no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


def loss(pos: str, norm: str, seed: int) -> float:
    return 2 + 0.3 * (norm == "post") + NOISE[(seed + len(pos) + len(norm)) % 4]


@pytest.fixture
def study(outputs: Path, add_run: Factory) -> Path:
    """Two factors of which norm matters, each arm at two learning rates, four seeds."""
    words = {"name": "stuck", "evidence": "label <b>", "cause": "lr", "advice": "a smaller lr"}
    found = words | {"remedies": []}
    for pos in ("rope", "alibi", "none"):
        for norm in ("pre", "post"):
            for lr in (0.001, 0.003):
                for seed in range(4):
                    add_run(
                        {"pos": pos, "norm": norm, "lr": lr},
                        seed=seed,
                        loss__validation=loss(pos, norm, seed),
                        diagnosis=[found] if norm == "post" else [],
                    )
    return outputs / "scout"


def report(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert code == 0, err
    return out


def test_the_terminal_says_what_mattered_above_the_table(
    capsys: pytest.CaptureFixture[str], study: Path
) -> None:
    out = report(capsys, study)
    start, said = out.split("What it says\n")
    assert start.startswith("study scout: ")
    assert start.count("\n") == 2
    said, table = said.split("\n\n", 1)
    assert said.startswith(
        "val_loss, lower is better, against pos=rope norm=pre lr=0.001 (the arm nearest to the"
        " defaults); differences are paired by seed"
    )
    assert "what mattered:\n- norm=post is worse than norm=pre by 0.300 nats [0.29" in said
    assert "what did not:\n- " in said
    assert "how they start:\n- " in said
    assert len(said.splitlines()) < 24
    legend, diagnosis = table.split("\n\nDiagnosis\n")
    assert "val. loss: " in legend
    assert diagnosis.startswith("- stuck in 24 of 24 runs (6 arms, ")


def test_simple_effects_are_a_table_and_can_be_asked_for(
    capsys: pytest.CaptureFixture[str], outputs: Path, add_run: Factory
) -> None:
    for norm in ("pre", "post"):
        for warmup in ("none", "linear"):
            for seed in range(4):
                cold = (norm, warmup) == ("post", "none")
                add_run(
                    {"norm": norm, "warmup": warmup},
                    seed=seed,
                    loss__validation=2 + cold + NOISE[(seed + len(norm) + len(warmup)) % 4],
                )
    out = report(capsys, outputs / "scout")
    assert "1 interaction and 4 simple effects together" in out
    assert "what norm=post does against norm=pre depends on warmup: worse by 1.00" in out
    table = out.split("\n\nSimple effects\n")[1]
    assert re.search(r"norm=post +norm=pre +warmup=none +\+1\.00\d +\[.*\] +4 +worse\n", table)
    asked = report(capsys, outputs / "scout", "--within", "norm=post")
    within = asked.split("\n\nWithin norm=post\n")[1].split("\n\n")[0]
    assert re.search(r"warmup=linear +warmup=none +norm=post +−1\.00", within)
    assert "Within norm=post" in report(
        capsys, outputs / "scout", "--within", "norm=post", "--format", "html"
    )
    assert main([str(outputs / "scout"), "--within", "norm=peri"]) == 2
    assert "--within norm=peri: no run has it; norm is " in capsys.readouterr().err


def test_of_one_arm_the_start_is_told(capsys: pytest.CaptureFixture[str], add_run: Factory) -> None:
    run = add_run()
    add_run(seed=1)
    out = report(capsys, run.parent)
    assert "What it says\nhow they start:\n- gradient over depth at the first step" in out
    assert "what mattered" not in out


def test_by_compares_groups_with_a_named_baseline(
    capsys: pytest.CaptureFixture[str], study: Path
) -> None:
    out = report(capsys, study, "--by", "norm", "--baseline", "norm=post", "--margin", "0.1")
    assert "against norm=post (--baseline)" in out
    assert "verdicts need more than 0.1 nats" in out
    assert "norm=pre is better than norm=post by 0.300 nats" in out


def test_the_metric_is_any_column_that_can_be_better(
    capsys: pytest.CaptureFixture[str], study: Path
) -> None:
    out = report(capsys, study, "--metric", "acc_4L")
    assert "acc_4L, higher is better" in out
    assert "what mattered: nothing that these runs could show" in out


def test_a_chosen_learning_rate_leaves_its_seeds_out_of_the_table_too(
    capsys: pytest.CaptureFixture[str], study: Path
) -> None:
    out = report(capsys, study, "--choose", "lr", "--selection-seeds", "0,2")
    assert out.startswith("study scout: 12 runs, 6 arms, 2 seeds (1, 3)")
    assert "lr was chosen for each arm by its validation loss on seed 0, 2" in out
    content = json.loads(report(capsys, study, "--choose", "lr", "--json"))
    assert content["seeds"] == [1, 2, 3]
    assert {choice["seeds"][0] for choice in content["analysis"]["choices"]} == {0}


def test_the_ledger_tells_what_is_alike_once(
    capsys: pytest.CaptureFixture[str], study: Path
) -> None:
    assert "Fairness ledger" not in report(capsys, study)
    out = report(capsys, study, "--ledger").split("Fairness ledger\n")[1]
    assert out.startswith("alike for all arms: parameters 1,234,567; flops/token 7,400,000; tok")
    assert (
        len(re.findall(r"^- pos=.* norm=.* lr=.*: lr 0.00.*; seeds 0, 1, 2, 3; ", out, re.M)) == 12
    )
    assert "0 differences beyond the factors" in out


def test_json_has_the_analysis_and_csv_is_the_table_alone(
    capsys: pytest.CaptureFixture[str], study: Path
) -> None:
    analysis = json.loads(report(capsys, study, "--json"))["analysis"]
    assert (analysis["metric"], analysis["unit"], analysis["margin"]) == ("val_loss", "nats", 0.02)
    assert analysis["factors"] == ["pos", "norm", "lr"]
    effect = next(one for one in analysis["effects"] if one["name"] == "norm=post")
    assert effect["verdict"] == "worse"
    assert effect["difference"]["mean"] == pytest.approx(0.3)
    assert {one["kind"] for one in analysis["sentences"]} >= {"mattered", "no difference"}
    assert len(analysis["ledger"]) == 12
    assert "mattered" not in report(capsys, study, "--format", "csv")


def test_markdown_has_lists_and_no_markup_from_records(
    capsys: pytest.CaptureFixture[str], study: Path
) -> None:
    out = report(capsys, study, "--format", "markdown", "--ledger")
    assert "\n**What it says**\n\nval\\_loss, lower" in out
    assert "\nwhat mattered:\n\n- norm=post is worse than norm=pre" in out
    assert "\n**Fairness ledger**\n" in out
    assert "label \\<b>" in out


@pytest.mark.parametrize("width", [40, 90])
def test_no_line_is_wider_than_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, study: Path, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = report(capsys, study, "--ledger")
    assert max(map(cell_len, out.splitlines())) <= width


def test_the_work_grows_in_proportion_to_the_runs(
    capsys: pytest.CaptureFixture[str], outputs: Path, add_run: Factory
) -> None:
    def calls(study: str, arms: int) -> int:
        for arm in range(arms):
            for seed in range(2):
                add_run({"lr": (arm + 1) / 1e4, "depth": 4}, study=study, seed=seed)
        profile = cProfile.Profile()
        profile.runcall(report, capsys, outputs / study)
        return pstats.Stats(profile).total_calls

    few, many = calls("few", 25), calls("many", 100)
    assert many < 5 * few


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--metric", "vall_loss"], "did you mean val_loss?"),
        (["--margin", "-1"], "must be a number above 0"),
        (["--baseline", "pos=t5"], "no arm has it; there are"),
        (["--choose", "depth"], "does not differ"),
        (["--choose", "lr", "--selection-seeds", "7"], "no run has this seed; there are 0, 1"),
        (["--choose", "lr", "--selection-seeds", "0,1,2,3"], "leaves no seed to report"),
        (["--selection-seeds", "0"], "--selection-seeds: needs --choose"),
    ],
)
def test_mistakes_are_told_in_a_line(
    capsys: pytest.CaptureFixture[str], study: Path, arguments: list[str], words: str
) -> None:
    assert main([str(study), *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert 1 <= err.count("\n") <= 2


def test_two_seeds_say_what_would_tell_how_many_decide(
    capsys: pytest.CaptureFixture[str], add_run: Factory
) -> None:
    for pos, losses in {"rope": (2.5, 2.6), "alibi": (2.52, 2.5)}.items():
        for seed, loss in enumerate(losses):
            run = add_run({"pos": pos}, seed=seed, loss__validation=loss)
    out = report(capsys, run.parent)
    assert "2 seeds paired, which are few; with three seeds or more it is told how many" in out
