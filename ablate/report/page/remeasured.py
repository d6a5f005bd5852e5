"""What was measured on a run's trained model besides the columns, as tables of its fold."""

from collections.abc import Sequence
from dataclasses import dataclass

from ablate.report.runs.collect import Run
from ablate.report.runs.columns import Missing
from ablate.report.runs.measured import Measured, measured
from ablate.report.words.cells import NONE
from ablate.shell.clean import clean

ENDED = "as the run ended"
UNDEFINED = Missing.UNDEFINED.value


@dataclass(frozen=True)
class Sheet:
    """A small table: headings, and rows whose first cell names them; texts are not yet escaped."""

    title: str
    heads: list[str]
    rows: list[list[str]]


def sheets(run: Run) -> list[Sheet]:
    """Return accuracy by length with the change of loss, and R² of the position by layer."""
    measurements = measured(run)
    tables = [_lengths(measurements), _positions(measurements)] if measurements else []
    return [sheet for sheet in tables if sheet.rows]


def _lengths(measurements: Sequence[Measured]) -> Sheet:
    lengths = sorted({length for measurement in measurements for length in measurement.lengths})
    heads = ["overrides", *(f"acc. at {length:g}" for length in lengths)]
    shuffled = any(measurement.shuffle_change is not None for measurement in measurements)
    heads += ["change of loss when shuffled, nats"] * shuffled
    rows = []
    for measurement in measurements:
        accuracy = dict(zip(measurement.lengths, measurement.accuracy, strict=True))
        # A length that was tried, of a model that could do another: its scheme cannot do it.
        able = any(value is not None for value in measurement.accuracy)
        absent = {length: UNDEFINED for length in measurement.lengths if able}
        row = [_name(measurement)]
        row += [_told(accuracy.get(length), absent.get(length, NONE)) for length in lengths]
        rows.append(row + [_change(measurement)] * shuffled)
    return Sheet("Measurements of the trained model", heads, rows)


def _positions(measurements: Sequence[Measured]) -> Sheet:
    rows = [
        [f"{_name(measurement)}: {kind.replace('_', ' ')}", *map(_told, values)]
        for measurement in measurements
        for kind, values in measurement.position_r2.items()
    ]
    layers = max((len(row) - 1 for row in rows), default=0)
    heads = ["R² of a token's position", *(f"layer {layer}" for layer in range(layers))]
    padded = [row + [NONE] * (layers + 1 - len(row)) for row in rows]
    return Sheet("Where position can be read", heads, padded)


def _name(measurement: Measured) -> str:
    if measurement.overrides is None:
        return ENDED
    return clean(" ".join(measurement.overrides)) or "no overrides"


def _told(value: float | None, absent: str = NONE) -> str:
    return absent if value is None else f"{value:z.3f}" if abs(value) < 1000 else f"{value:.3g}"


def _change(measurement: Measured) -> str:
    if measurement.shuffle_change is None:
        return NONE
    bounds = " to ".join(f"{bound:+.3f}" for bound in measurement.shuffle_interval)
    return f"{measurement.shuffle_change:+.3f}" + (f" [{bounds}]" if bounds else "")
