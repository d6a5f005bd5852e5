"""What the runs of a page were made with."""

import hashlib
from collections.abc import Sequence
from typing import Any

from ablate.record.writing import content_of
from ablate.report.page.runs import fingerprint
from ablate.report.runs.collect import Run
from ablate.report.runs.settings import text
from ablate.report.runs.tables import distinct
from ablate.shell.clean import clean


def versions(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Return what the runs were made with, and a hash of all their records."""
    fields: dict[str, list[Any]] = {}
    for run in runs:
        for key, value in content_of(run.record.environment).items():
            fields.setdefault(key, []).append(value)
        sha = run.record.corpus.sha256
        fields.setdefault("corpus sha256", []).append(sha)
    facts = [
        (key, ", ".join(distinct(_text(value) for value in values if value is not None)))
        for key, values in fields.items()
    ]
    digest = hashlib.sha256("".join(sorted(map(fingerprint, runs))).encode()).hexdigest()
    schemas = distinct(run.record.schema for run in runs)
    facts.append(("record schema", ", ".join(map(text, schemas))))
    return [(clean(key), clean(value)) for key, value in (*facts, ("all records, sha256", digest))]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else text(value)
