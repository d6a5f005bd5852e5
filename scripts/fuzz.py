"""Random command lines of all verbs: python scripts/fuzz.py [--lines N] [--seed N].

Each line is done up to where a run would train, be measured or be served. It fails where it ends in
a traceback or in two minutes not at all, says more than a refusal needs, or is refused and leaves
a file. Prints how the lines ended, then those that failed.
"""

import argparse
import collections
import contextlib
import io
import random
import shlex
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from ablate.cli import main
from ablate.config.catalogue import COMPONENTS, Catalogue
from ablate.config.schema import flatten
from ablate.config.values import write

PATIENCE = 120  # seconds; a corpus that is read for the first time takes 10 on an idle machine
TINY = ("size=tiny", "steps=1", "batch_size=2", "evaluate.lengths=[1]", "evaluate.windows=4")
CATALOGUE = Catalogue()

ODD = [
    *("", "0", "1", "-1", "2", "3", "0.5", "1e3", "1_0", "010", "0x10", "1e999", "nan", "-inf"),
    *("99999999999999999999", "9" * 5000, "null", "~", "true", "On", "off", "yes", "None", ".5"),
    *("2024_10_01", "2024-10-01", "1:30", "[]", "[1,2]", "[0.5,[1]]", "{}", "{a:1}", "{a:{b:c}}"),
    *("''", "'null'", '"a b"', "a b", "a=b", "a,b", ",", "a,", "..", ".", "/", "a/b", "../x"),
    *(
        ".hidden",
        "x" * 300,
        "größe",
        "gro\u0308ße",
        "漢字",
        "a\u202eb",
        "a\nb",
        "a\x1b[31m",
        "\udc80",
    ),
    *("${depth}", "${lr}", "${now:%Y}", "${oc.env:HOME}", "${nothing}", "${", "${study}", "$x"),
    *("${oc.deprecated:depth}", "${evaluate.lengths}", "${pos}", "${seed}", "${.lr}", "${${a}}"),
    *("range(0,3)", "range(3)", "choice(1,2)", "glob(*)", "glob(r*)", "interval(0,1)", "sort(2,1)"),
    *("0..2", "2..0", "0..2000000000", "1..", "int(3)", "str(3)", "shuffle(1,2)", "tag(a,1)"),
    *(
        "/dev/stdin",
        "/dev/null",
        "/proc/self/mem",
        "/root",
        "missing.txt",
        "*.txt",
        "**",
        "[a",
        "\\",
    ),
    *(
        "<b>",
        "%s",
        "{0}",
        "-",
        "--",
        "=",
        "==",
        "+",
        "'",
        '"',
        "#",
        "!",
        "a;b",
        "a&b",
        "a|b",
        "~/x",
    ),
]


def usual_values() -> dict[str, str]:
    """Every key and option with a value that it may have."""
    options = {
        f"{group}.{option}": value
        for group in COMPONENTS
        for name in CATALOGUE.names(group)
        for option, value in CATALOGUE.choice(group, name).options.items()  # type: ignore[union-attr]
    }
    return {
        key: write(value) for key, value in {**flatten(CATALOGUE.defaults()), **options}.items()
    }


USUAL = usual_values()
WRONG = ["dpeth", "pos.bse", "a.b.c", "pos._target_", "hydra.run.dir", "hydra/launcher", "", "é"]
KEYS = [*CATALOGUE.groups() * 4, *USUAL, *WRONG, "hydra.job.name", "pos@pos.inner", "run", "log"]


FLAGS = {
    "run": [
        *("-m", "size=tiny", "pos=rope", "seed=0..4", "lr=1e-3,3e-3", "--multirun", "--cfg", "job"),
        *("--study", "warmup", "--config-dir", ".", "--wat"),
    ],
    "check": ["-m", "--json", "--format", "json", "--config-dir", "nowhere", "--wat"],
    "report": [
        *("--by", "--where", "--sort", "--baseline", "--within", "--metric", "--margin", "--json"),
        *("--choose", "--selection-seeds", "--ledger", "--all", "--runs", "--format", "csv", "-o"),
        *("--outputs", "markdown", "latex", "html", "val_loss", "acc_1L", "default"),
    ],
    "diff": ["--outputs", "--json", "pos=rope", "pos=alibi", "seed=0", "default", "--wat"],
    "list": ["pos", "norm", "pos=rope", "study", "--json", "--format", "--config-dir", "corpus"],
    "board": ["--port", "--host", "default", "--outputs", "--wat"],
    "evaluate": ["pos=rope", "pos=alibi", "--json", "--outputs", "--config-dir", "--wat"],
    "sample": [
        *("pos=rope", "--prompt", "--tokens", "--temperature", "--seed", "--outputs", "--wat"),
    ],
    "nonsense": ["--version"],
}


