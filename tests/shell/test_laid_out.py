"""A rich table in lines for a width: nothing of it is cut."""

import pytest
from rich.table import Table

from ablate.shell.terminal import laid_out


def table() -> Table:
    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True)
    made.add_column()
    made.add_row("first loss", "as its logits lead one to expect, unquestionably")
    made.add_row("size", "small")
    return made


def test_without_a_width_a_row_is_a_line() -> None:
    assert list(map(str, laid_out(table(), None))) == [
        "first loss  as its logits lead one to expect, unquestionably",
        "size        small",
    ]


@pytest.mark.parametrize("width", [10, 26, 40])
def test_a_row_is_folded_under_itself_and_nothing_is_cut(width: int) -> None:
    lines = list(map(str, laid_out(table(), width)))
    assert " ".join(lines).split() == " ".join(map(str, laid_out(table(), None))).split()
    assert lines[0].startswith("first loss  as")
    assert all(line.startswith(" " * 12) for line in lines[1:-1])
    longest = len("first loss  unquestionably")
    assert max(map(len, lines)) <= max(width, longest)
