"""Tables of the page: cells with what they show and what they are sorted by."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ablate.report.analysis import Analysis
from ablate.report.columns import LENGTH, Column
from ablate.report.contrasts import Contrast
from ablate.report.figures.view import number_first
from ablate.report.ledger import LedgerRow
from ablate.report.settings import text
from ablate.report.summary import columns_shown, facts
from ablate.report.tables import Table
from ablate.report.texts import cell_parts, clean, key_text, label_parts, status_parts

FILTERED = 6  # columns that get a menu to filter by
VALUES = 40  # of a menu


@dataclass(frozen=True)
class Head:
    """A column's heading, what it means, and whether it holds numbers or words to filter by."""

    name: str
    meaning: str = ""
    number: bool = False
    menu: bool = False


@dataclass(frozen=True)
class Cell:
    """What a cell shows, what it is sorted by if that is another thing, and its kind for colour."""

    text: str
    value: Any = None
    kind: str = ""
    bars: list[float] = field(default_factory=list)
    parts: list[tuple[str, str]] = field(default_factory=list)  # texts, each with its kind


@dataclass(frozen=True)
class Grid:
    """A table with its menus: column → values."""

    name: str
    title: str
    caption: str
    heads: list[Head]
    rows: list[list[Cell]]

    @property
    def menus(self) -> list[tuple[int, str, list[str]]]:
        """Return (column, heading, values) of the menus."""
        columns = [[row[place].text for row in self.rows] for place in range(len(self.heads))]
        heads = [head.name if head.menu else "" for head in self.heads]
        return menus(list(zip(heads, columns, strict=True)))


def menus(columns: Sequence[tuple[str, Sequence[str]]]) -> list[tuple[int, str, list[str]]]:
    """Return (place, heading, values) of the named columns with a choice, at most `FILTERED`."""
    found = []
    for place, (name, column) in enumerate(columns):
        values = [value for value in dict.fromkeys(column) if value]
        if name and 1 < len(values) <= VALUES:
            found.append((place, name, sorted(values, key=number_first)))
    return found[:FILTERED]


def arms(table: Table) -> Grid:
    """The rows of the report's table with its columns, and what each row took."""
    lengths = facts(table)["train_lengths"]
    columns = columns_shown(table)
    heads = [Head(key, menu=True) for key in table.keys]
    heads += [Head("status", "what happened to the processes", menu=True)]
    heads += [Head("label", "what the training curves look like", menu=True)]
    for column in columns:
        heads.append(Head(_heading(column, lengths), column.meaning, number=True))
        if column.key == "grad_ratio":
            told = "gradient norm by block at step 1, first to last, log scale"
            heads.append(Head("grad. by block", told))
    rows = []
    for row in table.rows:
        cells = [Cell(key_text(row, key), row.keys.get(key)) for key in table.keys]
        cells.append(_counts(status_parts(row)))
        cells.append(_counts(label_parts(row)))
        for column in columns:
            cell = row.cells[column.key]
            shown = " ".join(cell_parts(cell, column, len(row.runs)))
            kind = "undefined" if cell.undefined else ""
            cells.append(Cell(shown, cell.mean, kind))
            if column.key == "grad_ratio":
                cells.append(Cell("", bars=_heights(row.profile)))
        rows.append(cells)
    what = {"arm": "an arm over its seeds", "group": "a group of arms"}.get(table.grouped, "a run")
    return Grid("arms", "Results", f"A row is {what}.", heads, rows)


def _heading(column: Column, lengths: Sequence[Any]) -> str:
    name = column.heading.replace("-\n", "").replace("\n", " ")
    if column.panel == LENGTH and name.endswith(" L") and len(lengths) == 1:
        return f"{name} = {lengths[0]:g}"
    return name


def _counts(parts: Sequence[str]) -> Cell:
    """A cell of counts such as "2 done", "1 failed", each in the colour of its word."""
    return Cell(" ".join(parts), parts=[(part, part.split(" ")[-1]) for part in parts])


def _heights(profile: Sequence[float | None]) -> list[float]:
    """Return bars of 0 (nothing) or 0.08 to 1, on a log scale that spans at least a decade."""
    import math

    logs = [math.log10(norm) for norm in profile if norm]
    if not logs:
        return []
    top, span = max(logs), max(1.0, max(logs) - min(logs))
    return [
        0.0 if not norm else round(0.08 + 0.92 * (1 - (top - math.log10(norm)) / span), 3)
        for norm in profile
    ]


def differences(analysis: Analysis) -> list[Grid]:
    """Arms against the baseline, main effects and interactions with intervals and verdicts."""
    unit = analysis.unit
    better = "higher" if analysis.higher_is_better else "lower"
    parts: list[tuple[str, str, Sequence[Contrast], str]] = [
        (
            "contrasts",
            f"Arms against {analysis.baseline}",
            analysis.contrasts,
            f"{analysis.meaning}; {better} is better. Baseline: {analysis.baseline_reason}.",
        ),
        (
            "main-effects",
            "Main effects",
            analysis.effects if len(analysis.factors) > 1 else (),
            "A level against the reference level, over all settings of the other factors that both"
            " have.",
        ),
        (
            "interactions",
            "Interactions",
            analysis.interactions,
            "By how much one difference changes with the level of another factor.",
        ),
    ]
    return [
        _contrasts(Grid(name, title, caption, _contrast_heads(unit), []), found)
        for name, title, found, caption in parts
        if found
    ]


