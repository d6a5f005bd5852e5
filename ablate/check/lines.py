"""Findings for a person: a cell in lines, a grid in a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ablate.check.cell import CheckResult
from ablate.check.checks import marks
from ablate.shell.terminal import fold, styled

SIGNS = {"ok": "✓", "warning": "!", "broken": "✗"}
COLOURS = {"ok": "green", "warning": "yellow", "broken": "red"}
NAME_WIDTH = 13
TOGETHER = "\N{NO-BREAK SPACE}"
"""Stands for a space at which a line must not be folded."""


@dataclass(frozen=True)
class Checked:
    """A cell's names, and what was found; `differs` holds what tells it from the other cells."""

    name: str
    title: str
    choices: Mapping[str, str]
    differs: Mapping[str, str]
    config: Mapping[str, Any]
    findings: Sequence[CheckResult]

    @property
    def broken(self) -> bool:
        """A property that must hold does not."""
        return marks(self.findings)["broken"] > 0

    def as_data(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "name": self.name,
            "choices": dict(self.choices),
            "differs": dict(self.differs),
            "ok": not self.broken,
            "marks": marks(self.findings),
            "findings": [vars(finding) for finding in self.findings],
            "config": dict(self.config),
        }


def cell_lines(checked: Checked, width: int | None) -> list[Any]:
    """A line a finding, folded to `width`, with what to try under those that are not ticked."""
    lines: list[Any] = [styled((checked.title, "bold"))]
    for finding in checked.findings:
        sign = SIGNS[finding.mark]
        indent = " " * (NAME_WIDTH + 3)
        first, *rest = fold(finding.text, width, f"  {finding.name:{NAME_WIDTH}}", indent)
        lines += [styled((sign, COLOURS[finding.mark]), first[1:]), *rest]
        if finding.advice and finding.mark != "ok":
            lines += fold(finding.advice, width, f"{indent}try: ", f"{indent}     ")
    return [*lines, totals(checked.findings)]


def totals(findings: Sequence[CheckResult]) -> Any:
    """For example "10 ✓  1 !": how many findings have each mark."""
    counted = marks(findings)
    shown = [mark for mark in SIGNS if counted[mark] or mark == "ok"]
    parts = [(f"{counted[mark]} {SIGNS[mark]}", COLOURS[mark]) for mark in shown]
    spaced = [part for pair in zip(parts, [("  ", "")] * len(parts), strict=True) for part in pair]
    return styled(*spaced[:-1])


def grid_lines(cells: Sequence[Checked], width: int | None) -> list[Any]:
    """A row a cell under headings, then what the signs stand for and what to try."""
    keys = list(dict.fromkeys(key for cell in cells for key in cell.differs))
    headings = [*keys, "excess", "gradient", "growth", "checks", "look at"]
    rows = [[*(cell.differs.get(key, "") for key in keys), *measured(cell)] for cell in cells]
    sizes = [max(len(row[i]) for row in [headings, *rows]) for i in range(len(headings))]
    lines: list[Any] = [styled((spread(headings, sizes), "bold"))]
    for row in rows:
        *left, noted = row
        head = spread(left, sizes[:-1]) + "  "
        folded = fold(noted, width, head, " " * len(head)) if noted else [head.rstrip()]
        lines += [line.replace(TOGETHER, " ") for line in folded]
    legend = (
        "excess: first loss over ln V in nats; gradient: norm at the first block's input over that "
        "at the last's; growth: rms of the stream after the last block over that before the first"
    )
    lines += ["", *fold(legend, width)]
    return [*lines, *advice_lines(cells, width)]


def measured(cell: Checked) -> list[str]:
    """The numbers of a row, its marks, and the names of findings without a tick."""
    values = {finding.name: finding.values for finding in cell.findings}
    noted = [
        f"{SIGNS[f.mark]} {f.name}".replace(" ", TOGETHER) for f in cell.findings if f.mark != "ok"
    ]
    return [
        number(values.get("first loss", {}).get("excess"), "+.2f"),
        number(values.get("gradients", {}).get("ratio_inputs"), ".2g"),
        number(values.get("activations", {}).get("growth"), ".2g"),
        str(totals(cell.findings)),
        ", ".join(noted),
    ]


def number(value: Any, form: str) -> str:
    """A number in a format; a dash where a check failed before it had one."""
    return "–" if value is None else format(value, form)


def spread(cells: Sequence[str], sizes: Sequence[int]) -> str:
    """Cells in columns."""
    return "  ".join(f"{cell:{size}}" for cell, size in zip(cells, sizes, strict=True)).rstrip()


def advice_lines(cells: Sequence[Checked], width: int | None) -> list[Any]:
    """Each advice once, with how many cells it is for."""
    counted: dict[tuple[str, str, str], int] = {}
    for cell in cells:
        for f in cell.findings:
            if f.mark != "ok":
                key = (f.mark, f.name, f.advice)
                counted[key] = counted.get(key, 0) + 1
    lines: list[Any] = []
    for (mark, name, advice), number_of in counted.items():
        head = f"  {name} in {number_of} of {len(cells)}, try: "
        first, *rest = fold(advice, width, head, "    ")
        lines += [styled((SIGNS[mark], COLOURS[mark]), first[1:]), *rest]
    if lines:
        lines += fold("ablate check without -m tells a cell in full.", width)
    return lines
