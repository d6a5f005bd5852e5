"""A comparison of two sides as text."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ablate.diff.parting import FEWEST, Points, spark
from ablate.diff.sides import Number, Side
from ablate.report.runs.columns import Missing
from ablate.report.runs.settings import text
from ablate.report.text.layout import Strip, draw, wrapped
from ablate.report.words.cells import NONE, number
from ablate.report.words.numbers import amount, count_of
from ablate.shell.clean import clean

BARS = 40
ROWS = 8  # steps of the table


@dataclass(frozen=True)
class Comparison:
    """What two sides differ in. Steps are logged ones; None where there is no such step.

    Up to `equal_until` the curves of the shared seeds are equal to the bit, at `unequal_at` they
    are not; from `parts_at` on the smoothed difference exceeds its noise.
    """

    first: Side
    second: Side
    settings: list[tuple[str, str, str]]
    points: Points
    seeds: list[Any]
    equal_until: int | None
    unequal_at: int | None
    parts_at: int | None
    numbers: list[Number]


def as_text(comparison: Comparison, width: int | None) -> str:
    """Return the comparison for a width in terminal cells; tables are not wrapped."""
    parts = [_fold([_named("A", comparison.first), _named("B", comparison.second)], width)]
    parts.append(_settings(comparison))
    parts.append("\n".join(["Training loss, nats per token", *_curves(comparison, width)]))
    parts.append("\n".join(["Where they part", _fold(_parting(comparison), width)]))
    if comparison.numbers:
        parts.append("\n".join(["Numbers", _numbers(comparison)]))
    return "\n\n".join(parts)


def _fold(lines: Sequence[str], width: int | None) -> str:
    return "\n".join(part for line in lines for part in wrapped(line, width))


def _named(letter: str, side: Side) -> str:
    status = Counter(run.record.status or "unknown" for run in side.runs)
    labels = Counter(run.label for run in side.runs if run.label)
    endings = [_counts(status), *([_counts(labels)] if labels else [])]
    seeds = ", ".join(map(text, side.seeds))
    return clean(f"{letter}  {side.name}: {', '.join(endings)}; seed {seeds}")


def _counts(counted: Counter[str]) -> str:
    if len(counted) == 1:
        return next(iter(counted))
    return ", ".join(f"{count} {name}" for name, count in counted.items())


def _settings(comparison: Comparison) -> str:
    if not comparison.settings:
        seeds = [side.seeds for side in (comparison.first, comparison.second)]
        what = "nothing but the seed" if seeds[0] != seeds[1] else "nothing"
        return f"What differs: {what}"
    columns = [
        Strip("", [heading], [[clean(row[place])] for row in comparison.settings])
        for place, heading in enumerate(("what differs", "A", "B"))
    ]
    return draw(columns, False).plain


def _curves(comparison: Comparison, width: int | None) -> list[str]:
    points = comparison.points
    if not points.steps:
        return ["no step that both have logged with a finite loss"]
    seeds = ", ".join(map(text, comparison.seeds))
    basis = f"seed {seeds}"
    if len(comparison.seeds) > 1:
        basis = f"mean over seed {seeds}, which both have"
    if not comparison.seeds:
        basis = "no seed in common: the two saw other text, or the same in another order"
    every = [*points.first, *points.second]
    low, high = min(every), max(every)
    lines = wrapped(f"({basis}; bars from {low:.3f} to {high:.3f})", width)
    bars = BARS if width is None else max(8, min(BARS, width - 24))
    for letter, values in (("A", points.first), ("B", points.second)):
        row = spark(values, low, high, bars)
        lines.append(f"{letter}  {row}  {values[0]:.3f} to {values[-1]:.3f}")
    places = sorted({round(i * (len(points.steps) - 1) / (ROWS - 1)) for i in range(ROWS)})
    table = [
        Strip("", ["step"], [[str(points.steps[i])] for i in places], right=True),
        Strip("", ["A"], [[f"{points.first[i]:.4f}"] for i in places], right=True),
        Strip("", ["B"], [[f"{points.second[i]:.4f}"] for i in places], right=True),
        Strip("", ["B − A"], [[amount(points.differences[i], True)] for i in places], right=True),
    ]
    return [*lines, "", draw(table, False).plain]


def _parting(comparison: Comparison) -> list[str]:
    lines = []
    logged = "logged step"
    if not comparison.seeds:
        lines.append("to the bit: at once, since they have no seed in common")
    elif comparison.unequal_at is None and comparison.equal_until is not None:
        same = f"every {logged} up to {comparison.equal_until} is the same"
        lines.append(f"to the bit: never; {same}")
    elif comparison.equal_until is not None:
        lines.append(
            f"to the bit: equal up to step {comparison.equal_until}, different at step"
            f" {comparison.unequal_at}, the next {logged}"
        )
    elif comparison.unequal_at is not None:
        lines.append(f"to the bit: different at step {comparison.unequal_at}, the first {logged}")
    differences = comparison.points.differences
    if comparison.parts_at is not None:
        last = f"{amount(differences[-1], True)} at step {comparison.points.steps[-1]}"
        lines.append(
            f"beyond the noise: from about step {comparison.parts_at} to the end ({last}); the"
            " smoothed difference B − A exceeds 4 standard errors of its step-to-step noise"
        )
    elif len(differences) < FEWEST:
        lines.append(
            f"beyond the noise: not to be told from {count_of(len(differences), logged)};"
            f" {FEWEST} are needed"
        )
    else:
        lines.append("beyond the noise: they have not parted by the end")
    return lines


def _numbers(comparison: Comparison) -> str:
    rows = comparison.numbers
    headings = ("", "A", "B", "B − A", "over")
    cells = [
        [row.column.name for row in rows],
        [_value(row, row.first.mean, row.undefined[0]) for row in rows],
        [_value(row, row.second.mean, row.undefined[1]) for row in rows],
        [_difference(row) for row in rows],
        [count_of(row.difference.n, "seed") if row.difference.n else NONE for row in rows],
    ]
    strips = [
        Strip("", [heading], [[cell] for cell in column])
        for heading, column in zip(headings, cells, strict=True)
    ]
    return draw(strips, False).plain


def _value(row: Number, value: float | None, undefined: bool) -> str:
    if value is None:
        return Missing.UNDEFINED.value if undefined else NONE
    return number(value, row.column)


def _difference(row: Number) -> str:
    test = row.difference
    if test.mean is None:
        return NONE
    size = amount(test.mean, True) if row.column.decimals else f"{test.mean:+,.0f}"
    if test.low is None or test.high is None or not row.column.decimals:
        return size
    return f"{size} [{amount(test.low, True)}, {amount(test.high, True)}]"
