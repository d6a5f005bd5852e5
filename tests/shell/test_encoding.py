"""No sign is lost where a stream cannot show it, and none is a reason to fail."""

import io
from pathlib import Path

import pytest

from ablate.shell.encoding import SHOWN, stand_in
from tests.conftest import Command

ROOT = Path(__file__).resolve().parents[2]
WORDS = ["é", "ü", "ŷ", "̄", "字", "漢"]  # of examples in docstrings; they are told by their numbers


def written(text: str, encoding: str) -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors=SHOWN)
    stream.write(text)
    stream.flush()
    return raw.getvalue().decode(encoding)


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("ascii", "ln V - 0.13 +-2 caf\\xe9 \\u5b57 \\udce9"),
        ("latin-1", "ln V - 0.13 ±2 café \\u5b57 \\udce9"),
        ("utf-8", "ln V − 0.13 ±2 café 字 \\udce9"),
    ],
)
def test_what_cannot_be_shown_is_replaced_by_what_means_the_same(encoding: str, shown: str) -> None:
    assert written("ln V − 0.13 ±2 café 字 \udce9", encoding) == shown


def test_each_sign_that_we_write_has_a_stand_in() -> None:
    sources = [*(ROOT / "ablate").rglob("*.py"), *(ROOT / "configs").rglob("*.yaml")]
    signs = {sign for path in sources for sign in path.read_text(encoding="utf-8")}
    told_by_number = {sign for sign in signs if stand_in(sign).startswith("\\")} - {"\\"}
    assert told_by_number <= set(WORDS)
    assert all(stand_in(sign).isascii() for sign in signs)


def test_a_command_whose_stream_knows_no_greek(ablate: Command) -> None:
    done = ablate("list", "pos=rope", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "theta" in done.stdout
    assert "?" not in done.stdout
