import io
import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ablate.record.record import Record
from ablate.run.display import HEARTBEAT, Live, Plain, display
from ablate.run.progress import SO_FAR, CurveWatch, Headway
from ablate.run.summary import IN_WORDS, brief_lines, summary_lines
from tests.run import made_up_run

FOLDER = Path("outputs") / (made_up_run.record().run_id or "")
NAME = FOLDER.name


class Clock:
    """Time that passes when told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def live(clock: Clock, label: Any = lambda losses, **known: "healthy") -> tuple[Live, Console]:
    console = Console(
        file=Terminal(), force_terminal=True, width=120, highlight=False, record=True, _environ={}
    )
    return Live(FOLDER, console, clock, label), console


def picture(display: Live) -> str:
    """The bar and what stands below it, as text."""
    console = Console(file=io.StringIO(), width=120, record=True)
    console.print(display._render())
    return console.export_text()


# the choice of a display


def test_a_pipe_gets_plain_lines_even_when_colour_is_forced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert isinstance(display(FOLDER, io.StringIO()), Plain)


def test_a_terminal_gets_the_bar_and_a_dumb_one_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(display(FOLDER, Terminal()), Live)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(display(FOLDER, Terminal()), Plain)


def test_the_stream_is_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    listener = display(FOLDER)
    listener.start(made_up_run.record(), 0)
    out, err = capsys.readouterr()
    assert out == ""
    start = f"{NAME}\n  started, 1,219,840 parameters, 40 steps of 1,024 tokens on cpu\n"
    assert err == start


# plain lines


def test_a_short_run_is_a_line_and_the_block_that_a_terminal_gets() -> None:
    stream, clock = io.StringIO(), Clock()
    plain = Plain(FOLDER, stream, clock)
    plain.start(made_up_run.record(), 0)
    made_up_run.train([plain], 1, 40)
    plain.message("evaluating at 8L")
    plain.finish(made_up_run.finished())
    text = stream.getvalue()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)
    name, start, *block = text.splitlines()
    assert name == NAME
    assert start.startswith("  started, ")
    assert block == [f"  {line}" for line in summary_lines(made_up_run.finished(), FOLDER)]


def test_one_of_many_names_itself_in_each_of_its_two_short_lines() -> None:
    stream = io.StringIO()
    plain = display(FOLDER, stream, brief=True)
    plain.start(made_up_run.record(), 0)
    made_up_run.train([plain], 1, 40)
    plain.finish(made_up_run.finished())
    start, end = stream.getvalue().splitlines()
    assert start.startswith(f"{NAME}: started, ")
    assert end == (
        f"{NAME}: done: healthy; validation loss 2.312 nats; "
        "accuracy 33.0 % at L, undefined at 8L; 1 min 30 s"
    )


def test_a_long_run_has_a_heartbeat_with_speed_and_time_left() -> None:
    stream, clock = io.StringIO(), Clock()
    plain = Plain(FOLDER, stream, clock)
    plain.start(made_up_run.record(steps=100), 0)
    for step in range(1, 41):
        clock.now += 2.5
        plain.step(step, 3.0)
    beats = stream.getvalue().splitlines()[2:]
    assert beats == [
        "  step 12 of 100, loss 3.000, 410 tokens/s, 3 min 40 s left",
        "  step 24 of 100, loss 3.000, 410 tokens/s, 3 min 10 s left",
        "  step 36 of 100, loss 3.000, 410 tokens/s, 2 min 40 s left",
    ]


def test_what_takes_long_beside_training_is_said() -> None:
    stream, clock = io.StringIO(), Clock()
    plain = Plain(FOLDER, stream, clock)
    plain.message("reading the corpus")
    clock.now += HEARTBEAT
    plain.message("counting the corpus")
    assert stream.getvalue() == "  counting the corpus\n"


def test_a_folder_below_this_one_is_named_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stream = io.StringIO()
    display(tmp_path / FOLDER, stream).finish(made_up_run.finished())
    assert stream.getvalue().endswith(f"files in {FOLDER}\n")


def test_a_resumed_run_says_from_where() -> None:
    stream = io.StringIO()
    Plain(FOLDER, stream).start(made_up_run.record(), 20)
    assert "going on from step 20" in stream.getvalue()


# the bar


def test_the_bar_shows_step_speed_losses_and_diagnosis() -> None:
    clock = Clock()
    listener, _ = live(clock)
    listener.start(made_up_run.record(), 0)
    try:
        listener.step(1, 5.68)
        for step in range(2, 21):
            clock.now += 0.5
            listener.step(step, 2.5)
        listener.validate(20, 2.75)
        shown = picture(listener)
        for fact in (
            "step 20 of 40",
            "2,156 tokens/s",
            "10 s left",
            "loss 2.500",
            "validation 2.750",
            "first loss 5.68 = ln V + 0.13",
            "healthy so far",
        ):
            assert fact in shown
        listener.message("evaluating at 8L")
        assert "evaluating at 8L" in picture(listener)
    finally:
        listener.finish(made_up_run.finished())


def test_the_bar_goes_and_the_summary_stays() -> None:
    listener, console = live(Clock())
    listener.message("reading the corpus")
    listener.start(made_up_run.record(), 0)
    made_up_run.train([listener], 1, 40)
    listener.finish(made_up_run.finished())
    lines = console.export_text().splitlines()
    assert lines[0].strip() == "reading the corpus"
    assert lines[1] == NAME
    at = lines.index("  done: healthy")
    assert lines[at + 1 :] == [
        "  first loss 5.68 = ln V + 0.13",
        "  validation loss 2.312 nats (unigram 3.31, ln V 5.55)",
        "  gradient norm of the first block as a multiple of the last one's, at step 1: "
        "0.5 (parameters), 0.25 (inputs)",
        "  accuracy by context (L = 64): "
        "L/2 31.0 %, L 33.0 %, 2L 25.0 %, 4L undefined, 8L undefined",
        "  1 min 01 s of training at 12,300 tokens/s, 1 min 30 s with evaluation and all",
        f"  files in {FOLDER}",
        "  next: ablate report for the table, ablate board for the curves",
    ]


def test_the_cursor_comes_back() -> None:
    listener, console = live(Clock())
    listener.start(made_up_run.record(), 0)
    listener.finish(made_up_run.record(status="failed", error="OSError: gone"))
    stream = console.file
    assert isinstance(stream, Terminal)
    hidden, shown = stream.getvalue().rfind("\x1b[?25l"), stream.getvalue().rfind("\x1b[?25h")
    assert 0 <= hidden < shown


def test_no_color_leaves_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    listener = display(FOLDER, stream)
    listener.start(made_up_run.record(), 0)
    made_up_run.train([listener], 1, 40)
    listener.finish(made_up_run.finished())
    colours = re.findall(r"\x1b\[([0-9;]*)m", stream.getvalue())
    assert all(int(code or 0) in range(10) for group in colours for code in group.split(";"))


def test_stdout_is_left_to_data(capsys: pytest.CaptureFixture[str]) -> None:
    listener, console = live(Clock())
    listener.start(made_up_run.record(), 0)
    print("2.312")
    print("a warning", file=sys.stderr)
    listener.finish(made_up_run.finished())
    assert capsys.readouterr().out == "2.312\n"
    assert "a warning" in console.export_text()


def test_a_path_longer_than_the_terminal_is_not_broken() -> None:
    folder = Path("outputs") / ("a" * 200)
    console = Console(file=Terminal(), force_terminal=True, width=60, record=True)
    Live(folder, console).finish(made_up_run.finished())
    assert str(folder) in console.export_text()


# the diagnosis so far


def test_the_curve_is_looked_at_every_few_seconds_and_not_at_every_step() -> None:
    clock, looked = Clock(), []

    def label(losses: list[float], **known: float) -> str:
        looked.append(len(losses))
        assert known == {
            "uniform": made_up_run.UNIFORM,
            "unigram": made_up_run.UNIGRAM,
            "steps": 40,
            "targets": None,
        }
        return "stuck"

    diagnosis = CurveWatch(made_up_run.record(), clock, label)
    for step in range(1, 101):
        clock.now += 0.1
        diagnosis.step(step, 3.3)
    assert len(looked) == 5
    assert diagnosis.words()[-1] == SO_FAR["stuck"]


def test_a_costly_look_is_taken_less_often() -> None:
    clock, looked = Clock(), []

    def label(losses: list[float], **known: float) -> None:
        looked.append(len(losses))
        clock.now += 1.0

    diagnosis = CurveWatch(made_up_run.record(), clock, label)
    for step in range(1, 1001):
        clock.now += 0.1
        diagnosis.step(step, 3.3)
    assert len(looked) == 2, "a second of looking in fifty"


def test_nothing_is_said_of_a_curve_too_short_to_judge() -> None:
    clock = Clock()
    diagnosis = CurveWatch(made_up_run.record(), clock, lambda losses, **known: None)
    diagnosis.step(1, 5.68)
    clock.now += 10
    diagnosis.step(2, 5.5)
    assert diagnosis.words() == ["first loss 5.68 = ln V + 0.13"]


def test_the_speed_is_that_of_the_last_half_minute() -> None:
    clock = Clock()
    progress = Headway(made_up_run.record(steps=10_000), 0, clock)
    assert progress.speed() == []
    for seconds in [10.0] * 5 + [1.0] * 60:
        clock.now += seconds
        progress.mark(progress.step + 1)
    assert progress.speed()[0] == "1,024 tokens/s"


# the summary


@pytest.mark.parametrize("status", ["running", "done", "diverged", "failed", "interrupted"])
def test_every_status_has_its_words_and_survives_an_empty_record(status: str) -> None:
    lines = summary_lines(made_up_run.record(status=status), FOLDER)
    assert lines[0].startswith(status)
    assert lines[-1] == f"files in {FOLDER}"


@pytest.mark.parametrize("label", IN_WORDS)
def test_every_label_has_its_words(label: str) -> None:
    first = summary_lines(made_up_run.finished(label=label), FOLDER)[0]
    assert first == f"done: {IN_WORDS[label]}"


def test_a_diverged_run_is_a_result() -> None:
    loss = replace(made_up_run.finished().loss, validation=math.nan, first=56.2)
    record = made_up_run.finished(status="diverged", label="diverged", steps_done=17, loss=loss)
    verdict, first, *_ = summary_lines(record, FOLDER)
    assert verdict.startswith("diverged by step 17 of 40; a result")
    assert "missing final norm" in first


def test_a_run_without_finite_numbers_has_no_accuracy_to_tell() -> None:
    found = made_up_run.finished().extrapolation
    nothing = {key: [None] * len(found.lengths) for key in ("accuracy", "nll", "retention")}
    record = made_up_run.finished(status="diverged", extrapolation=replace(found, **nothing))
    assert "accuracy by context" not in " ".join(summary_lines(record, FOLDER))


def test_a_failure_tells_its_reason() -> None:
    error = "Traceback (most recent call last):\n  File ...\nRuntimeError: out of memory"
    record = made_up_run.record(status="failed", error=error)
    assert summary_lines(record, FOLDER)[0] == "failed at step 0 of 40: RuntimeError: out of memory"


def test_a_first_loss_below_a_uniform_guess_hints_at_a_leak() -> None:
    loss = replace(made_up_run.finished().loss, first=4.0)
    assert "leak" in summary_lines(made_up_run.finished(loss=loss), FOLDER)[1]


def test_of_a_record_that_was_cut_the_status_is_told_and_no_step_that_it_does_not_have() -> None:
    assert brief_lines(Record(status="diverged"), FOLDER) == ["diverged"]
