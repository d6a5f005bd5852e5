"""Study files: arms as rows, a grid, seeds; what makes no sense is left out with a reason."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from ablate.cli import main
from ablate.config.catalogue import STUDIES, Catalogue
from ablate.config.compose import Composer
from ablate.errors import UserError
from ablate.record import disk, study_note
from ablate.record.record import Record
from ablate.run.planned import PlannedRun
from ablate.sweep.arguments import separate
from ablate.sweep.plan import Product
from ablate.sweep.study_file import read
from ablate.sweep.study_plan import StudyRuns
from tests.conftest import TINY

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write mine.yaml and return its path."""

    def write(text: str) -> str:
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        return str(path)

    return write


def planned(*words: str) -> list[PlannedRun]:
    given = separate(["--study", *words])
    return StudyRuns(given, Composer(given.folders)).plan()


def names(plan: list[PlannedRun]) -> set[str]:
    return {p.identity.name for p in plan}


def test_a_study_is_the_product_of_its_arms_its_grid_and_its_seeds(write: Write) -> None:
    path = write(
        "# Why? | because\nsettings: depth=2\n"
        "arms: [norm=pre, norm=post warmup=linear warmup.steps=5]\n"
        "grid: {lr: [3e-4, 0.001], tied: [true]}\nseeds: 1..3\n"
    )
    plan = planned(path)
    common = ["depth=2", "lr=3e-4,0.001", "tied=true", "seed=range(1,4)", "-m"]
    by_hand = [
        *Product(separate(["norm=pre", *common]), Composer()).plan(),
        *Product(
            separate(["norm=post", "warmup=linear", "warmup.steps=5", *common]), Composer()
        ).plan(),
    ]
    assert names(plan) == names(by_hand)
    assert len(plan) == 12
    assert {p.config["study"] for p in plan} == {"mine"}
    assert read(Path(path)).question == "Why?"


def test_the_command_line_stands_in_place_of_settings_grid_and_seeds(write: Write) -> None:
    path = write(
        "settings: depth=2 heads=2\narms: [norm=pre, norm=post]\ngrid: {lr: [1, 2]}\nseeds: 5"
    )
    plan = planned(path, "depth=3", "lr=3,4,5", "seed=0..1", "study=other")
    assert {p.config["depth"] for p in plan} == {3}
    assert {(p.config["lr"], p.config["seed"]) for p in plan} == {
        (lr, seed) for lr in (3.0, 4.0, 5.0) for seed in (0, 1)
    }
    assert {p.config["study"] for p in plan} == {"other"}
    assert len(plan) == 12


def test_numbers_are_those_that_the_file_has(write: Write) -> None:
    path = write("grid: {pos.base: [1234567.0, 1234568.0, 10000.0], lr: [0.00123456789]}")
    plan = planned(path)
    assert [p.config["pos"]["base"] for p in plan] == [1234567.0, 1234568.0, 10000.0]
    assert {type(p.config["pos"]["base"]) for p in plan} == {float}
    assert {p.config["lr"] for p in plan} == {0.00123456789}
    assert "pos.base=1234568.0,lr=0.00123456789," in plan[1].identity.name
    assert len({p.identity.arm.rsplit("-", 1)[0] for p in plan}) == 3


def test_a_rule_tells_numbers_apart_by_every_digit(write: Write) -> None:
    path = write(
        "grid: {lr: [0.00123456789, 0.00123456788]}\n"
        "skip: [{when: {lr: 1.23456789e-3}, because: x}]"
    )
    assert [p.config["lr"] for p in planned(path)] == [0.00123456788]


def test_rules_leave_out_what_they_name(write: Write) -> None:
    path = write(
        "grid: {norm: [pre, post], lr: [1e-3, 3e-3], depth: [2, 3]}\n"
        "skip:\n- {when: {norm: post, lr: 0.003, depth: [3]}, because: it never learns}\n"
    )
    runs = StudyRuns(separate(["--study", path]), Composer())
    assert len(runs.plan()) == 7
    ((because, (skipped,)),) = runs.by_rule.items()
    assert because == "it never learns"
    assert skipped.config["lr"] == 0.003
    assert skipped.identity.choices["norm"] == "post"
    assert skipped.config["depth"] == 3


