"""`ablate diff`: which runs a word names, what is told, and mistakes."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from ablate.cli import main as ablate_main
from tests.conftest import TINY, Command

Factory = Callable[..., Path]


@pytest.fixture(autouse=True)
def no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def study(outputs: Path, add_run: Factory) -> Path:
    """Two arms of two seeds whose curves are equal up to step 100 and then part."""
    for pos in ("rope", "none"):
        for seed in (0, 1):
            run = add_run(
                {"pos": pos},
                seed=seed,
                loss__validation=2.0 + (0.25 + seed / 100) * (pos == "none"),
                environment={"git": f"commit-{pos}", "ablate": "0.1"},
            )
            write_curves(run, 0.3 if pos == "none" else 0.0, seed)
    return outputs


def write_curves(run: Path, apart: float, seed: int) -> None:
    lines = [
        {"step": step, "loss": 5.0 + seed - step / 1000 + apart * (step > 100)}
        for step in (1, *range(10, 301, 10))
    ]
    (run / "curves.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n{damaged")


def main(arguments: list[str]) -> int:
    return ablate_main(["diff", *arguments])


def diff(capsys: pytest.CaptureFixture[str], outputs: Path, *words: object) -> str:
    code = main([*map(str, words), "--outputs", str(outputs)])
    out, err = capsys.readouterr()
    assert code == 0, err
    return out


def test_two_arms_are_compared_over_the_seeds_that_both_have(
    capsys: pytest.CaptureFixture[str], study: Path
) -> None:
    out = diff(capsys, study, "pos=rope", "pos=none")
    assert out.startswith("A  scout/pos=rope-1f3a9c2e: done, healthy; seed 0, 1\n")
    told = re.sub(" +", " ", out)
    for row in ("pos rope none\n", "pos.base 10000 –\n", "code 0.1 commit-rope 0.1 commit-none\n"):
        assert row in told
    assert "(mean over seed 0, 1, which both have; bars from 5.200 to 5.690)" in out
    assert "to the bit: equal up to step 100, different at step 110, the next logged step" in out
    assert "beyond the noise: from about step 110 to the end (+0.300 at step 300)" in out
    assert "val. loss 2.000 2.255 +0.255 [+0.191, +0.319] 2 seeds\n" in told


def test_two_seeds_of_an_arm_differ_in_nothing_but_the_seed(
    capsys: pytest.CaptureFixture[str], study: Path
) -> None:
    out = diff(capsys, study, "pos=rope,seed=0", "pos=rope,seed=1")
    assert "What differs: nothing but the seed" in out
    assert "no seed in common" in out


def test_json_is_standard_and_complete(capsys: pytest.CaptureFixture[str], study: Path) -> None:
    content = json.loads(diff(capsys, study, "pos=rope", "pos=none", "--json"))
    assert content["a"]["seeds"] == content["seeds"] == [0, 1]
    assert {"key": "pos", "a": "rope", "b": "none"} in content["settings"]
    assert content["parting"]["equal_until"] == 100
    assert content["parting"]["unequal_at"] == 110
    assert content["curve"]["steps"][:2] == [1, 10]
    assert content["numbers"]["val_loss"]["difference"] == pytest.approx(0.255)
    assert content["numbers"]["grad_ratio"]["difference"] is None


def test_a_run_without_curves_has_those_of_its_record(
    capsys: pytest.CaptureFixture[str], study: Path
) -> None:
    for path in study.glob("*/*/curves.jsonl"):
        path.unlink()
    out = diff(capsys, study, "pos=rope,seed=0", "pos=none,seed=0")
    assert "to the bit: never; every logged step up to 150 is the same" in out
    assert "not to be told from 3 logged steps; 10 are needed" in out


def test_a_folder_and_another_study_may_be_named(
    capsys: pytest.CaptureFixture[str], study: Path, add_run: Factory
) -> None:
    other = add_run({"pos": "rope"}, study="again", threads=2, curve={"steps": [], "loss": []})
    out = diff(capsys, study, study / "scout" / "pos=rope,seed=0", other)
    assert "B  again/pos=rope,seed=0: done, healthy; seed 0" in out
    assert "no step that both have logged with a finite loss" in out


def test_a_diverged_run_shows_what_it_reached_and_no_difference(
    capsys: pytest.CaptureFixture[str], study: Path, add_run: Factory
) -> None:
    add_run({"pos": "alibi"}, status="diverged", loss__validation=9.5)
    out = re.sub(" +", " ", diff(capsys, study, "pos=rope,seed=0", "pos=alibi,seed=0"))
    assert "val. loss 2.000 9.500 – –\n" in out


def test_the_arms_that_an_ambiguous_word_fits_can_be_pasted(
    capsys: pytest.CaptureFixture[str], study: Path, add_run: Factory
) -> None:
    add_run({"pos": "rope"}, study="again")
    add_run({"pos": "alibi", "note": "two words"}, study="again")
    assert main(["depth=24", "pos=none", "--outputs", str(study)]) == 2
    told = capsys.readouterr().err
    names = shlex.split(told.split("arms: ")[1].removesuffix("; say which\n").replace(" or ", " "))
    assert names == ["again/pos=alibi,note=two words-1f3a9c2e", "again/pos=rope-1f3a9c2e"]
    assert diff(capsys, study, *names).startswith("A  again/pos=alibi,note=two_words,seed=0: done")
    told = diff(capsys, study, "scout/pos=rope", "again/pos=rope,depth=24")
    assert told.startswith(
        "A  scout/pos=rope-1f3a9c2e: done, healthy; seed 0, 1\nB  again/pos=rope,s"
    )
    assert diff(capsys, study, "scout/pos=rope,depth=24", "scout/pos=none-1f3a9c2e") == diff(
        capsys, study, "scout/pos=rope", "scout/pos=none"
    )


@pytest.mark.slow
def test_the_same_run_made_twice_is_equal_to_the_bit(ablate: Command, words: Path) -> None:
    keys = (f"corpus.files={words}", *TINY, "checkpoint.every=6", "log.every=2", "threads=1")
    for study, pos in (("one", "rope"), ("two", "rope"), ("three", "alibi")):
        done = ablate("run", "corpus=text", f"study={study}", f"pos={pos}", *keys)
        assert done.returncode == 0, done.stderr
    same = ablate("diff", "outputs/one", "outputs/two")
    assert "width" not in same.stdout.split("Training loss")[0].partition("what differs")[2]
    assert "to the bit: never; every logged step up to 12 is the same" in same.stdout
    other = ablate("diff", "outputs/one", "outputs/three", "--json")
    assert json.loads(other.stdout)["parting"]["unequal_at"] == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["pos=rpoe", "pos=none"], "pos=rpoe: no folder, no run that begins so"),
        (["depth=24", "pos=none"], "depth=24: fits 2 arms: scout/pos="),
        (["pos=none", "pos=none"], "the same runs, scout/pos=none"),
        (["pos=none"], "the following arguments are required: B"),
    ],
)
def test_mistakes_are_told_in_a_line(
    capsys: pytest.CaptureFixture[str], study: Path, words: list[str], told: str
) -> None:
    assert main([*words, "--outputs", str(study)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
    assert err.count("\n") == 1


def test_a_damaged_record_is_a_mistake_that_says_so(
    capsys: pytest.CaptureFixture[str], study: Path
) -> None:
    path = study / "scout" / "pos=none,seed=0"
    (path / "record.json").write_text('{"schema": 1, "sta')
    assert main([str(path), "pos=rope", "--outputs", str(study)]) == 2
    assert "record.json is damaged" in capsys.readouterr().err


def test_what_a_scheme_cannot_do_is_undefined_and_not_missing(
    capsys: pytest.CaptureFixture[str], add_run: Factory
) -> None:
    one = add_run({"pos": "rope"})
    other = add_run({"pos": "learned"}, extrapolation__accuracy=[0.4, 0.45, None, None, None])
    assert main([str(one), str(other)]) == 0
    assert re.search(r"^acc. at 2L +0.440 +undef\. ", capsys.readouterr().out, re.M)


def test_a_mistake_names_the_help_of_this_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["one"]) == 2
    assert "(see ablate diff --help)" in capsys.readouterr().err
