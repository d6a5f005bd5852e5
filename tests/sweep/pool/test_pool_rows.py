"""What is shown of a sweep while it goes on."""

import io
import math
from typing import Any

import pytest
from rich.console import Console

from ablate.run.display import HEARTBEAT
from ablate.shell.encoding import SHOWN
from ablate.sweep.pool import live as pool_display
from ablate.sweep.pool import progress_rows as pool_rows
from ablate.sweep.pool.live import Lines, LiveTable, display, fitting, progress
from ablate.sweep.pool.progress_rows import (
    ELSEWHERE,
    Began,
    Doing,
    RunRow,
    RunRows,
    Stepped,
    Warned,
    distinct,
    sparkline,
)
from ablate.sweep.pool.worker import EVERY, Sender
from tests.run import made_up_run


class Clock:
    """Time that passes when told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


NAMES = [
    f"pos={pos},depth=2,seed={seed}-{pos}{seed}" for pos in ("rope", "none") for seed in (0, 1)
]


def under_way(clock: Clock) -> RunRows:
    """Four runs, two at a time: the first done after 20 s, the second at half after 10 s."""
    rows = RunRows(NAMES, 2, clock)
    rows.start(NAMES[0])
    clock.now += 10
    rows.start(NAMES[1]).take(Began("small", 100, 0))
    clock.now += 10
    rows.rows[NAMES[1]].take(Stepped(50, 2.5, "healthy"))
    rows.end(NAMES[0], "done", "healthy")
    return rows


def test_the_time_left_is_that_of_the_seats_or_of_the_longest_run() -> None:
    clock = Clock()
    rows = under_way(clock)
    # Both runs take 20 s; 10 s of the second and two more are to come, on two seats.
    assert rows.left() == pytest.approx((10 + 2 * 20) / 2)
    for name in NAMES[2:]:
        rows.end(name, "done", None)
    assert rows.left() == pytest.approx(10)


def test_a_run_that_goes_on_is_timed_by_the_steps_since() -> None:
    clock = Clock()
    row = RunRows(NAMES, 1, clock).start(NAMES[0])
    row.take(Began("small", 100, 80))
    assert row.whole(clock.now) is None
    clock.now += 10
    row.take(Stepped(90, 2.0, None))
    assert row.whole(clock.now) == pytest.approx(20)


def test_what_others_do_is_not_waited_for_in_the_estimate() -> None:
    clock = Clock()
    rows = under_way(clock)
    rows.end(NAMES[2], ELSEWHERE, None)
    assert rows.left() == pytest.approx((10 + 20) / 2)
    assert "1 in the hands of other processes" in pool_display.summary(rows)


def test_a_sparkline_shows_a_fall_and_what_is_not_finite() -> None:
    assert sparkline([]) == ""
    assert sparkline([3.0]) == "▁"
    assert len(sparkline([1.0 / (i + 1) for i in range(1000)])) <= 16
    assert sparkline([2.0, math.nan, 1.0]) == "█!▁"


def test_names_are_told_apart_by_what_differs() -> None:
    assert distinct(NAMES) == [
        "pos=rope,seed=0",
        "pos=rope,seed=1",
        "pos=none,seed=0",
        "pos=none,seed=1",
    ]
    assert distinct(["a=1-x", "a=1-y"]) == ["a=1-x", "a=1-y"]
    assert distinct(["a=1-x"]) == ["a=1"]


def test_of_many_rows_the_running_and_the_latest_are_shown() -> None:
    rows = [
        RunRow(str(i), "done" if i < 20 else "running" if i < 22 else "waiting") for i in range(40)
    ]
    shown, hidden = fitting(rows, 10)
    names = [row.name for row in shown]
    assert len(shown) + hidden == 40
    assert len(shown) == 9
    assert {"20", "21", "22", "19"} <= set(names)
    assert names == sorted(names, key=int)
    assert fitting(rows[:5], 10) == (rows[:5], 0)


def test_a_pipe_gets_a_line_a_start_and_an_end_and_a_heartbeat() -> None:
    clock, stream = Clock(), io.StringIO()
    rows = under_way(clock)
    lines = Lines(rows, stream, clock)
    row = rows.rows[NAMES[1]]
    for event in (Began("9 parameters", 100, 0), Stepped(50, 2.5, None), Doing("x"), Warned("odd")):
        row.take(event)
        lines.heard(row, event)
    lines.tick()
    clock.now += HEARTBEAT
    lines.tick()
    lines.tick()
    lines.ended(row, "done: healthy")
    short = distinct(NAMES)[1]
    assert len(short) < len(NAMES[1])
    assert stream.getvalue().splitlines() == [
        f"{short}: started, 9 parameters",
        f"{short}: warning: odd",
        "1 of 4 ended, 1 running, about 1 min 10 s left (running: step 50 of 100)",
        f"{short}: done: healthy",
    ]


def picture(rows: RunRows, clock: Clock, width: int = 100) -> str:
    """The live table as text."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    console = Console(file=stream, force_terminal=True, width=width, height=30, _environ={})
    shown = Console(file=io.StringIO(), width=width, height=30, record=True)
    shown.print(LiveTable(rows, console, clock).picture())
    return shown.export_text()


