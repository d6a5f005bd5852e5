"""The settings of runs: what can be grouped and filtered by, and which of them differ.

A setting is a choice (`pos`), a plain key (`lr`) or an option of a choice (`warmup.steps`), under
the name that it has on the command line.
"""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from ablate.config.values import brief
from ablate.errors import UserError
from ablate.report.runs.collect import Run

# How and where a run was made; none of it is part of an arm.
CIRCUMSTANCES = frozenset(
    (
        *("study", "outputs", "device", "threads", "jobs", "compile", "parallel", "run"),
        *("rerun", "retry", "checkpoint", "instruments"),
    )
)
# What a run has beside its config. They can be grouped, filtered and sorted by too.
IDENTITY = ("study", "arm", "seed", "name", "status", "label")

Settings = dict[str, Any]


def settings(run: Run) -> Settings:
    """Return the settings of a run by dotted key, and its identity."""
    record = run.record
    choices, config = record.choices, record.config
    named: Settings = {}
    for group in dict.fromkeys((*choices, *config)):
        if group in CIRCUMSTANCES or group in IDENTITY:
            continue
        if group in choices:
            named[group] = choices[group]
        named.update(_flat(group, config.get(group), skip_itself=group in choices))
    identity = {"study": run.study, "arm": run.arm, "seed": record.seed, "name": run.name}
    return named | identity | {"status": record.status, "label": run.label}


def _flat(key: str, value: Any, skip_itself: bool) -> Settings:
    if isinstance(value, dict):
        parts = (_flat(f"{key}.{name}", item, False) for name, item in value.items())
        return {name: item for part in parts for name, item in part.items()}
    # The class behind a choice is implied by the choice's name.
    if key.endswith("._target_") or skip_itself:
        return {}
    return {key: value}


def text(value: Any) -> str:
    """Return a setting as a table shows it: values that differ never look alike.

    >>> text(0.00123456789), text(True), text("null"), text([1, 2])
    ('0.00123456789', 'true', "'null'", '[1,2]')
    """
    return brief(value)


def key_value(key: str, value: Any) -> str:
    """Return the text of a row's key; a name, as of a study, is itself, be it "2024" or "null"."""
    return value if key in IDENTITY and isinstance(value, str) else text(value)


def differing(rows: Sequence[Settings]) -> list[str]:
    """Return the keys whose values differ between runs, in config order, identity left out.

    An option of a choice differs only if it does between runs of the same choice: `pos=rope` has a
    base and `pos=none` has none, but that is told by `pos` already. What a record does not have
    differs from nothing: records are older than some keys.
    """
    keys = [key for key in dict.fromkeys(key for row in rows for key in row) if key not in IDENTITY]
    chosen = {key.partition(".")[0] for key in keys if "." not in key}
    return [key for key in _options_after_groups(keys) if _differs(key, rows, chosen)]


def _differs(key: str, rows: Sequence[Settings], chosen: set[str]) -> bool:
    values = [row[key] for row in rows if key in row]
    if all(value == values[0] for value in values):
        return False  # of most keys, and texts take time
    group, dot, _ = key.partition(".")
    by_choice: dict[str, set[str]] = {}
    for row in rows:
        if key in row:
            choice = text(row.get(group)) if dot and group in chosen else ""
            by_choice.setdefault(choice, set()).add(text(row[key]))
    return any(len(values) > 1 for values in by_choice.values())


def _options_after_groups(keys: Iterable[str]) -> list[str]:
    groups: dict[str, list[str]] = {}
    for key in keys:
        groups.setdefault(key.partition(".")[0], []).append(key)
    return [key for group in groups.values() for key in group]


def check_keys(
    keys: Iterable[str], valid: Iterable[str], option: str, shown: Iterable[str]
) -> None:
    """Raise UserError for a key that is not valid, naming the nearest that is, or those shown."""
    valid = list(valid)
    for key in keys:
        if key not in valid:
            near = difflib.get_close_matches(key, valid, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(shown)}"
            raise UserError(f"{option} {key}: these runs have no such column; {hint}")


def parse_where(conditions: Iterable[str]) -> dict[str, list[str]]:
    """Turn KEY=VALUE[,VALUE] texts into values by key. Raises UserError for any other text."""
    wanted: dict[str, list[str]] = {}
    for condition in conditions:
        key, equals, values = condition.partition("=")
        if not equals or not key:
            raise UserError(
                f"--where {condition}: expected KEY=VALUE[,VALUE], as in pos=rope,alibi\n"
                "(PATHS are given before the options)"
            )
        wanted.setdefault(key, []).extend([values, *values.split(",")])
    return wanted


def matches(value: Any, wanted: Sequence[str]) -> bool:
    """Whether a setting is one of the wanted texts; numbers are compared as numbers.

    >>> matches(0.001, ["1e-3"]), matches("none", ["null"]), matches([1, 2], ["1,2"])
    (True, False, True)
    """
    texts = {text(value)}
    if isinstance(value, str):
        texts.add(value)
    elif isinstance(value, list):
        texts.add(text(value)[1:-1])
    return any(want in texts or _same_number(value, want) for want in wanted)


def _same_number(value: Any, want: str) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return float(want) == value
    except ValueError:
        return False


def select(
    runs: Sequence[tuple[Run, Settings]], wanted: dict[str, list[str]]
) -> list[tuple[Run, Settings]]:
    """Return the runs that match every key. Raises UserError if none does, naming what there is."""
    for key, values in wanted.items():
        matching = [(run, row) for run, row in runs if key in row and matches(row[key], values)]
        if not matching:
            there = sorted({text(row[key]) for _, row in runs if key in row})
            near = difflib.get_close_matches(values[0], there, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there is {', '.join(there[:12])}"
            raise UserError(f"--where {key}={values[0]}: no run matches; {hint}")
        runs = matching
    return list(runs)
