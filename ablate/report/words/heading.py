"""What a report says in words around its table: first line, legend, notes, what went wrong."""

from collections.abc import Iterable
from typing import Any

from ablate.report.runs.collect import Run
from ablate.report.runs.columns import BY_KEY, COLUMNS, LENGTH, Column, Missing
from ablate.report.runs.settings import text
from ablate.report.runs.tables import Table, distinct
from ablate.shell.clean import clean


def shown(table: Table) -> list[Run]:
    """Return the runs that the rows are made of."""
    return [run for row in table.rows for run in row.runs]


def facts(table: Table) -> dict[str, Any]:
    """Return what the first line says: studies, corpora, lengths and ln V of the runs shown."""
    records = [run.record for run in shown(table)]
    return {
        "studies": distinct(run.study for run in (shown(table) or table.runs)),
        "runs": len(table.runs),
        "runs_shown": len(records),
        "runs_without_record": len(table.left_out),
        "arms": len({(run.study, run.arm) for run in shown(table)}),
        "seeds": distinct(record["seed"] for record in records),
        "corpora": distinct(_known(record["corpus"]["name"] for record in records)),
        "train_lengths": distinct(_known(record["seq_len"] for record in records)),
        "ln_vocabulary": distinct(_known(record["loss"]["uniform"] for record in records)),
    }


def _known(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def first_line(table: Table) -> str:
    """Return the line above the table: study, runs, arms, seeds, corpus, L, ln V."""
    told = facts(table)
    runs = f"{_count(told['runs'], 'run')}"
    if told["runs_shown"] + told["runs_without_record"] < told["runs"]:
        runs = f"{told['runs_shown']} of {runs}"
    if told["runs_without_record"]:
        runs += f" ({told['runs_without_record']} without a readable record)"
    studies = _listed("study", "studies", told["studies"])
    seeds = _listed("seed", "seeds", [text(seed) for seed in told["seeds"]])
    parts = [f"{studies}: {runs}, {_count(told['arms'], 'arm')}, {seeds}"]
    if told["corpora"]:
        parts.append(_listed("corpus", "corpora", told["corpora"]))
    if told["train_lengths"]:
        parts.append(f"L = {_joined(map(text, told['train_lengths']))} tokens")
    if told["ln_vocabulary"]:
        values = distinct(f"{value:.3f}" for value in told["ln_vocabulary"])
        parts.append(f"ln V = {_joined(values)} nats")
    return clean("; ".join(parts))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _listed(one: str, many: str, names: list[str]) -> str:
    if len(names) == 1:
        return f"{one} {names[0]}"
    return f"{len(names)} {many}" + (f" ({_joined(names)})" if names else "")


def _joined(names: Iterable[str], most: int = 6) -> str:
    names = list(names)
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def columns_shown(table: Table) -> list[Column]:
    """Return the table's columns: the usual ones, what was measured, what it is sorted by."""
    named = {key.removeprefix("-") for key in table.sorted_by}
    return [
        column
        for column in COLUMNS
        if column.key in named
        or (column.panel and (not column.optional or measured(column, shown(table))))
    ]


def measured(column: Column, runs: Iterable[Run]) -> bool:
    """Whether any of the runs has measured a column, be it only to find it undefined."""
    return any(column.extract(run.record) is not Missing.UNMEASURED for run in runs)


def legend(table: Table) -> list[str]:
    """Return a line for each kind of column, with its unit."""
    columns = columns_shown(table)
    lines = [
        f"{_heading(column)}: {column.meaning}" for column in columns if column.panel != LENGTH
    ]
    unigram = distinct(
        f"{loss:.3f}" for loss in _known(run.record["loss"]["unigram"] for run in shown(table))
    )
    if unigram:
        lines[0] += f"; a model that knows only frequencies gets {_joined(unigram)}"
    place = next(i for i, line in enumerate(lines) if line.startswith("grad.")) + 1
    lines[place - 1] += "; 1 is even, below 1 it vanishes towards the input"
    lines.insert(
        place,
        "bars: that norm by block, first to last, log scale, median over seeds; the full height of"
        " the bars is a factor of 10, or the row's range if that is more; · is zero",
    )
    if any("slow" in row.label for row in table.rows):
        lines.append(
            "label slow: healthy and still falling at the end, and worse than the study's best arm"
            " so far; it may change as the study grows"
        )
    lines.append(
        "acc. at: share of the same held-out targets predicted right with L to 8L tokens of"
        " context, trained at L; undef.: the scheme cannot do that length"
    )
    if any(column.key == "tolerated" for column in columns):
        lines.append(f"tolerates up to, L: {BY_KEY['tolerated'].meaning}")
    if any(column.key.startswith("exact") for column in columns):
        lines.append(
            "exact at: share of a generated task's examples of L to 8L tokens whose whole answer is"
            " right, the end token aside; acc. at is then the share of answer tokens"
        )
    return lines


def _heading(column: Column) -> str:
    return column.heading.replace("-\n", "").replace("\n", " ")


def notes(table: Table) -> list[str]:
    """Return what a reader must know of this table's means and intervals, if it applies."""
    columns = columns_shown(table)  # once: it looks into every record
    cells = [(row, row.cells[column.key]) for row in table.rows for column in columns]
    lines = []
    if any(cell.interval.half_width is not None for _, cell in cells):
        lines.append(
            "±: half-width of the 95 % t-interval of the mean over seeds; ×÷: the same as a factor"
            " around the geometric mean"
        )
    if table.grouped == "group" and any(len(row.runs) > len(row.seeds) for row in table.rows):
        lines.append("a row averages its arms within each seed first; the interval is over seeds")
    if table.grouped != "run" and any(cell.interval.n == 1 for _, cell in cells):
        lines.append("a value without ± is one seed's: one seed has no interval")
    if any(cell.interval.n > 1 and cell.interval.half_width is None for _, cell in cells):
        lines.append(
            "a mean of several seeds without an interval: its seeds cover different arms, or a"
            " norm of it is zero"
        )
    if any(0 < cell.runs < len(row.runs) for row, cell in cells):
        lines.append(
            "(k of n): the mean is over k of the row's n runs; of a training's results only"
            " finished runs are averaged"
        )
    return lines


def outside(table: Table) -> list[tuple[str, str]]:
    """Return (run, problem) of the runs that are not in the table."""
    return [(clean(f"{run.study}/{run.name}"), clean(run.problem or "")) for run in table.left_out]


def troubles(table: Table) -> list[tuple[str, str]]:
    """Return (run, what happened) of the runs in the table that failed or have a flawed record."""
    found = []
    for run in shown(table):
        name = clean(f"{run.study}/{run.name}")
        error = _last_words(run.record.get("error"))
        if run.record["status"] == "failed" or error:
            found.append((name, clean(f"{run.record['status']}: {error or 'no error recorded'}")))
        if run.problem is not None:
            found.append((name, clean(run.problem)))
    return found


def _last_words(error: Any) -> str:
    """The line of an error that says what went wrong: the last of a traceback, else the first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] if error else []
    if not lines:
        return ""
    return lines[-1] if lines[0].startswith("Traceback") else lines[0]
