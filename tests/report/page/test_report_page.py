"""The page without a browser: whole, escaped, the same every time, and nothing fatal."""

import base64
import hashlib
import json
import random
import re
import shlex
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ablate.report.inference.analysis import analyse
from ablate.report.inference.caveats import EqualRates
from ablate.report.page import content as content_module
from ablate.report.page import write
from ablate.report.page.commands import config_folders, overrides, sweeps
from ablate.report.page.content import answers, content
from ablate.report.page.runs import TAIL_BYTES, tail
from ablate.report.runs.collect import collect
from ablate.report.runs.shown import shown
from ablate.report.runs.tables import build
from ablate.report.words.sentence import Sentence
from ablate.report.words.statements import Statement
from tests.report.conftest import POSITIONS
from tests.report.conftest import run_report as main

Factory = Callable[..., Path]
ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{7*7}}"


class Reader(HTMLParser):
    """What of a page is markup: tags, ids, attributes that load or run something, and scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.loads: list[str] = []
        self.handlers: list[str] = []
        self.links: list[str] = []
        self.scripts = ""
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            if name in ("src", "href", "xlink:href", "action", "data") and value:
                (self.links if value.startswith("#") else self.loads).append(value)
            if name.startswith("on"):
                self.handlers.append(name)

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] == "script":
            self.scripts += data
        self.text += data


def page(outputs: Path) -> str:
    """The page without its figures, which take most of the time and have tests of their own."""
    table = build(collect([outputs], outputs))
    return write.as_html(table, table, analyse(shown(table)), "ablate report scout")


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content_module, "drawings", lambda view, analysis: [])


@pytest.mark.usefixtures("no_figures")
def test_names_and_texts_are_escaped(outputs: Path, add_run: Factory) -> None:
    directory = add_run(
        {"norm": ATTACK},
        study=re.sub(r"[/]", "", ATTACK),
        arm=ATTACK,
        status="failed",
        label=ATTACK,
        error=f"Traceback\n{ATTACK}",
        environment={ATTACK: ATTACK},
        diagnosis=[
            {"name": ATTACK, "evidence": ATTACK, "cause": ATTACK, "advice": ATTACK, "remedies": []}
        ],
    )
    (directory / "run.log").write_text(f"log {ATTACK}")
    (directory / ".hydra").mkdir()
    (directory / ".hydra" / "overrides.yaml").write_text(json.dumps([f"norm={ATTACK}"]))
    add_run({"norm": "pre"})
    read = Reader(page(outputs))
    assert read.tags.count("script") == 1
    assert "img" not in read.tags
    assert read.handlers == []
    assert read.text.count("<script>alert(1)") > 8
    assert "{{7*7}}" in read.text


@pytest.mark.usefixtures("no_figures")
def test_no_control_code_reaches_the_page(outputs: Path, add_run: Factory) -> None:
    words = dict.fromkeys(("name", "evidence", "cause", "advice"), "\x1b[31m\x07\x9b")
    found = words | {"remedies": []}
    for pos in ("red\x1b[31m", "blue\x1b[34m"):
        for seed in range(2):
            add_run({"depth": len(pos)}, seed=seed, choices={"pos": pos}, diagnosis=[found])
    assert re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", page(outputs)) == []


def test_the_page_needs_no_other_file_and_runs_no_other_script(
    outputs: Path, add_run: Factory
) -> None:
    for pos, seed in product(("rope", "alibi"), (0, 1)):
        add_run({"pos": pos}, seed=seed)
    text = page(outputs)
    read = Reader(text)
    assert read.tags.count("svg") >= 6
    assert all(load.startswith("data:") for load in read.loads)
    assert not re.search(r"url\((?!#)|@import", text)
    digest = base64.b64encode(hashlib.sha256(read.scripts.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert len(read.ids) == len(set(read.ids))
    assert {link.removeprefix("#") for link in read.links} <= set(read.ids)
    assert text == page(outputs)


@pytest.mark.usefixtures("no_figures")
def test_damaged_foreign_and_older_records_are_named(outputs: Path, add_run: Factory) -> None:
    add_run({"pos": "rope"}, loss__validation=float("nan"))
    add_run({"pos": "alibi"}, schema=0)
    for seed, damage in enumerate(('{"schema": 1, "stat', "", "[]", '{"a": 1}')):
        (add_run({"pos": "none"}, seed=seed) / "record.json").write_text(damage)
    text = Reader(page(outputs)).text
    for words in (
        "older schema 0",
        "the end is missing",
        "is empty",
        "holds a list",
        "no `schema`",
    ):
        assert words in text
    assert page(outputs).count(">no record</span>") == 4


@pytest.mark.usefixtures("no_figures")
def test_records_with_holes_are_shown(outputs: Path, add_run: Factory) -> None:
    rng = random.Random(5)
    record = json.loads((add_run() / "record.json").read_text())
    for place in range(25):
        broken = dict(record)
        for key in rng.sample(sorted(broken), 6):
            broken[key] = rng.choice([None, "x", [None, "y", 1e999], 3, {}, [[]], {"a": [1]}])
        broken |= {"name": f"r{place}", "schema": 1}
        directory = outputs / "scout" / f"r{place}"
        directory.mkdir()
        (directory / "record.json").write_text(json.dumps(broken))
    text = page(outputs)
    for place in range(25):
        assert f"/r{place}<" in text


@pytest.mark.usefixtures("no_figures")
def test_nothing_but_damage_is_still_a_page(outputs: Path, add_run: Factory) -> None:
    (add_run() / "record.json").write_text("{")
    assert "No run here left a record" in Reader(page(outputs)).text


@pytest.mark.usefixtures("no_figures")
def test_arms_that_differ_in_name_alone_are_said_to(outputs: Path, add_run: Factory) -> None:
    add_run(arm="a")
    assert "One configuration" in Reader(page(outputs)).text
    add_run(arm="b", seed=1)
    assert "settings do not differ" in Reader(page(outputs)).text


def test_the_command_writes_page_table_and_figures(
    outputs: Path, add_run: Factory, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bare = {f"gradients__{key}": [] for key in ("parameters_first", "inputs_first")}
    nothing = {"curve": {"steps": [], "loss": []}, "loss__first": None}
    add_run(extrapolation__lengths=[], **bare, **nothing)
    study = str(outputs / "scout")
    assert main([study, "-o", str(tmp_path / "r.html"), "--figures", str(tmp_path / "f")]) == 0
    assert main([study, "-o", str(tmp_path / "r.tex"), "--runs"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert f"wrote 3 files to {tmp_path / 'f'}" in err
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert shlex.join(["ablate", "report", study]) in text
    assert "toprule" in (tmp_path / "r.tex").read_text()
    assert sorted(path.name for path in (tmp_path / "f").iterdir()) == [
        "labels.pdf",
        "labels.png",
        "labels.svg",
    ]


@pytest.mark.usefixtures("no_figures")
def test_a_page_goes_to_a_pipe_but_not_to_a_terminal(
    outputs: Path,
    add_run: Factory,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = str(add_run().parent)
    assert main([study, "--format", "html", "--runs"]) == 0
    assert "</html>" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main([study, "--format", "html"]) == 2
    assert "-o report.html" in capsys.readouterr().err


def test_claim_and_evidence_stand_apart_under_their_headings() -> None:
    open_ = Sentence("a and b are not distinguishable", evidence="0.1 nats; 3 seeds")
    worse = Sentence("a is worse than b by 1 nat", "[0.5, 1.5]", evidence="3 seeds paired")
    fact = EqualRates()
    said = [
        Statement("undecided", fact, open_),
        Statement("mattered", fact, worse),
        Statement("caution", fact, Sentence("two seeds are few")),
    ]
    assert said[1].text == "a is worse than b by 1 nat [0.5, 1.5]: 3 seeds paired"
    mattered, none, undecided, _ = answers(said)
    assert mattered.claims == [("a is worse than b by 1 nat", "[0.5, 1.5]; 3 seeds paired")]
    assert (none.claims, undecided.claims[0][0]) == ([], "a and b are not distinguishable")


def test_what_was_typed_comes_before_what_the_record_says(outputs: Path, add_run: Factory) -> None:
    directory = add_run({"pos": "alibi"}, seed=3)
    hydra = directory / ".hydra"
    hydra.mkdir()
    (run,) = collect([directory], outputs)
    computed = overrides(run)
    assert (computed["pos"], computed["seed"], computed["study"]) == ("alibi", "3", "scout")
    (hydra / "overrides.yaml").write_text("- pos=alibi\n- seed=3\n")
    assert overrides(run) == {"pos": "alibi", "seed": "3"}
    (hydra / "overrides.yaml").write_text("{ damaged")
    assert overrides(run) == computed
    (hydra / "hydra.yaml").write_text(
        "    - path: /x/my configs\n      schema: file\n      provider: command-line\n"
    )
    folders = config_folders([run])
    (line,) = sweeps([{"pos": "mine"}], folders)
    assert line == "ablate run --config-dir '/x/my configs' pos=mine"


KEYS = st.sampled_from(["pos", "norm", "seed"])
RUNS = st.lists(
    st.fixed_dictionaries({key: st.sampled_from("abc") for key in ("pos", "norm", "seed")}),
    min_size=1,
    max_size=20,
)


@given(RUNS)
def test_the_commands_make_these_runs_and_no_others(runs: list[dict[str, str]]) -> None:
    made = []
    for line in sweeps(runs, []):
        words = [word for word in shlex.split(line)[2:] if word != "-m"]
        parts = [[f"{key}={v}" for v in vs.split(",")] for key, _, vs in map(_parted, words)]
        made += [frozenset(combination) for combination in product(*parts)]
    wanted = {frozenset(f"{key}={value}" for key, value in run.items()) for run in runs}
    assert set(made) == wanted
    assert len(made) == len(wanted)


def _parted(word: str) -> tuple[str, str, str]:
    return word.partition("=")


def test_a_value_with_a_comma_is_never_swept() -> None:
    lists = [{"corpus.files": "[a,b]"}, {"corpus.files": "[c]"}]
    assert sweeps(lists, []) == [
        "ablate run 'corpus.files=[a,b]'",
        "ablate run 'corpus.files=[c]'",
    ]


def test_a_deletion_has_no_value() -> None:
    assert sweeps([{"~warmup": "", "pos": "rope"}], []) == ["ablate run '~warmup' pos=rope"]


def test_a_report_of_the_newest_study_names_it(
    outputs: Path,
    add_run: Factory,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(content_module, "drawings", lambda view, analysis: [])
    study = add_run().parent
    assert main(["--outputs", str(outputs), "--format", "html"]) == 0
    text = Reader(capsys.readouterr().out).text
    assert f"ablate report {study} --outputs {outputs} --format html" in text


@pytest.mark.slow
def test_a_thousand_runs_make_a_page_that_a_mail_can_carry(outputs: Path, add_run: Factory) -> None:
    lines = "\n".join(
        f"12:00:{i % 60:02d},1 INFO step {i}, loss 2.3, 9,000 tokens/s" for i in range(99)
    )
    steps = [*range(1, 201)]
    for pos, norm, depth in product(POSITIONS, ("pre", "post", "sandwich", "none"), (6, 24)):
        for seed in range(25):
            curve = {"steps": steps, "loss": [2 + 3 / (1 + step / 20) for step in steps]}
            changes = {"pos": pos, "norm": norm, "depth": depth}
            directory = add_run(changes, seed=seed, curve=curve, loss__validation=2 + seed / 100)
            (directory / "run.log").write_text(lines)
    text = page(outputs)
    assert text.count("<details data-row>") == 1000
    assert len(text.encode()) < 8e6
    assert text.count("<svg") < 1000


def test_the_tail_of_a_log_is_short_and_clean(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    assert tail(log) == ""
    log.write_text("".join(f"line {i} \x1b[31m\n" for i in range(5000)) + "x" * 9999)
    text = tail(log)
    assert text.startswith("…\n")
    assert "\x1b" not in text
    assert len(text) < TAIL_BYTES
    log.write_bytes(b"one\n\xff\xfe two")
    assert tail(log) == "one\n�� two"


def test_content_lists_arms_runs_and_versions(outputs: Path, add_run: Factory) -> None:
    for pos in ("rope", "alibi"):
        add_run({"pos": pos}, extrapolation__accuracy=[0.1, 0.2, None, None, None])
    table = build(collect([outputs], outputs))
    found = content(table, table, analyse(shown(table)), "ablate report scout")
    assert [head.name for head in found.results.heads][:3] == ["pos", "status", "label"]
    assert "undef." in {cell.text for row in found.results.rows for cell in row}
    assert sorted(fold.keys for fold in found.folds) == [["alibi", "0"], ["rope", "0"]]
    assert [name for _, name, _ in found.run_menus] == ["pos"]
    assert dict(found.versions)["python"] == "3.11"
    assert found.commands[-1] == "ablate report scout"
