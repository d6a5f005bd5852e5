"""The verb `list`: every choice is told in full at any width, and by machines."""

import json
import re
from pathlib import Path

import pytest

from ablate import cli
from ablate.config.catalogue import PRESETS, Catalogue

CATALOGUE = Catalogue()
GROUPS = CATALOGUE.groups()
WIDTHS = (None, 60, 80, 120, 200)


@pytest.fixture
def listed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """The output of `ablate list` at a width; None is a pipe."""

    def run(*words: str, width: int | None = None) -> str:
        monkeypatch.delenv("COLUMNS", raising=False)
        if width:
            monkeypatch.setenv("COLUMNS", str(width))
        assert cli.main(["list", *words]) == 0
        return capsys.readouterr().out

    return run


def one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("width", WIDTHS)
def test_everything_is_told_of_every_choice_at_any_width(listed, width: int | None) -> None:
    for group in GROUPS:
        out = listed(group, width=width)
        told = one_line(out)
        for name in CATALOGUE.names(group):
            choice = CATALOGUE.choice(group, name)
            assert choice is not None
            for part in (choice.name, choice.summary, choice.formula, choice.paper):
                assert one_line(part) in told
            assert all(one_line(fact) in told for fact in choice.facts.values())
        for line in out.splitlines():
            assert width is None or len(line) <= width or " " not in line.strip()
            assert line == line.rstrip()


def test_the_whole_list_has_a_line_for_each_choice(listed) -> None:
    lines = listed().splitlines()
    for group in GROUPS:
        assert group in lines
        for name in CATALOGUE.names(group):
            assert any(line.split()[:1] in ([name], [f"{name}*"]) for line in lines)
    assert max(map(len, listed(width=80).splitlines())) <= 80


def test_defaults_are_marked(listed) -> None:
    assert "  pre* " in listed("norm")
    assert "  post " in listed("norm")


def test_a_pipe_gets_a_row_a_choice_and_no_control_codes(listed) -> None:
    out = listed("pos")
    assert "\x1b" not in out
    headings = out.splitlines()[1].split()
    assert headings[0] == "name"
    assert {"formula", "parameters", "length", "kind", "attention", "needs", "paper"} <= set(
        headings
    )
    rows = out.splitlines()[2 : 2 + len(CATALOGUE.names("pos"))]
    assert [row.split()[0].rstrip("*") for row in rows] == CATALOGUE.names("pos")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("group", GROUPS)
def test_one_choice_in_full(listed, group: str, width: int | None) -> None:
    for name in CATALOGUE.names(group):
        choice = CATALOGUE.choice(group, name)
        assert choice is not None
        told = one_line(listed(f"{group}={name}", width=width))
        assert told.startswith(f"{group}={name}: ")
        prefix = "" if group in PRESETS else f"{group}."
        for option in choice.options:
            assert f" {prefix}{option}=" in told
        for text in (choice.summary, *choice.option_help.values(), *choice.facts.values()):
            assert one_line(text) in told


def test_options_are_shown_as_typed(listed) -> None:
    out = listed("pos=deberta")
    assert "pos.terms=[c2c,c2p,p2c] " in out
    assert "pos.max_distance=null " in out
    assert "pos.share_projections=false " in out
    # What is set by the defaults list of a file is an option too.
    assert "pos@pos.inner=alibi" in listed("pos=randomized")


def test_json(listed) -> None:
    data = json.loads(listed("--format", "json"))
    assert {entry["group"] for entry in data} == set(GROUPS)
    assert json.loads(listed("--json")) == data
    (rope,) = json.loads(listed("pos=rope", "--json"))
    assert rope["default"] is True
    assert rope["options"] == {"base": 10000.0, "layout": "interleaved"}
    assert rope["kind"] == "relative"
    assert set(rope["option_help"]) == set(rope["options"])


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("poss", "Did you mean pos?"),
        ("yarn", "Did you mean `ablate list pos=yarn`?"),
        ("positions", "Did you mean `ablate list study=positions`?"),
        ("none", "Did you mean `ablate list pos=none` or norm=none or"),
        ("pos=rpoe", "Did you mean rope?"),
        ("pos=", "no such choice"),
        ("--jsn", "Did you mean --json?"),
    ],
)
def test_mistakes(capsys: pytest.CaptureFixture[str], word: str, told: str) -> None:
    assert cli.main(["list", word]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
    assert len(err.strip().splitlines()) == 1


def test_your_own_choices_are_listed(listed, tmp_path: Path) -> None:
    (tmp_path / "pos").mkdir()
    (tmp_path / "pos" / "mine.yaml").write_text("# Mine. | x + 1 | Me 2030\n_target_: a.B\n")
    assert "Mine." in listed("pos", "--config-dir", str(tmp_path))
    assert cli.main(["list", "--config-dir", str(tmp_path / "nowhere")]) == 2


def test_a_stream_without_greek_gets_words(ablate) -> None:
    for words in (("list", "pos"), ("list", "--json")):
        done = ablate(*words, env={"PYTHONIOENCODING": "ascii"})
        assert done.returncode == 0, done.stderr
        assert done.stdout.isascii()
    assert "theta" in ablate("list", "pos=rope", env={"PYTHONIOENCODING": "ascii"}).stdout
