"""Whether finished runs were made with other code or another text than there is now."""

from collections.abc import Mapping, Sequence
from typing import Any

import ablate
from ablate.errors import UserError
from ablate.record import disk
from ablate.record.record import Environment, Record
from ablate.record.version import git_version
from ablate.run.planned import FINISHED, PlannedRun
from ablate.sweep.plan import named_runs


def changes(plan: Sequence[PlannedRun]) -> list[str]:
    """A line on the finished runs of other code, and one on those of another text, if any.

    A text counts as another where its files can be told or read within about a second.
    """
    finished = [(p, record) for p in plan if (record := finished_record(p))]
    if not finished:
        return []
    now = code_of(Environment(ablate=ablate.__version__, git=git_version()))
    texts: dict[str, str | None] = {}
    other_code: dict[str, list[str]] = {}
    other_text: dict[str, list[str]] = {}
    for planned, record in finished:
        known = record.environment.ablate is not None
        if known and (then := code_of(record.environment)) != now:
            other_code.setdefault(then, []).append(planned.identity.name)
        trained_on = record.corpus.sha256
        key = repr(planned.config["corpus"])
        if trained_on and key not in texts:
            texts[key] = fingerprint_of(planned.config["corpus"])
        if trained_on and texts[key] not in (None, trained_on):
            name = str(record.corpus.name)
            other_text.setdefault(f"corpus={name}", []).append(planned.identity.name)
    lines = []
    if other_code:
        lines.append(f"{finished_by(other_code, 'by')}; this is {now}. They are kept; {AGAIN}")
    if other_text:
        lines.append(f"{finished_by(other_text, 'on another text of')}. They are kept; {AGAIN}")
    return lines


AGAIN = "rerun=true repeats them."


def finished_record(planned: PlannedRun) -> Record | None:
    """The record of a run that is finished and is not to be repeated."""
    record, _ = disk.read(planned.directory)
    stays = record and record.status in FINISHED and not planned.config["rerun"]
    return record if stays else None


def code_of(environment: Environment) -> str:
    """Which code an environment names.

    >>> code_of(Environment(ablate="1.0")), code_of(Environment(ablate="1.0", git="1a2b"))
    ('ablate 1.0', 'ablate 1.0 at 1a2b')
    """
    commit = environment.git
    return f"ablate {environment.ablate}" + (f" at {commit}" if commit else "")


def fingerprint_of(corpus: Mapping[str, Any]) -> str | None:
    """The sha256 of a corpus as it is now; None where finding out would take long or fails."""
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate

    from ablate.data.store import fingerprint

    try:
        # Not build.build_corpus: with nothing to do, torch is not worth its seconds.
        return fingerprint(instantiate(dict(corpus), _convert_="all"))
    except (InstantiationException, UserError):
        return None


def finished_by(groups: Mapping[str, Sequence[str]], how: str) -> str:
    """How many runs there are of each kind, and which.

    >>> finished_by({"ablate 1": ["pos=rope-1", "pos=rope-2", "pos=rope-3"]}, "by")
    'Finished by ablate 1: 3 runs (pos=rope-1, pos=rope-2 and 1 more)'
    """
    kinds = [f"{how} {kind}: {named_runs(names, most=2)}" for kind, names in groups.items()]
    return f"Finished {'; '.join(kinds)}"
