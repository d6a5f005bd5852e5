"""The page's ledger: what each arm was given."""

from collections.abc import Callable

from ablate.report.inference.analysis import Analysis
from ablate.report.inference.ledger import LedgerRow
from ablate.report.page.grid import Grid, GridCell, Head
from ablate.report.runs.settings import text
from ablate.shell.clean import clean

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
        [[row[place] for place in told] for row in rows] if len(told) > 1 else [],
    )


def _ledger_row(row: LedgerRow) -> list[GridCell]:
    cells = [GridCell(clean(row.arm))]
    for name, (_, number) in FIELDS.items():
        values = row.values.get(name, ())
        short: Callable[[str], str] = _grouped if number else (lambda value: value[:30])
        if name == "corpus":
            values = tuple(value[:12] for value in values)
        shown = ", ".join(short(value) for value in values) or "–"
        cells.append(GridCell(shown, _plain(values[0]) if number and values else None))
    seconds = row.seconds
    cells.append(GridCell("–") if seconds is None else GridCell(f"{seconds:,.1f}", seconds))
    return [*cells, GridCell(clean(row.lr_choice))]


def _plain(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def _grouped(value: str) -> str:
    number = _plain(value)
    return f"{number:,.0f}" if number is not None and abs(number) >= 1000 else text(value)
