"""The commands that make the runs of a report again."""

import math
import shlex
from collections.abc import Iterable, Sequence

from ablate.config.values import write
from ablate.record import stored
from ablate.report.figures.view import number_first
from ablate.report.runs.collect import Run
from ablate.report.runs.settings import settings
from ablate.shell.clean import clean

Overrides = dict[str, str]
NOT_TYPED = frozenset(("study", "arm", "name", "status", "label"))


def overrides(run: Run) -> Overrides:
    """Return what was typed to make a run, key to value; from its config if that is not there.

    Nothing is known of a run that left neither.
    """
    try:
        typed = stored.overrides(run.directory)
    except (OSError, ValueError):
        typed = []
    if typed:
        return {key: value for key, _, value in (word.partition("=") for word in typed)}
    return {} if run.readable is None else _computed(run)


def _computed(run: Run) -> Overrides:
    """Every setting of the record, which says more than was typed but the same."""
    typed = {key: value for key, value in settings(run).items() if key not in NOT_TYPED}
    return {key: write(value) for key, value in typed.items()} | {"study": write(run.study)}


def config_folders(runs: Iterable[Run]) -> list[str]:
    """Return the --config-dir folders that the runs were made with."""
    folders: dict[str, None] = {}
    for run in runs:
        folders |= dict.fromkeys(stored.config_folders(run.directory))
    return list(folders)


def command(words: Overrides, folders: Sequence[str], *flags: str) -> str:
    """Return a command line, quoted for a shell.

    >>> command({"pos": "rope", "corpus.files": "my book.txt"}, [])
    "ablate run pos=rope 'corpus.files=my book.txt'"
    """
    parts = ["ablate", "run", *flags]
    for folder in folders:
        parts += ["--config-dir", folder]
    parts += [_word(key, value) for key, value in words.items()]
    return clean(" ".join(shlex.quote(part) for part in parts))


def _word(key: str, value: str) -> str:
    """Join a key and its value; a deletion (~key) has none."""
    return key if key.startswith("~") and not value else f"{key}={value}"


def sweeps(every: Sequence[Overrides], folders: Sequence[str]) -> list[str]:
    """Return the fewest commands that make all of these runs and no others.

    >>> sweeps([{"pos": p, "seed": s} for p in ("rope", "none") for s in "01"], [])
    ['ablate run -m pos=rope,none seed=0,1']
    """
    by_keys: dict[frozenset[str], list[Overrides]] = {}
    for words in filter(None, every):
        alike = by_keys.setdefault(frozenset(words), [])
        if words not in alike:
            alike.append(words)
    grids = [grid for group in by_keys.values() for grid in _grids(group)]
    lines = []
    for grid in grids:
        many = any(len(values) > 1 for values in grid.values())
        words = {key: ",".join(sorted(values, key=number_first)) for key, values in grid.items()}
        lines.append(command(words, folders, *(["-m"] if many else [])))
    return lines


def _grids(group: list[Overrides]) -> list[dict[str, list[str]]]:
    """Split overrides of the same keys into full products of values."""
    values = {key: list(dict.fromkeys(words[key] for words in group)) for key in group[0]}
    # A comma in a value would be taken for a sweep over its parts.
    plain = all("," not in value for many in values.values() if len(many) > 1 for value in many)
    if plain and math.prod(map(len, values.values())) == len(group):
        return [values]
    key = min((key for key in values if len(values[key]) > 1), key=lambda key: len(values[key]))
    parts = ([words for words in group if words[key] == value] for value in values[key])
    return [grid for part in parts for grid in _grids(part)]
