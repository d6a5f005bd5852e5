"""The command line: formats, widths, streams, exit codes, and what is imported."""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from ablate.shell.clean import clean
from tests.report.conftest import run_report as main

Factory = Callable[..., Path]
POSITIONS = ("none", "learned", "sinusoidal", "rope", "alibi")


@pytest.fixture
def study(outputs: Path, add_run: Factory) -> Path:
    """Ten arms of two seeds; one failed, one diverged, one damaged, one missing."""
    for index, pos in enumerate(POSITIONS):
        for norm in ("pre", "post"):
            for seed in (0, 1):
                accuracy: list[float | None] = [0.4, 0.45, 0.44, 0.41, 0.39 - index / 100]
                if pos == "learned":
                    accuracy[2:] = [None, None, None]
                add_run(
                    {"pos": pos, "norm": norm},
                    seed=seed,
                    loss__validation=2.0 + index / 10 + seed / 100 + (norm == "post"),
                    extrapolation__accuracy=accuracy,
                )
    root = outputs / "scout"
    change(root / "pos=none,norm=pre,seed=0", status="failed", error="RuntimeError: no memory [x]")
    change(root / "pos=none,norm=post,seed=1", status="diverged", label="diverged")
    damaged = root / "pos=rope,norm=post,seed=1" / "record.json"
    damaged.write_text(damaged.read_text()[:300])
    (root / "pos=rope,norm=pre,seed=7").mkdir()
    return root


def change(directory: Path, **parts: Any) -> None:
    path = directory / "record.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | parts))