def word(draw: random.Random) -> str:
    """A setting, right or wrong."""
    key = draw.choice(KEYS)
    names = CATALOGUE.names(key)
    usual = names or ([USUAL[key]] if key in USUAL else ODD)
    many = draw.choice([1, 1, 1, 1, 2, 3])
    values = [draw.choice(usual if draw.random() < 0.8 else ODD) for _ in range(many)]
    sign = draw.choice([""] * 60 + ["+", "++", "~", "-", "--"])
    return sign + key + draw.choice(["="] * 60 + ["", ":", "=="]) + ",".join(values)


def command(draw: random.Random) -> list[str]:
    """A command line."""
    verb = draw.choice(list(FLAGS))
    words = ["-m"] * (verb in ("run", "check") and draw.random() < 0.5)
    for _ in range(draw.choice([0, 1, 1, 1, 2, 2, 3, 5])):
        kind = draw.random() if verb not in ("run", "check") else draw.uniform(0.35, 0.9)
        words.append(
            draw.choice(FLAGS[verb])
            if kind < 0.45
            else word(draw)
            if kind < 0.85
            else draw.choice(ODD)
        )
    return [verb, *words]


class Begun(Exception):
    """A line was accepted, and would now take its time."""


class Hung(BaseException):
    """A line takes too long."""


def begin(*_: Any, **__: Any) -> Any:
    """Stand in for what takes its time."""
    raise Begun


SLOW = (
    "ablate.sweep.command.do_runs",
    "ablate.sweep.command.already_done",
    "ablate.sweep.search.hand_to_hydra",
    "ablate.check.command.make_cell",
    "ablate.evaluate.command.measure",
    "ablate.sample.command.continuation",
    "ablate.board.command.serve",
)


@contextlib.contextmanager
def nothing_slow() -> Iterator[None]:
    """Inside, no run is trained, measured or served, and no process is started."""
    with contextlib.ExitStack() as undo:
        for name in SLOW:
            undo.enter_context(mock.patch(name, begin))
        undo.enter_context(mock.patch("ablate.sweep.command.warm_up"))
        yield


def files(folder: Path) -> set[str]:
    """All paths below a folder."""
    return {str(path) for path in folder.rglob("*")}


def try_line(words: list[str], folder: Path) -> tuple[str, str]:
    """How a line ended in `folder`, the current one, and what is wrong with that, or nothing."""
    out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors=e)
        for e in ("strict", "backslashreplace")
    )
    before = files(folder)

    def hang(*_: Any) -> None:
        raise Hung

    signal.signal(signal.SIGALRM, hang)
    signal.alarm(PATIENCE)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            ended = f"exit {main(words)}"
    except Begun:
        return "begun", ""
    except Hung:
        return "hung", f"more than {PATIENCE} s"
    except BaseException as error:
        return "traceback", "".join(traceback.format_exception(error)[-4:])
    finally:
        signal.alarm(0)
    err.flush()
    said = err.buffer.getvalue().decode()  # type: ignore[attr-defined]
    if "Traceback" in said:
        return "traceback", said
    if ended == "exit 2":
        if new := files(folder) - before:
            return "left files", ", ".join(sorted(new))
        last = said[said.rfind("\nablate: ") + 1 :]
        if not last.startswith(("ablate: ", "usage: ")) or last.count("\n") > 3:
            return "many words", said
    return ended, ""


def make_runs() -> None:
    """Two finished runs under outputs/, for the verbs that read some."""
    for pos in ("rope", "alibi"):
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            assert main(["run", f"pos={pos}", *TINY]) == 0


def failures(count: int, seed: int, ended: collections.Counter[str]) -> Iterator[str]:
    """Lines that failed, out of `count` in a fresh folder, which becomes the current one."""
    draw = random.Random(seed)
    with nothing_slow():
        for _ in range(count):
            words = command(draw)
            how, wrong = try_line(words, Path.cwd())
            ended[how] += 1
            if wrong:
                yield f"{how}: ablate {shlex.join(words)[:300]!r}\n{wrong}"


def fuzz() -> int:
    """Do what the command line asks; 1 where a line failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    failed = 0
    ended: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        make_runs()
        for text in failures(options.lines, options.seed, ended):
            failed += 1
            print(text, flush=True)
    print(f"{options.lines} lines: {dict(ended)}; {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(fuzz())
