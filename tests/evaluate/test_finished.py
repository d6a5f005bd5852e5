"""Trained runs brought back: measured again, and asked to go on with a text."""

import json
from pathlib import Path

import pytest
import torch

from ablate import cli
from ablate.config.catalogue import Catalogue
from ablate.errors import UserError
from ablate.evaluate.command import add
from ablate.evaluate.finished import find_run, left_out
from ablate.model.init import initialise
from ablate.model.normalizers import LayerNorm
from ablate.model.placement.rows import Pre
from ablate.model.position.rotary import Rope
from ablate.model.recipes import TorchInit
from ablate.model.residual import ResidualRule
from ablate.model.shape import Shape
from ablate.model.transformer import Parts, Transformer
from ablate.record.evaluated import Evaluation
from ablate.record.lock import hold
from ablate.sample.command import generate
from tests.conftest import TINY, Command


def test_a_run_is_measured_again_and_continues_a_text(
    ablate: Command, tmp_path: Path, words: Path
) -> None:
    line = (*TINY, "corpus=text", f"corpus.files={words}", "evaluate.windows=4")
    assert ablate("run", *line).returncode == 0
    (folder,) = (tmp_path / "outputs" / "default").glob("*seed=*")
    before = json.loads((folder / "record.json").read_text())

    again = ablate("evaluate", "pos=rope", "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["extrapolation"] == before["extrapolation"]

    overrides = ("pos=yarn", "pos.factor=8", "evaluate.lengths=[1,8]", "evaluate.protocols=[]")
    probes = ("evaluate.position_probe=true", "evaluate.shuffle=true")
    scaled = ablate("evaluate", folder.name, *overrides, *probes)
    assert scaled.returncode == 0, scaled.stderr
    assert "position probe" in scaled.stdout
    assert "shuffled input: loss" in scaled.stdout
    assert "non-overlapping" not in scaled.stdout
    after = json.loads((folder / "record.json").read_text())
    entries = after.pop("evaluations")
    assert after == before
    assert [entry["overrides"] for entry in entries] == [
        [],
        [*overrides, *probes],
    ]
    assert "shuffle" not in entries[0]
    assert entries[1]["shuffle"]["change"] == pytest.approx(
        entries[1]["shuffle"]["loss_shuffled"] - entries[1]["shuffle"]["loss"]
    )
    assert len(entries[1]["position_probe"]["ridge"]["r2"]) == 3
    assert list(before["extrapolation"]["protocols"]) == ["non-overlapping", "sliding-window"]
    assert entries[1]["extrapolation"]["protocols"] == {}
    assert entries[1]["extrapolation"]["lengths"] == [16, 128]
    assert entries[1]["extrapolation"]["nll"] != before["extrapolation"]["nll"][1::3]

    misfit = ablate("evaluate", str(folder), "pos=learned")
    assert misfit.returncode == 2
    assert "do not fit pos=learned" in misfit.stderr

    samples = [ablate("sample", "pos=rope", "--prompt", "ba do", "--tokens", "9") for _ in "ab"]
    assert samples[0].returncode == 0, samples[0].stderr
    assert samples[0].stdout.startswith("ba do")
    assert samples[0].stdout == samples[1].stdout

    (folder / "checkpoint.pt").write_bytes(b"half")
    damaged = ablate("sample", "pos=rope")
    assert damaged.returncode == 2
    assert "missing or damaged" in damaged.stderr


def test_a_record_that_says_running_without_a_process_can_be_added_to(tmp_path: Path) -> None:
    content = {"schema": 1, "status": "running", "config": {}, "choices": {}}
    (tmp_path / "record.json").write_text(json.dumps(content))
    add(tmp_path, Evaluation(overrides=["a"]))
    add(tmp_path, Evaluation(overrides=["b"]))
    record = json.loads((tmp_path / "record.json").read_text())
    assert [entry["overrides"] for entry in record["evaluations"]] == [["a"], ["b"]]
    with hold(tmp_path), pytest.raises(UserError, match="measure it again"):
        add(tmp_path, {})


def test_what_cannot_be_measured_now_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "record.json").write_text("{}")
    assert cli.main(["evaluate", str(tmp_path), "seq_len=32"]) == 2
    stderr = capsys.readouterr().err
    assert "seq_len=32: the run is trained" in stderr
    assert "evaluate.lengths" in stderr
    assert cli.main(["evaluate", str(tmp_path), "optim.beta1=0.5"]) == 2
    assert "the run is trained" in capsys.readouterr().err
    with hold(tmp_path):
        assert cli.main(["evaluate", str(tmp_path)]) == 2
    assert "still running" in capsys.readouterr().err


def test_options_that_a_new_choice_lacks_are_left_out() -> None:
    own = ["corpus=text", "corpus.files=a.txt", "corpus.tokenizer=characters", "pos.base=500"]
    assert left_out(own, ["corpus=docs", "pos=yarn"], Catalogue()) == ("corpus.files=a.txt",)
    assert left_out(own, ["pos=none"], Catalogue()) == ("pos.base=500",)
    assert left_out(own, ["corpus.files=b.txt", "pos=ropee"], Catalogue()) == ()
    inner = ["pos=randomized", "pos@pos.inner=alibi"]
    assert left_out(inner, ["pos=alibi"], Catalogue()) == ("pos@pos.inner=alibi",)


def test_a_run_is_found_by_path_by_how_its_name_begins_or_by_its_hash(tmp_path: Path) -> None:
    for name in ("pos=rope,seed=0-aa", "pos=rope,seed=1-bb", "pos=none,seed=0-cc"):
        (tmp_path / "study" / name).mkdir(parents=True)
        (tmp_path / "study" / name / "record.json").write_text("{}")
    directory = tmp_path / "study" / "pos=none,seed=0-cc"
    assert find_run(str(directory), tmp_path) == directory
    assert find_run("pos=none", tmp_path) == directory
    assert find_run("cc", tmp_path) == directory
    with pytest.raises(UserError, match="2 runs are named so"):
        find_run("pos=rope", tmp_path)
    with pytest.raises(UserError, match="no run in"):
        find_run("pos=alibi", tmp_path)


def test_a_model_without_finite_numbers_says_nothing() -> None:
    shape = Shape(width=16, depth=1, heads=2, seq_len=8, vocabulary=13)
    model = Transformer(shape, Parts(Rope(shape), Pre(LayerNorm), ResidualRule)).eval()
    model.head.weight.data.fill_(torch.nan)
    with pytest.raises(UserError, match="not finite"):
        list(generate(model, torch.tensor([[3, 1]]), 3, 0.8, torch.Generator()))


def test_greedy_decoding_with_the_cache_is_greedy_decoding_without_it() -> None:
    shape = Shape(width=16, depth=2, heads=2, seq_len=8, vocabulary=13)
    model = Transformer(shape, Parts(Rope(shape), Pre(LayerNorm), ResidualRule)).eval().double()
    initialise(model, TorchInit(), 0)
    start = torch.tensor([[3, 1, 4]])
    texts = list(generate(model, start, 12, 0, torch.Generator()))
    text = start
    for _ in range(12):
        text = torch.cat([text, model(text)[:, -1].argmax(-1, keepdim=True)], dim=1)
    assert texts == text[0, 3:].tolist()
