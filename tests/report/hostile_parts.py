"""Records that someone else wrote: each value of one in turn of another type, in every format."""

import copy
import csv
import io
import json
import random
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ablate.record import study_note
from ablate.report.command import TEXTS, Report
from ablate.report.inference.analysis import analyse
from ablate.report.runs.collect import collect
from ablate.report.runs.shown import shown
from ablate.report.runs.tables import build
from ablate.report.words.sections import sections

EVIL = (
    "\x1b]0;x\x07\x1b[31m\u202eevil\u2066\u200f<script>alert(1)</script>|`x`[a](http://e)"
    "\\input{x}$&%#_^~{}\t\r\n\x00\x85\u2028"
)


def nested(levels: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(levels):
        inner = [inner]
    return inner


ODD: list[Any] = [
    *(None, [], {}, True, False, 10**400, -1, 0, 1.5, 1e308, 1e-320),
    *(float("nan"), float("inf"), -float("inf")),
    *("", "x", "nan", "1e999", EVIL, "\ud800", "=cmd|' /C calc'!A0", "@SUM(1)", "+1", "-1+2"),
    *(nested(900), nested(20), [None], ["x", 1, None], [[1.0], 2], [1.0] * 3, [10**400, 1.0]),
    *({"a": {"b": {"c": 1}}}, {EVIL: EVIL}, [EVIL] * 2, {"_target_": "os.system"}),
]


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where values stand in JSON; of a list the first three."""
    yield at
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*at, key))
    elif isinstance(value, list):
        for i in range(min(3, len(value))):
            yield from places(value[i], (*at, i))


def replaced(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    """The JSON with another value in one place."""
    if not at:
        return new
    value = copy.copy(value)
    value[at[0]] = replaced(value[at[0]], at[1:], new)
    return value


def damaged(record: Any, seed: int) -> Iterator[tuple[tuple[Any, ...], Any, str]]:
    """Every place with every odd value, shuffled: (place, value, JSON)."""
    cases = [(at, odd) for at in places(record) for odd in range(len(ODD))]
    random.Random(seed).shuffle(cases)
    for at, odd in cases:
        yield at, ODD[odd], json.dumps(replaced(record, at, ODD[odd]))


def every_format(study: Path, formats: tuple[str, ...] = tuple(TEXTS)) -> dict[str, str]:
    """The report of a study in each format."""
    runs = collect([study], study.parent)
    table = build(runs)
    analysis = analyse(shown(table))
    skipped = study_note.read(run.directory for run in runs)
    told = sections(analysis, True, skipped=skipped, arm_by_arm=True, in_full=True)
    report = Report(table, table, analysis, told, "ablate report")
    return {name: TEXTS[name](report) for name in formats}


def faults(name: str, text: str) -> list[str]:
    """What may not stand in a report of that format."""
    wrong = [
        f"{name}: {hex(ord(sign))}"
        for sign in sorted(set(text))
        if (unicodedata.category(sign)[0] == "C" and sign != "\n") or sign in "\u2028\u2029"
    ]
    if name == "html" and "<script>alert" in text:
        wrong.append("html: a script")
    if name == "markdown" and ("<script" in text.replace("\\<", "") or "[a](" in text):
        wrong.append("markdown: a script or a link")
    told = [line for line in text.splitlines() if not line.startswith("%")]
    if name == "latex" and any("\\input" in line for line in told):
        wrong.append("latex: a command")
    if name == "csv":
        cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
        formulas = [cell for cell in cells if cell[:1] in {*"=+-@\t\r"} and cell]
        wrong += [f"csv: {cell}" for cell in formulas if not _is_number(cell)]
    return wrong


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