def test_a_rule_that_leaves_out_nothing_is_told(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(
        "grid: {depth: [3, 4]}\narms: [norm=pre tied=true, norm=post]\n"
        "skip: [{when: {norm: post, tied: on, depth: [3, 4]}, because: x}]"
    )
    assert len(StudyRuns(separate(["--study", path]), Composer()).plan()) == 4
    assert capsys.readouterr().err == f"{path}: skip: no run has norm=post tied=on depth=3,4\n"


def test_a_rule_may_name_a_value_that_the_command_line_took_away(write: Write) -> None:
    path = write("grid: {task: [lm, mlm], depth: [2, 3]}\nskip: [{when: {task: mlm}, because: x}]")
    assert len(planned(path, "task=lm")) == 2


def test_a_file_means_what_the_command_line_means(write: Write) -> None:
    path = write(
        "settings: study='2024_10_01' corpus=text corpus.files='[my book.txt]'\n"
        "grid: {residual: [on, off], tied: [off], pos.base: [1e4, 1_0], kv_heads: [null]}\n"
        "seeds: [010, 9]\n"
        "skip: [{when: {residual: off, seed: 010, tied: off}, because: x}]"
    )
    plan = planned(path)
    assert {p.config["study"] for p in plan} == {"2024_10_01"}
    assert {p.config["seed"] for p in plan} == {10, 9}
    assert {p.config["pos"]["base"] for p in plan} == {10000.0, 10}
    assert plan[0].config["corpus"]["files"] == ["my book.txt"]
    pairs = Counter((p.identity.choices["residual"], p.config["seed"]) for p in plan)
    assert pairs == {("on", 9): 2, ("on", 10): 2, ("off", 9): 2}


def test_a_text_of_a_grid_is_one_value_whatever_it_holds(write: Write) -> None:
    texts = ["a,b", "it's", "x=1", "[1", "größe", ""]
    path = write(yaml.safe_dump({"grid": {"corpus": ["hub"], "corpus.subset": texts}}))
    assert [p.config["corpus"]["subset"] for p in planned(path)] == texts


MISTAKES = {
    "[": ["cannot be read"],
    "seeds: 3": ["arms: or grid:"],
    "arms: [norm=pre]\ngird: {}": ["gird", "Did you mean grid?"],
    "arms: norm=pre": ["arms:", "list of rows"],
    "arms: [norm]": ["arms: norm", "KEY=VALUE"],
    "arms: [norm=pre norm=post]": ["norm is given twice"],
    "arms: [norm=prenorm]": ["mine.yaml: norm=prenorm", "Did you mean pre?"],
    "arms: [norm=pre]\ngrid: {norm: [post]}": ["norm", "the grid cannot"],
    "grid: {lr: 3}": ["grid:", "KEY: [A, B]"],
    "grid: {lrr: [3]}": ["lrr", "Did you mean lr?"],
    "arms: [norm=pre]\narms: [norm=post]": ["arms is given twice, again in line 2"],
    "grid: {lr: []}": ["grid:", "KEY: [A, B]"],
    "arms: [norm=pre]\nsettings: {depth: 2}": ["settings:", "depth=12"],
    "arms: [norm=pre]\nseeds: 4..0": ["seed=4..0: must go up, as seed=0..4 does"],
    "arms: [norm=pre]\nskip: 3": ["skip: must be a list"],
    "arms: [norm=pre]\nseeds: few": ["seeds=few", "0..4"],
    "arms: [norm=pre]\nskip: [{when: {norm: pre}}]": ["skip", "because"],
    "arms: [norm=pre]\nskip: [{when: {norm: pots}, because: x}]": ["norm=pots", "there is pre"],
    "grid: {depth: [2, 3]}\nskip: [{when: {depth: 0x2}, because: x}]": ["depth=0x2", "2, 3"],
    "grid: {residual: [on, no]}": ["residual=no", "no such choice"],
    "grid: &a {norm: [pre], depth: *a}": ["*a in line 1"],
    "grid: {norm: [pre, ]}\nseeds: 0x10": ["seeds=0x10"],
    'arms: ["study=\'a"]': ["No closing quotation"],
    "arms: [norm=pre]\nskip: [{when: {nrm: pre}, because: x}]": ["nrm", "Did you mean norm?"],
    "arms: [norm=pre]\nskip: [{when: {norm: pre}, because: x}]": ["leave no run"],
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_in_a_study_is_told_and_creates_nothing(
    text: str,
    write: Write,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = write(text)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--study", path]) == 2
    message = capsys.readouterr().err
    assert len(message.splitlines()) == 1
    assert all(part in message for part in MISTAKES[text]), message
    assert [p.name for p in tmp_path.iterdir()] == ["mine.yaml"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["warmpu"], "Did you mean warmup?"),
        (["nowhere.yaml"], "no such file"),
        ([], "needs a value"),
        (["warmup", "norm=pre"], "the command line cannot"),
        (["warmup", "--cfg", "job"], "--cfg and --info are for one"),
    ],
)
def test_a_study_that_cannot_be_run(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--study", *words]) == 2
    assert told in capsys.readouterr().err


def corpus(words: Path) -> list[str]:
    return ["corpus=text", f"corpus.files={words}", "evaluate.windows=4", "evaluate.batches=2"]


def test_parts_that_do_not_go_together_are_left_out_and_told(
    write: Write, words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("grid: {pos: [rope, xpos], task: [lm, mlm]}\nseeds: 0..1")
    line = ["--study", path, *TINY, *corpus(words), f"outputs={tmp_path}/out"]
    runs = StudyRuns(separate(line), Composer())
    left = runs.settle(runs.plan())
    assert {(p.identity.choices["pos"], p.identity.choices["task"]) for p in left} == {
        ("rope", "lm"),
        ("rope", "mlm"),
        ("xpos", "lm"),
    }
    assert "left out: 2 runs (pos=xpos" in capsys.readouterr().err
    noted = yaml.safe_load((tmp_path / "out" / "mine" / study_note.FILE).read_text())
    assert len(noted["runs"]) == 6
    (reason,) = noted["skipped"]
    assert "causal" in reason["because"]
    assert len(reason["runs"]) == 2
    assert "--study" in noted["command"]


def test_a_study_whose_other_runs_are_done_has_nothing_to_do(
    write: Write, words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("grid: {pos: [rope, xpos], task: [lm, mlm]}")
    line = ["--study", path, *TINY, *corpus(words), f"outputs={tmp_path}/out"]
    for planned in StudyRuns(separate(line), Composer()).plan():
        if planned.identity.choices != {**planned.identity.choices, "pos": "xpos", "task": "mlm"}:
            planned.directory.mkdir(parents=True)
            record = Record(status="done", config=planned.config, choices=planned.identity.choices)
            disk.write(planned.directory, record)
    assert main(["run", *line]) == 0
    told = capsys.readouterr().err
    assert "left out: 1 run (pos=xpos" in told
    assert "Nothing to do: 3 done" in told


@pytest.mark.parametrize("arms", ["[pos=rope, pos=rope pos.layout=wrong]", "[pos=xpos, pos=rope]"])
def test_a_setting_that_no_run_can_be_built_with_is_a_mistake(
    write: Write, words: Path, tmp_path: Path, arms: str
) -> None:
    path = write(f"settings: task=mlm\narms: {arms}")
    line = ["--study", path, *TINY, *corpus(words), f"outputs={tmp_path}/out"]
    runs = StudyRuns(separate(line), Composer())
    with pytest.raises(UserError, match="pos"):
        runs.settle(runs.plan())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", Catalogue().names(STUDIES))
def test_a_shipped_study_can_be_planned(name: str) -> None:
    choice = Catalogue().choice(STUDIES, name)
    assert choice is not None
    assert choice.summary.endswith("?")
    runs = planned(name)
    assert int(choice.facts["runs"].split(",")[0]) == len(runs)
    arms = Counter(run.identity.arm for run in runs)
    assert min(arms.values()) >= 5  # seeds; with three no count of failures can be decided


def test_a_study_of_the_users_own_is_found_and_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "two.yaml").write_text("# Mine?\narms: [pos=none, pos=rope task=lm]\n")
    assert {p.identity.choices["pos"] for p in planned("two", "--config-dir", str(tmp_path))} == {
        "none",
        "rope",
    }
    assert main(["list", "study", "--config-dir", str(tmp_path)]) == 0
    assert "Mine?" in capsys.readouterr().out
    assert main(["list", "study=two", "--config-dir", str(tmp_path)]) == 0
    assert "ablate run --study two" in capsys.readouterr().out


def test_seeds_may_be_a_range() -> None:
    given = separate(["-m", "seed=3..5", "depth=2"])
    assert [job[0] for job in Composer().jobs(given.overrides, sweep=True)] == [
        "seed=3",
        "seed=4",
        "seed=5",
    ]
    with pytest.raises(UserError, match="must go up"):
        Composer().jobs(separate(["seed=5..3"]).overrides, sweep=True)
    for wrong in ("seed=0..", "seed=..4", "seed=0..x"):
        with pytest.raises(UserError, match="a range is two whole numbers"):
            separate([wrong])


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("-pos=rope", "write pos=rope"),
        ("--seed=0,1", "write seed=0,1"),
        ("--confg=job", "no such flag"),
        ("-x", "no such flag"),
    ],
)
def test_a_setting_has_no_dash(word: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        separate(["-m", word])