def test_a_terminal_gets_a_row_a_run_and_the_time_left() -> None:
    clock = Clock()
    rows = under_way(clock)
    text = picture(rows, clock)
    for fact in ("pos=rope,seed=0", "done", "step 50 of 100", "2.500", "▁", "healthy so far"):
        assert fact in text
    assert text.count("waiting") == 2
    assert "1 of 4 ended, 1 running, about 25 s left" in text
    rows.rows[NAMES[1]].take(Doing("evaluating"))
    assert "evaluating" in picture(rows, clock)


def test_the_losses_shown_are_smoothed_and_validation_ones_once_there_are_any() -> None:
    """Two seeds that learn alike and whose last batches differ are not ranked by these."""
    clock, rows = Clock(), RunRows(NAMES, 2)
    for name, last in ((NAMES[0], 1.0), (NAMES[1], 4.0)):
        row = rows.start(name)
        sender = Sender(row.take, clock)
        sender.start(made_up_run.record(steps=200), 0)
        for step in range(1, 201):
            clock.now += EVERY
            sender.step(step, 2.5 if step < 200 else last)
    *heading, first, second = picture(rows, clock).splitlines()[:5]
    assert " ".join(heading).split()[:2] == ["smoothed", "training"]
    assert "val." not in " ".join(heading)
    assert "2.350" in first
    assert "2.650" in second
    sender.validate(200, 2.481)
    for width in (60, 100):
        *heading, _, second = picture(rows, clock, width=width).splitlines()[:5]
        assert "val." in " ".join(heading)
        assert "step 200 of 200" in second
        assert second.split()[5:7] == ["2.650", "2.481"]


def test_a_narrow_terminal_keeps_the_numbers() -> None:
    clock = Clock()
    rows = under_way(clock)
    rows.rows[NAMES[1]].take(Doing("evaluating sliding-window, 128 windows of 512"))
    text = picture(rows, clock, width=60)
    for fact in ("step 50 of 100", "2.500", "evaluating"):
        assert fact in text
    assert max(map(len, text.splitlines())) <= 60


def test_a_terminal_without_unicode_gets_digits_for_bars() -> None:
    clock, raw = Clock(), io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", errors=SHOWN)
    console = Console(file=stream, width=100, height=30, _environ={})
    console.print(LiveTable(under_way(clock), console, clock).picture())
    stream.flush()
    assert b"2.500  1  healthy so far" in raw.getvalue()
    assert progress(RunRow("a", "running", steps=10, step=5)) == "step 5 of 10"


def test_the_display_follows_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    rows = RunRows(NAMES, 1)
    assert isinstance(display(rows, io.StringIO()), Lines)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(display(rows, Terminal()), Lines)
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    table = display(rows, stream)
    assert isinstance(table, LiveTable)
    table.open()
    table.say("a line")
    table.close()
    written = stream.getvalue()
    assert "a line" in written
    assert written.rfind("\x1b[?25l") < written.rfind("\x1b[?25h")  # the cursor comes back


def test_a_process_tells_of_steps_a_few_times_a_second_and_of_the_last_one() -> None:
    clock, sent = Clock(), list[Any]()
    sender = Sender(sent.append, clock)
    sender.start(made_up_run.record(), 0)
    for step in range(1, 41):
        clock.now += EVERY / 4.5
        sender.step(step, 3.0)
    steps = [event.step for event in sent if isinstance(event, Stepped)]
    assert steps == [5, 10, 15, 20, 25, 30, 35, 40]
    sender.message("x" * 10_000)
    assert len(sent[-1].text) <= 500


def test_bars_reach_from_the_lowest_to_the_highest() -> None:
    assert set(sparkline([float(i) for i in range(8)])) == set(pool_rows.BARS)