def _contrasts(empty: Grid, found: Sequence[Contrast]) -> Grid:
    """Fill a grid of contrasts; a column that says the same in every row is left out."""
    rows = [_contrast(one) for one in found]
    told = [
        place
        for place, head in enumerate(empty.heads)
        if head.name not in ("against", "diverged") or len({row[place].text for row in rows}) > 1
    ]
    heads = [empty.heads[place] for place in told]
    return replace(empty, heads=heads, rows=[[row[place] for place in told] for row in rows])


def _contrast_heads(unit: str) -> list[Head]:
    of = f", {unit}" if unit else ""
    return [
        Head("what"),
        Head("against"),
        Head(f"difference{of}", "mean over seeds of the paired differences", number=True),
        Head("95 % interval", "t-interval over seeds", number=True),
        Head("p (Holm)", "two-sided p of no difference, corrected over this table", number=True),
        Head("verdict", "at the stated margin; see the notes", menu=True),
        Head("seeds", "that both sides have", number=True),
        Head("diverged", "of the paired runs, on either side"),
    ]


def _contrast(one: Contrast) -> list[Cell]:
    found = one.difference
    interval = Cell("–")
    if found.low is not None and found.high is not None:
        interval = Cell(f"{found.low:+.3f} to {found.high:+.3f}".replace("-", "−"), found.low)
    mean = Cell("–") if found.mean is None else _signed(found.mean)
    p = Cell("–") if one.p_holm is None else Cell(_p(one.p_holm), one.p_holm)
    diverged = " : ".join(map(str, one.diverged)) + f" of {one.of}" if any(one.diverged) else "–"
    verdict = one.verdict
    if one.kind == "interaction" and verdict in ("better", "worse"):
        return [
            *(Cell(clean(one.name)), Cell(clean(one.against)), mean, interval, p),
            *(Cell("interact", kind="mattered"), Cell(str(found.n), found.n), Cell(diverged)),
        ]
    return [
        *(Cell(clean(one.name)), Cell(clean(one.against)), mean, interval, p),
        *(Cell(verdict, kind=verdict), Cell(str(found.n), found.n), Cell(diverged)),
    ]


def _signed(value: float) -> Cell:
    return Cell(f"{value:+.3f}".replace("-", "−"), value)


def _p(value: float) -> str:
    """Return a p value.

    >>> _p(0.0314), _p(0.00001)
    ('0.031', '< 0.001')
    """
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


FIELDS: dict[str, tuple[str, bool]] = {
    "parameters": ("parameters", True),
    "flops_per_token": ("flops / token", True),
    "tokens": ("tokens seen", True),
    "steps": ("steps", True),
    "batch_size": ("batch", True),
    "seq_len": ("L", True),
    "lr": ("lr", True),
    "warmup": ("warmup", False),
    "corpus": ("corpus sha256", False),
    "code": ("ablate", False),
    "torch": ("torch", False),
    "device": ("device", False),
    "threads": ("threads", True),
}


def ledger(analysis: Analysis) -> Grid:
    """What each arm was given; what is the same for all stands in the caption."""
    heads = [Head("arm"), *(Head(name, number=number) for name, number in FIELDS.values())]
    heads += [Head("time, s", "mean of its finished runs", number=True), Head("how lr was chosen")]
    rows = [_ledger_row(row) for row in analysis.ledger]
    alike = [
        place
        for place in range(1, len(heads))
        if len(rows) > 1 and len({row[place].text for row in rows}) == 1
    ]
    told = [place for place in range(len(heads)) if place not in alike]
    shared = ", ".join(f"{heads[place].name} {rows[0][place].text}" for place in alike)
    caption = f"The same for all arms: {shared}. " if shared else ""
    return Grid(
        "ledger",
        "What each arm was given",
        f"{caption}Several values in a cell are those of different runs of the arm.",
        [heads[place] for place in told],
        [[row[place] for place in told] for row in rows],
    )


def _ledger_row(row: LedgerRow) -> list[Cell]:
    cells = [Cell(clean(row.arm))]
    for name, (_, number) in FIELDS.items():
        values = row.values.get(name, ())
        short: Callable[[str], str] = _grouped if number else (lambda value: value[:30])
        if name == "corpus":
            values = tuple(value[:12] for value in values)
        shown = ", ".join(short(value) for value in values) or "–"
        cells.append(Cell(shown, _plain(values[0]) if number and values else None))
    seconds = row.seconds
    cells.append(Cell("–") if seconds is None else Cell(f"{seconds:,.1f}", seconds))
    return [*cells, Cell(clean(row.lr_choice))]


def _plain(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def _grouped(value: str) -> str:
    number = _plain(value)
    return f"{number:,.0f}" if number is not None and abs(number) >= 1000 else text(value)
