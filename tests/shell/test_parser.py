"""Every verb tells a mistake in its words alike: one line, exit code 2, nothing on stdout."""

import pytest

from ablate.cli import VERBS, main

WORDS = {"diff": ["a", "b"], "evaluate": ["a"], "sample": ["a"]}
"""What a verb needs beside its flags."""


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("flag", ["--hlep", "--bogus", "-z", "--bogus=3"])
def test_an_unknown_flag_is_told_in_a_line(
    verb: str, flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in ([flag], [flag, *WORDS.get(verb, [])], [*WORDS.get(verb, []), flag]):
        if verb == "run" and "=" in flag:
            continue  # `--depth=3` is more likely a setting
        assert main([verb, *words]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"ablate: {flag.partition('=')[0]}: no such flag; flags are -")
        assert err.count("\n") == 1
        assert ("Did you mean --help?" in err) == (flag == "--hlep")


@pytest.mark.parametrize("verb", VERBS)
def test_help_is_for_stdout(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    if verb == "run":
        assert main([verb, "--help"]) == 0
    else:
        with pytest.raises(SystemExit, match="0"):
            main([verb, "--help"])
    out, err = capsys.readouterr()
    assert f"usage: ablate {verb}" in out
    assert err == ""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["report", "--margin", "x"], "--margin: x: must be a number above 0"),
        (["report", "--margin", "-1"], "--margin: -1: must be a number above 0"),
        (["report", "--format", "xls"], "--format: invalid choice: 'xls'"),
        (["board", "--port=-1"], "--port: '-1' is not a port"),
        (["diff", "a"], "the following arguments are required: B (see ablate diff --help)"),
        (["sample", "a", "--temperature", "-1"], "--temperature -1.0: must be 0 or more"),
        (["list", "--config-dir"], "--config-dir: expected one argument"),
    ],
)
def test_a_value_that_a_flag_cannot_have_is_told_in_a_line(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    err = capsys.readouterr().err
    assert err.startswith("ablate: ")
    assert told in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_is_no_setting(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", verb]) == 2
    assert f"{verb}: one command at a time" in capsys.readouterr().err
