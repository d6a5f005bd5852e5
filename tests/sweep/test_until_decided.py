"""Runs until decided: planned looks, on disk, stopped anywhere, by several processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ablate.cli import main
from ablate.config.compose import Composer
from ablate.errors import UserError
from ablate.record import disk, look_note
from ablate.record.look_note import LookNote
from ablate.record.record import Loss, Record
from ablate.run.planned import PlannedRun
from ablate.run.stop import Stop
from ablate.sweep import command
from ablate.sweep.arguments import separate
from ablate.sweep.plan import Product
from ablate.sweep.study_file import read
from ablate.sweep.until_decided import Looks, begin, follow
from tests.conftest import TINY, Command

NOISE = [0.003, -0.004, 0.001, 0.002, -0.002, 0.004, -0.001, 0.0, 0.0015, -0.003]
TRUE = {"rope": 0.0, "none": 0.5, "alibi": 0.01, "learned": 0.02}


def loss(pos: str, seed: int) -> float:
    noise = NOISE[(seed + 3 * list(TRUE).index(pos)) % 10]
    return 2 + TRUE[pos] + seed / 10 + (noise if pos == "learned" else noise / 3)


def finish(planned: PlannedRun) -> None:
    pos, seed = planned.identity.choices["pos"], planned.config["seed"]
    record = Record(
        study=planned.config["study"],
        name=planned.identity.name,
        arm=planned.identity.arm,
        seed=seed,
        status="done",
        label="healthy",
        choices=planned.identity.choices,
        config=planned.config,
        loss=Loss(validation=loss(pos, seed)),
    )
    planned.directory.mkdir(parents=True, exist_ok=True)
    disk.write(planned.directory, record)


Do = Callable[[Sequence[PlannedRun], str], dict[str, str]]


def do_wanted(plan: Sequence[PlannedRun], about: str = "") -> dict[str, str]:
    """Do what is wanted, in no time."""
    for planned in plan:
        if planned.wanted():
            finish(planned)
    return {}


@pytest.fixture(scope="module")
def composed() -> tuple[list[PlannedRun], LookNote]:
    """Four position schemes with all seeds that they may need, and the plan."""
    arguments = separate(["-m", *TINY, f"pos={','.join(TRUE)}", "--until-decided"])
    composer = Composer()
    asked, note = begin(Product(arguments, composer), arguments, composer)
    return asked.plan(), note


class Sweep:
    """A sweep until decided in a folder, that can be started again and again."""

    def __init__(self, composed: tuple[list[PlannedRun], LookNote], folder: Path) -> None:
        plan, self.note = composed
        self.folder = folder
        self.plan = [
            replace(
                planned,
                directory=folder / planned.identity.name,
                config={**planned.config, "outputs": str(folder.parent)},
            )
            for planned in plan
        ]
        self.batches: list[dict[str, list[int]]] = []

    def start(self, do: Do = do_wanted, *, stopped: bool = False) -> int:
        """Go on until it ends; the exit code. `stopped`: the user asks for it meanwhile."""

        def noted(plan: Sequence[PlannedRun], about: str) -> dict[str, str]:
            batch: dict[str, list[int]] = {}
            for planned in plan:
                if planned.wanted():
                    own = batch.setdefault(planned.identity.choices["pos"], [])
                    own.append(planned.config["seed"])
            self.batches.append(batch)
            stop.asked = stopped
            return do(plan, about)

        stop = Stop()
        return follow(Looks(self.plan, self.note), separate(["-m"]), stop, noted)

    def noted(self) -> LookNote:
        note = look_note.read(self.folder)
        assert note is not None
        return note

    def runs(self) -> set[str]:
        return {path.parent.name for path in self.folder.glob("*/record.json")}


@pytest.fixture
def sweep(composed: tuple[list[PlannedRun], LookNote], tmp_path: Path) -> Sweep:
    return Sweep(composed, tmp_path / "study")


def test_seeds_are_added_to_what_is_open_and_its_baseline(
    sweep: Sweep, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sweep.start() == 0
    first, second, third = sweep.batches
    assert first == {pos: [0, 1, 2] for pos in TRUE}
    assert second == {pos: [3, 4] for pos in ("rope", "alibi", "learned")}
    assert third == {pos: [5, 6, 7, 8, 9] for pos in ("rope", "learned")}
    said = capsys.readouterr().err
    assert "look 1 of 3, 3 seeds: decided pos=none (worse); open: pos=alibi, pos=learned" in said
    assert "look 2 of 3, 5 seeds: decided pos=alibi (equivalent); open: pos=learned" in said
    assert "look 3 of 3, 10 seeds: decided nothing; open: pos=learned" in said
    assert "28 runs in place of 40 at 10 seeds each" in said
    note = sweep.noted()
    assert [len(verdicts) for verdicts in note.decided] == [1, 1, 0]
    assert sweep.start() == 0
    assert len(sweep.batches) == 3
    assert sweep.noted() == note
    assert main(["report", str(sweep.folder)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "look 1 decided pos=none; look 2 decided pos=alibi" in told
    assert "3 seeds paired, at look 1 of 3" in told


def test_stopped_after_any_run_it_goes_on_to_the_same(
    sweep: Sweep, composed: tuple[list[PlannedRun], LookNote], tmp_path: Path
) -> None:
    def one(plan: Sequence[PlannedRun], about: str) -> dict[str, str]:
        finish(next(planned for planned in plan if planned.wanted()))
        return {}

    assert sweep.start() == 0
    again = Sweep(composed, tmp_path / "again")
    for _ in sweep.runs():
        again.start(one, stopped=True)
    assert again.start() == 0
    assert again.noted() == sweep.noted()
    assert again.runs() == sweep.runs()


def test_killed_before_a_look_is_written_it_takes_the_look_again(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = look_note.write

    def killed(folder: Path, note: LookNote) -> None:
        raise SystemExit

    for _ in range(3):
        monkeypatch.setattr(look_note, "write", killed)
        with pytest.raises(SystemExit):
            sweep.start()
        monkeypatch.setattr(look_note, "write", write)
        sweep.start(lambda plan, about: {}, stopped=True)  # takes what is complete
    assert sweep.start() == 0
    assert [len(verdicts) for verdicts in sweep.noted().decided] == [1, 1, 0]


def test_a_look_that_another_process_took_is_kept(sweep: Sweep) -> None:
    """Whatever this one would say: the first to write it has decided."""

    def meanwhile(plan: Sequence[PlannedRun], about: str) -> dict[str, str]:
        do_wanted(plan)
        other = Sweep((sweep.plan, sweep.note), sweep.folder)
        assert other.start() == 0
        known = other.noted()
        theirs = replace(known, decided=(dict.fromkeys(known.against, "worse"),))
        look_note.write(sweep.folder, theirs)
        return {}

    assert sweep.start(meanwhile) == 0
    assert len(sweep.batches) == 1
    assert len(sweep.noted().decided) == 1


def test_a_run_that_fails_holds_up_the_look(sweep: Sweep) -> None:
    def all_but_one(plan: Sequence[PlannedRun], about: str) -> dict[str, str]:
        do_wanted(plan[1:])
        return {plan[0].identity.name: "out of memory"}

    assert sweep.start(all_but_one) == 1
    assert look_note.read(sweep.folder) is None
    assert sweep.start() == 0
    assert sweep.batches[1] == {"rope": [0]}


def test_a_study_has_one_plan(sweep: Sweep) -> None:
    assert sweep.start() == 0
    kept = [planned for planned in sweep.plan if planned.identity.choices["pos"] != "learned"]
    other = Sweep((kept, sweep.note), sweep.folder)
    with pytest.raises(UserError, match=r"another plan of looks already: 4 arms at 3, 5, 10 seeds"):
        other.start()
    assert other.batches == []


def test_a_note_that_is_none_is_no_plan_for_a_run_and_told_by_a_report(
    sweep: Sweep, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sweep.start() == 0
    path = sweep.folder / look_note.FILE
    good = path.read_text()
    faults = {
        '"margin": 0.02': '"margin": "a"',
        "  10\n": "  11\n",
        '"against"': '"aganst"',
        '"decided": [': '"decided": [{"x": "worse"},',
    }
    changed = [good.replace(old, new, 1) for old, new in faults.items()]
    assert good not in changed
    for bad in ("{", "3", '{"seeds": ["a"]}', "[" * 100_000, *changed):
        path.write_text(bad)
        with pytest.raises(UserError, match="study=NAME begins another plan"):
            sweep.start()
        assert path.read_text() == bad
        notes, (problem,) = look_note.read_all([sweep.folder, sweep.folder])
        assert notes == {}
        assert problem.startswith(f"{path}: ")
    assert main(["report", str(sweep.folder)]) == 0
    assert "its looks are not heeded" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("pos=rope --until-decided", "give -m or --study"),
        ("-m pos=rope,none rerun=true --until-decided", "rerun=true would undo its looks"),
        ("-m seed=0,1 --until-decided", "one arm; there is nothing to compare it with"),
        ("-m lr=1e-3,1e-2 seed=0..10 --until-decided", "11 seeds, and the last look is at 10"),
        ("-m lr=1e-3,1e-2 study=a,b --until-decided", "one plan a study"),
        ("-m lr=1e-3,1e-2 --until-decided --cfg job", "without --until-decided and --plan"),
    ],
)
def test_what_cannot_be_decided_is_a_line(
    line: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", *line.split()]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) <= 2
    assert not Path("outputs").exists()


def test_the_real_command_with_a_plan_of_ones_own(
    tmp_path: Path,
    words: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In this process, without its pool; what is planned can be told before."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "do_runs", lambda plan, *_: do_wanted(plan))
    monkeypatch.setattr(command, "warm_up", lambda: None)
    path = Path("mine.yaml")
    settings = " ".join([*TINY, "corpus=text", f"corpus.files={words}", "evaluate.windows=4"])
    path.write_text(
        f"settings: {settings}\narms: [pos=rope, pos=none]\nseeds: [3]\n"
        "looks: [2, 4]\nlevels: [0.01, 0.04]\n"
    )
    line = ["run", "--study", str(path), "--until-decided"]
    assert main(line) == 0
    note = look_note.read(Path("outputs/mine"))
    assert note is not None
    assert (note.seeds, note.looks, note.levels) == ((3, 4, 5, 6), (2, 4), (0.01, 0.04))
    assert len(note.decided) == 1
    capsys.readouterr()
    assert main([*line, "--plan"]) == 0
    told = capsys.readouterr().out
    assert "8 runs: 4 skipped, is done, 4 to do" in told
    assert len(told.splitlines()) == 9


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ("looks: [5, 3]\nlevels: [0.01, 0.04]", r"looks: 5, 3: must be rising"),
        ("looks: [1, 3]\nlevels: [0.01, 0.04]", r"looks: 1, 3: must be rising .* from 2 on"),
        ("looks: [4, 8]", r"2 looks need as many levels, such as levels: \[0.025, 0.025\]"),
        ("looks: [4, 8]\nlevels: [0.04, 0.04]", r"0.04, 0.04 add up to 0.08"),
        ("looks: [4, 8]\nlevels: [0, 0.04]", r"0, 0.04: must be above 0"),
        ("looks: [4, 6.5]\nlevels: [0.01, 0.04]", r"looks: 6.5: must be a whole number"),
        ("looks: [4, .inf]\nlevels: [0.01, 0.04]", r"must be a list of numbers"),
        ("looks: 4", r"looks: 4: must be a list of numbers, as in \[3, 5, 10\]"),
        ("looks: [4, true]\nlevels: [0.01, 0.04]", r"must be a list of numbers"),
        ("levels: [a, b, c]", r"levels: \['a', 'b', 'c'\]: must be a list of numbers"),
    ],
)
def test_a_bad_plan_is_a_line(tmp_path: Path, plan: str, message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"arms: [norm=pre, norm=post]\n{plan}\n")
    with pytest.raises(UserError, match=message) as error:
        read(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_killed_with_another_process_beside_it_the_real_command_comes_to_the_same(
    ablate: Command, tmp_path: Path, words: Path, cache: Path
) -> None:
    file = tmp_path / "mine.yaml"
    settings = " ".join([*TINY, "corpus=text", f"corpus.files={words}", "evaluate.windows=4"])
    file.write_text(
        f"settings: {settings} jobs=1\narms: [pos=rope, pos=none]\n"
        "looks: [2, 3]\nlevels: [0.01, 0.04]\n"
    )
    start = [sys.executable, "-m", "ablate", "run", "--study", str(file), "--until-decided"]
    whole = ablate(*start[3:], "study=whole")
    assert whole.returncode == 0, whole.stderr
    environment = {**os.environ, "ABLATE_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
    kwargs = {"cwd": tmp_path, "env": environment, "stderr": subprocess.PIPE, "text": True}
    killed = subprocess.Popen([*start, "study=both"], **kwargs)  # type: ignore[call-overload]
    while not list(tmp_path.glob("outputs/both/*/record.json")):
        assert killed.poll() is None
        time.sleep(0.1)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    pair = [subprocess.Popen([*start, "study=both"], **kwargs) for _ in range(2)]  # type: ignore[call-overload]
    try:
        for process in pair:
            _, said = process.communicate(timeout=300)
            assert process.returncode == 0, said
    finally:
        for process in pair:
            process.kill()
    notes = [look_note.read(tmp_path / "outputs" / study) for study in ("whole", "both")]
    assert notes[0] == notes[1]
    losses = [
        {p.parent.name: disk.read(p.parent)[0].loss.validation  # type: ignore[union-attr]
         for p in tmp_path.glob(f"outputs/{study}/*/record.json")}
        for study in ("whole", "both")
    ]  # fmt: skip
    assert losses[0] == losses[1]
