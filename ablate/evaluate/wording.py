"""An entry of `ablate evaluate` for a person to read."""

import math
from collections.abc import Mapping, Sequence
from typing import Any


def lines(entry: Mapping[str, Any], record: Mapping[str, Any]) -> list[str]:
    """What was measured, table by table, beside what the run's record says of it as trained."""
    found = entry["extrapolation"]
    before = record.get("extrapolation") or {}
    made = [*contexts(found, before), *protocols(found), *buckets(found)]
    if entry["corpus"]["sha256"] != record["corpus"]["sha256"]:
        made.insert(len(found["lengths"]) + 2, f"as trained: on {record['corpus']['name']}")
    if "position_probe" in entry:
        made += ["", *probe(entry["position_probe"])]
    if "shuffle" in entry:
        made += ["", shuffled(entry["shuffle"])]
    return made


def contexts(found: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """Accuracy, exact match of a generated task, nll and retention by context, and what follows.

    `before` is what was measured when the run had been trained, shown where it has the length.
    """
    exact = ["exact"] if "exact" in found else []
    columns = ["accuracy", *exact, "nll", "retention"]
    heading, rows = ["context"], [[str(length)] for length in found["lengths"]]
    for column in columns:
        heading.append(column)
        for row, value in zip(rows, found[column], strict=True):
            row.append(cell(value))
        if column in ("accuracy", "exact") and before.get(column):
            heading.append("as trained")
            known = dict(zip(before["lengths"], before[column], strict=True))
            for row, length in zip(rows, found["lengths"], strict=True):
                row.append(cell(known[length]) if length in known else "")
    note = f"tokens of context; {found['targets']} targets; nll in nats a token"
    if "flags" in found:
        heading += ["against L", "tolerates", "extrapolates"]
        flags = found["flags"]["accuracy"]
        for index, row in enumerate(rows):
            row.append(bounds(found["interval"]["accuracy_difference"][index]))
            row += [flags[flag][index] or "" for flag in ("tolerates", "extrapolates")]
        over = counted(found["interval"]["groups"], found["interval"]["over"])
        note += (
            f"; against L: accuracy minus that at {found['train_length']}, 95 % over {over}; "
            f"margin {found['flags']['margin']}"
        )
    return [*table(heading, rows), note]


def protocols(found: Mapping[str, Any]) -> list[str]:
    """Accuracy and nll by each protocol beside the fixed-target one."""
    measured: Mapping[str, Any] = found.get("protocols", {})
    made: list[str] = []
    for name, values in measured.items():
        rows = [
            [str(length), cell(values["accuracy"][index]), cell(values["nll"][index])]
            for index, length in enumerate(values["lengths"])
        ]
        made += ["", f"{name}: {values['definition']}"]
        made += table(["context", "accuracy", "nll"], rows)
    return made


def buckets(found: Mapping[str, Any]) -> list[str]:
    """Accuracy and nll by position in the longest window."""
    values = found.get("buckets")
    if not values:
        return []
    rows = [
        [f"{start + 1} to {end}", cell(values["accuracy"][index]), cell(values["nll"][index])]
        for index, (start, end) in enumerate(zip(values["from"], values["to"], strict=True))
    ]
    told = f"by position in the longest window, {values['targets']} targets in each row"
    return ["", told, *table(["position", "accuracy", "nll"], rows)]


def probe(found: Mapping[str, Any] | None) -> list[str]:
    """How well a token's place can be told from the states of each layer."""
    if found is None:
        return ["position probe: undefined, there are fewer than 8 held-out sequences"]
    kinds = ("ridge", "network")
    heading = ["layer"]
    for kind in kinds:
        heading += [f"{kind} R²", "error", "control R²"]
    rows = []
    for layer in range(len(found["ridge"]["r2"])):
        row = [str(layer)]
        for kind in kinds:
            row += [cell(found[kind][value][layer]) for value in ("r2", "mae")]
            row.append(cell(found[f"{kind}_control"]["r2"][layer]))
        rows.append(row)
    return [
        "position probe: the place of a token told from the frozen states of each layer",
        *table(heading, rows),
        f"{found['where']}; error: mean absolute error in tokens ({found['mae_of_mean']:.1f} for "
        f"guessing the mean), on sequences of their own; control: the same with shuffled places",
    ]


def shuffled(found: Mapping[str, Any]) -> str:
    """What shuffling the input does to the loss."""
    return (
        f"shuffled input: loss {cell(found['loss'])} → {cell(found['loss_shuffled'])} nats, a "
        f"change of {cell(found['change'])} ({bounds(found['interval'])}, 95 % over "
        f"{counted(found['sequences'], 'sequences')}); {found['definition']}"
    )


def counted(number: int, things: str) -> str:
    """A number of things, named in the plural.

    >>> counted(2, "documents"), counted(1, "documents")
    ('2 documents', '1 document')
    """
    return f"{number} {things.removesuffix('s') if number == 1 else things}"


def cell(value: float | None) -> str:
    """A number with three decimals.

    >>> cell(0.25), cell(None), cell(math.nan)
    ('0.250', 'undefined', 'undefined')
    """
    return "undefined" if value is None or not math.isfinite(value) else f"{value:.3f}"


def bounds(interval: Sequence[float] | None) -> str:
    """An interval with its signs.

    >>> bounds([-0.25, 0.125])
    '-0.250 to +0.125'
    """
    return "undefined" if interval is None else f"{interval[0]:+.3f} to {interval[1]:+.3f}"


def table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Right-aligned columns, two spaces apart."""
    everything = [heading, *rows]
    widths = [max(len(row[column]) for row in everything) for column in range(len(heading))]
    return [
        "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
        for row in everything
    ]
