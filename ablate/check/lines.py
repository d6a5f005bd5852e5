"""Results for a person: a cell in lines, a grid in a table."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from ablate.check.cell import CheckResult
from ablate.check.checks import marks
from ablate.shell.terminal import fold, laid_out, styled

SIGNS = {"ok": "✓", "warning": "!", "broken": "✗"}
COLOURS = {"ok": "green", "warning": "yellow", "broken": "red"}
TOGETHER = "\ue000"
"""Stands for a space at which a cell must not be folded; of no script, and nothing folds at it."""


@dataclass(frozen=True)
class Checked:
    """A cell's names, and what checks said; `differs` holds what tells it from the other cells."""

    name: str
    title: str
    choices: Mapping[str, str]
    differs: Mapping[str, str]
    config: Mapping[str, Any]
    results: Sequence[CheckResult]

    @property
    def broken(self) -> bool:
        """A property that must hold does not."""
        return marks(self.results)["broken"] > 0

    def as_data(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "name": self.name,
            "choices": dict(self.choices),
            "differs": dict(self.differs),
            "ok": not self.broken,
            "marks": marks(self.results),
            "findings": [vars(result) for result in self.results],
            "config": dict(self.config),
        }


def cell_lines(checked: Checked, width: int | None) -> list[Text]:
    """A line a result, folded to `width`, with what to try under those that are not ticked."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for result in checked.results:
        sign = styled((SIGNS[result.mark], COLOURS[result.mark]), f" {result.name}")
        table.add_row(sign, Text(result.text))
        if result.advice and result.mark != "ok":
            advice = Table.grid(padding=(0, 1, 0, 0))
            advice.add_row("try:", Text(result.advice))
            table.add_row("", advice)
    title = styled((checked.title, "bold"))
    return [title, *laid_out(table, width), totals(checked.results)]


def totals(results: Sequence[CheckResult]) -> Text:
    """For example "10 ✓  1 !": how many results have each mark."""
    counted = marks(results)
    shown = [mark for mark in SIGNS if counted[mark] or mark == "ok"]
    return Text("  ").join(styled((f"{counted[m]} {SIGNS[m]}", COLOURS[m])) for m in shown)


def grid_lines(cells: Sequence[Checked], width: int | None) -> list[Text]:
    """A row a cell under headings, then what the headings stand for and what to try."""
    keys = list(dict.fromkeys(key for cell in cells for key in cell.differs))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in (*keys, "excess", "gradient", "growth", "checks"):
        table.add_column(heading, no_wrap=True)
    table.add_column(f"look{TOGETHER}at")
    for cell in cells:
        table.add_row(*(cell.differs.get(key, "") for key in keys), *measured(cell))
    rows = laid_out(table, width)
    for row in rows:
        row.plain = row.plain.replace(TOGETHER, " ")
    legend = (
        "excess: first loss over ln V in nats; gradient: norm at the first block's input over that "
        "at the last's; growth: rms of the stream after the last block over that before the first"
    )
    return [*rows, Text(), *map(Text, fold(legend, width)), *advice_lines(cells, width)]


def measured(cell: Checked) -> list[Text | str]:
    """The numbers of a row, its marks, and the names of results without a tick."""
    values = {result.name: result.values for result in cell.results}
    noted = [
        f"{SIGNS[r.mark]} {r.name}".replace(" ", TOGETHER) for r in cell.results if r.mark != "ok"
    ]
    return [
        number(values.get("first loss", {}).get("excess"), "+.2f"),
        number(values.get("gradients", {}).get("ratio_inputs"), ".2g"),
        number(values.get("activations", {}).get("growth"), ".2g"),
        totals(cell.results),
        ", ".join(noted),
    ]


def number(value: Any, form: str) -> str:
    """A number in a format; a dash where a check failed before it had one."""
    return "–" if value is None else format(value, form)


def advice_lines(cells: Sequence[Checked], width: int | None) -> list[Text]:
    """Each advice once, with how many cells it is for."""
    counted = Counter(
        (result.mark, result.name, result.advice)
        for cell in cells
        for result in cell.results
        if result.mark != "ok"
    )
    lines: list[Text] = []
    for (mark, name, advice), number_of in counted.items():
        head = f"  {name} in {number_of} of {len(cells)}, try: "
        first, *rest = fold(advice, width, head, "    ")
        lines += [styled((SIGNS[mark], COLOURS[mark]), first[1:]), *map(Text, rest)]
    if lines:
        lines += map(Text, fold("ablate check without -m tells a cell in full.", width))
    return lines