def report(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run the report, which must succeed, and return stdout."""
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert code == 0, err
    return out


@pytest.fixture(autouse=True)
def no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("width", [40, 80, 100, 200])
def test_no_line_is_wider_than_asked_and_no_cell_is_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, study: Path, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = report(capsys, study)
    longest = max(out.split("\n"), key=cell_len)
    assert cell_len(longest) <= width, longest
    assert "…" not in out
    for text in ("sinusoidal", "±0.", "(1 of 2)", "undef.", "1 diverged", "1 failed", "2 healthy"):
        assert text in out
    assert out.count("±") == report_count(capsys, monkeypatch, study)


def report_count(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, study: Path
) -> int:
    """How many intervals the full-width table has: no width may lose one."""
    monkeypatch.delenv("COLUMNS")
    return report(capsys, study).count("±")


def test_the_wide_table_is_one_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, study: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    out = report(capsys, study)
    assert out.count("─\n") == 1
    monkeypatch.setenv("COLUMNS", "80")
    assert report(capsys, study).count("─\n") == 3


def test_long_settings_are_wrapped_and_not_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, add_run: Factory
) -> None:
    path = "/".join(["very_long_folder_name"] * 6)
    add_run({"corpus.files": path})
    run = add_run({"corpus.files": "other"}, seed=1)
    monkeypatch.setenv("COLUMNS", "80")
    out = report(capsys, run.parent)
    assert max(map(cell_len, out.split("\n"))) <= 80
    assert path in out.replace("\n    ", "")


def test_a_pipe_gets_full_rows_without_control_codes(
    capsys: pytest.CaptureFixture[str], study: Path
) -> None:
    out = report(capsys, study)
    assert "\x1b" not in out
    rows = [line for line in out.split("\n") if re.match(r"\w+ +(pre|post) ", line)]
    assert len(rows) == 10
    assert len({len(re.split(r" {2,}", row.strip())) for row in rows}) == 1


def test_the_first_line_and_the_legend(capsys: pytest.CaptureFixture[str], study: Path) -> None:
    out = report(capsys, study)
    assert out.startswith(
        "study scout: 21 runs (2 without a readable record), 10 arms, 2 seeds (0, 1); "
        "corpus stdlib; L = 64 tokens; ln V = 5.545 nats\n"
    )
    for words in (
        "only frequencies gets 3.300",
        "nats per token",
        "95 % t-interval",
        "one seed has no interval",
        "(k of n)",
    ):
        assert words in out


def test_numbers_in_the_table(capsys: pytest.CaptureFixture[str], study: Path) -> None:
    out = report(capsys, study)
    (row,) = re.findall(r"^learned +pre .*$", out, re.MULTILINE)
    cells = re.split(r" {2,}", row)
    assert cells[2:4] == ["2 done", "2 healthy"]
    first_step = ["1.19e-07 ×÷1.00", "▁▂▂▃▄▄▅▅▆▇▇█"]
    lengths = ["0.450 ±0.000", "undef.", "undef.", "undef."]
    for shown in (["2.105 ±0.064"], ["5.550 ±0.000"], first_step, lengths):
        start = cells.index(shown[0])
        assert cells[start : start + len(shown)] == shown
    (failed,) = re.findall(r"^none +pre .*$", out, re.MULTILINE)
    assert "1 done 1 failed" in failed
    assert "2.010 (1 of 2)" in failed


def test_what_went_wrong_is_listed(capsys: pytest.CaptureFixture[str], study: Path) -> None:
    out = report(capsys, study)
    left_out, troubled = out.split("Not in the table:\n")[1].split(
        "In the table, with a problem:\n"
    )
    assert "scout/pos=rope,norm=post,seed=1: record.json is damaged" in left_out
    assert "scout/pos=rope,norm=pre,seed=7: missing record.json" in left_out
    assert "scout/pos=none,norm=pre,seed=0: failed: RuntimeError: no memory [x]" in troubled


def test_markdown(capsys: pytest.CaptureFixture[str], study: Path, add_run: Factory) -> None:
    add_run({"pos": "rope", "norm": "a|b<c>"})
    out = report(capsys, study, "--format", "markdown")
    lines = [line for line in out.split("\n") if line.startswith("|")]
    assert len(lines) == 2 + 11
    assert len({line.replace("\\|", "").count("|") for line in lines}) == 1
    assert lines[0].startswith("| pos | norm | status | label | val. loss |")
    assert "a\\|b\\<c>" in out


def test_csv_has_full_precision_and_every_run(
    capsys: pytest.CaptureFixture[str], study: Path
) -> None:
    rows = list(csv.DictReader(io.StringIO(report(capsys, study, "--format", "csv"))))
    assert len(rows) == 12
    learned = next(row for row in rows if row["pos"] == "learned" and row["norm"] == "pre")
    assert float(learned["val_loss_mean"]) == pytest.approx(2.105, abs=1e-12)
    assert float(learned["val_loss_half_width"]) == pytest.approx(12.706204736 * 0.005)
    assert (learned["val_loss_n"], learned["runs"], learned["seeds"]) == ("2", "2", "0 1")
    assert (learned["acc_8L_mean"], learned["acc_8L_n"]) == ("", "0")
    assert "grad_ratio_factor" in learned
    failed = next(row for row in rows if row["pos"] == "none" and row["norm"] == "pre")
    assert failed["status"] == "1 done, 1 failed"
    assert "no memory" in failed["problem"]
    assert [row["run"] for row in rows if row["run"]] == [
        "scout/pos=rope,norm=post,seed=1",
        "scout/pos=rope,norm=pre,seed=7",
    ]


def test_csv_of_runs_has_a_row_a_run(capsys: pytest.CaptureFixture[str], study: Path) -> None:
    out = report(capsys, study, "--runs", "--format", "csv", "--sort", "pos,-seed")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 21
    assert (rows[0]["pos"], rows[0]["seed"], rows[0]["run"]) == (
        "alibi",
        "1",
        "scout/pos=alibi,norm=pre,seed=1",
    )
    assert float(rows[0]["val_loss"]) == pytest.approx(2.41, abs=1e-12)


def test_json_is_standard_and_complete(capsys: pytest.CaptureFixture[str], study: Path) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    content = json.loads(report(capsys, study, "--json"), parse_constant=refuse)
    assert (content["runs"], content["arms"], content["seeds"]) == (21, 10, [0, 1])
    assert content["ln_vocabulary"] == [pytest.approx(5.545177444)]
    assert len(content["rows"]) == 10
    learned = next(row for row in content["rows"] if row["keys"]["pos"] == "learned")
    assert learned["measures"]["val_loss"]["n"] == 2
    assert learned["measures"]["acc_8L"] == {
        "mean": None,
        "half_width": None,
        "n": 0,
        "seeds": 0,
        "undefined": True,
    }
    assert len(learned["gradient_profile"]) == 12
    assert len(content["not_in_table"]) == 2
    assert content["problems"][0]["problem"] == "failed: RuntimeError: no memory [x]"


def test_by_where_and_sort_on_the_command_line(
    capsys: pytest.CaptureFixture[str], study: Path
) -> None:
    out = report(
        capsys, study, "--by", "pos", "--where", "norm=pre", "seed=0", "--sort", "-acc_8L", "--json"
    )
    content = json.loads(out)
    assert content["rows_are"] == "group"
    assert [row["keys"]["pos"] for row in content["rows"]] == [
        "none",
        "sinusoidal",
        "rope",
        "alibi",
        "learned",
    ]


def test_a_column_that_is_sorted_by_is_shown(
    capsys: pytest.CaptureFixture[str], study: Path
) -> None:
    assert "time, s" not in report(capsys, study)
    out = report(capsys, study, "--sort", "seconds")
    assert "time, s: wall time of the run, seconds" in out
    assert "42.0" in out


def test_output_goes_to_a_file_in_the_format_of_its_name(
    capsys: pytest.CaptureFixture[str], study: Path, tmp_path: Path
) -> None:
    for name, beginning in (
        ("r.md", "**study"),
        ("r.csv", "pos,"),
        ("r.json", "{"),
        ("r.txt", "st"),
    ):
        assert report(capsys, study, "--output", tmp_path / name) == ""
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(beginning)
    report(capsys, study, "-o", tmp_path / "r.md", "--format", "csv")
    assert (tmp_path / "r.md").read_text(encoding="utf-8").startswith("pos,")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--by", "poss"], "did you mean pos?"),
        (["--where", "pos=rpoe"], "did you mean rope?"),
        (["--sort", "vall_loss"], "did you mean val_loss?"),
        (["--frmat", "csv"], "Did you mean --format?"),
        (["--format", "xml"], "choose from"),
        (["--sort"], "expected one argument"),
        (["nowhere"], "does not exist"),
        (["--runs", "--by", "pos"], "choose one"),
        (["--output", "no/such/folder/r.csv"], "No such file"),
    ],
)
def test_mistakes_exit_2_in_at_most_two_lines(
    capsys: pytest.CaptureFixture[str], study: Path, arguments: list[str], words: str
) -> None:
    assert main(["--outputs", str(study.parent), *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert 1 <= err.count("\n") <= 2


def test_no_runs_says_what_to_do(capsys: pytest.CaptureFixture[str], outputs: Path) -> None:
    assert main(["--outputs", str(outputs)]) == 2
    assert "`ablate run`" in capsys.readouterr().err


def test_help_names_the_columns(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    out = capsys.readouterr().out
    for key in ("val_loss", "grad_ratio", "acc_8L", "warmup.steps", "--by", "--runs"):
        assert key in out


def test_notes_go_to_stderr(capsys: pytest.CaptureFixture[str], study: Path) -> None:
    assert main([str(study), "--json"]) == 0
    out, err = capsys.readouterr()
    json.loads(out)
    assert err.startswith("ablate report: 2 without a readable record: scout/pos=rope")


def test_names_cannot_write_markup_or_control_codes(
    capsys: pytest.CaptureFixture[str], add_run: Factory, outputs: Path
) -> None:
    add_run({"pos": "rope", "note": "[bold red]x[/]"})
    add_run({"pos": "rope", "note": "\x1b[31mred\ud800\u202e"}, error=":boom: [/nothing]")
    out = report(capsys, outputs)
    assert "[bold red]x[/]" in out
    assert ":boom: [/nothing]" in out
    assert not any(char in out for char in "\x1b\ud800\u202e")
    assert clean("a\tb\r\n") == "a b  "


def run_python(
    code: str, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        capture_output=True,
        env=kept | environment,
        timeout=60,
        check=False,
    )


RUN = "import sys; from ablate.cli import main; sys.exit(main(['report', *sys.argv[1:]]))"


def test_a_report_imports_nothing_heavy(study: Path) -> None:
    """numpy, for counts of runs that failed, only where one did."""
    shutil.rmtree(study / "pos=none,norm=post,seed=1")
    code = (
        "import sys; from ablate.report.command import main; main(sys.argv[1:]);"
        "heavy = {'torch', 'datasets', 'hydra', 'omegaconf', 'numpy', 'scipy', 'matplotlib'};"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    done = run_python(code, str(study))
    assert done.returncode == 0, done.stderr


def test_another_encoding_is_no_traceback(study: Path) -> None:
    done = run_python(RUN, str(study), PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    assert b"2.105 +-0.064" in done.stdout
    assert b"?" not in done.stdout


def test_a_reader_that_leaves_is_no_traceback(study: Path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", RUN, str(study), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert writer.stdout is not None
    assert writer.stderr is not None
    with writer.stdout, writer.stderr:
        writer.stdout.read(1)
        writer.stdout.close()
        assert b"Traceback" not in writer.stderr.read()
    writer.wait(timeout=60)


@pytest.mark.parametrize("plain", [True, False])
def test_a_terminal_gets_modest_colours_unless_told_not_to(study: Path, plain: bool) -> None:
    environment = {"NO_COLOR": "1"} if plain else {}
    done = run_python(RUN, str(study), FORCE_COLOR="1", TERM="xterm-256color", **environment)
    codes = set(re.findall(rb"\x1b\[([0-9;]*)m", done.stdout))
    assert (b"31" in codes) is not plain


def test_a_thousand_records(
    capsys: pytest.CaptureFixture[str], outputs: Path, add_run: Factory
) -> None:
    for index in range(250):
        for seed in range(4):
            add_run({"lr": index / 1e4 + 1e-4}, seed=seed, loss__validation=2 + index / 1e3)
    out = report(capsys, outputs)
    assert out.startswith("study scout: 1000 runs, 250 arms, 4 seeds")
    assert len(re.findall(r"^\S+ +4 done ", out, re.MULTILINE)) == 250
