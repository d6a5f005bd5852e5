"""What each arm was given, field by field: how it is read and told, and where it is unfair.

A new field is a row of `FIELDS`; the terminal, the page, JSON, `ablate diff` and the flags read
nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from ablate.report.inference.outcomes import Outcome
from ablate.report.runs.settings import text

Concern = Literal["", "text", "amount", "version", "last digits"]
CONCERNS: tuple[Concern, ...] = ("text", "amount", "version", "last digits")
"""What a comparison suffers from if arms differ in a field, the worst first; "": from nothing."""
MINOR: Concern = "last digits"


@dataclass(frozen=True)
class LedgerField:
    """A field of the ledger.

    `read` takes it from an outcome; all distinct values of an arm's runs are kept. `name` is what a
    warning calls it, `short` the terminal's ledger, `heading` the page's column ("": none there).
    A factor among `changed_by` explains a difference in it.
    """

    key: str
    read: Callable[[Outcome], Any]
    concern: Concern = ""
    name: str = ""
    short: str = ""
    heading: str = ""
    number: bool = False
    counted: bool = False  # a whole number, written with separators
    changed_by: tuple[str, ...] = ()

    @property
    def unfair(self) -> bool:
        """Whether a difference in it can make a verdict, and not move last digits alone."""
        return self.concern not in ("", MINOR)


def verbatim(value: Any) -> str:
    """A text as it is, be it a version of digits alone; a number as a setting."""
    return value if isinstance(value, str) else text(value)


def _code(outcome: Outcome) -> str | None:
    environment = outcome.run.record.environment
    parts = [environment.ablate, environment.git]
    return " ".join(verbatim(part) for part in parts if part is not None) or None


def _warmup(outcome: Outcome) -> str:
    options = [
        f"{key.removeprefix('warmup.')}={text(value)}"
        for key, value in outcome.settings.items()
        if key.startswith("warmup.")
    ]
    return " ".join([text(outcome.settings.get("warmup")), *options])


FIELDS: tuple[LedgerField, ...] = (
    LedgerField(
        "parameters",
        lambda o: o.run.record.parameters,
        heading="parameters",
        number=True,
        counted=True,
    ),
    LedgerField(
        "flops_per_token",
        lambda o: o.run.record.flops_per_token,
        short="flops/token",
        heading="flops / token",
        number=True,
        counted=True,
    ),
    LedgerField(
        "tokens",
        lambda o: o.run.record.tokens if o.state == "finished" else None,
        "amount",
        "tokens seen",
        heading="tokens seen",
        number=True,
        counted=True,
        changed_by=("steps", "batch_size", "seq_len"),
    ),
    LedgerField(
        "steps",
        lambda o: o.run.record.steps,
        "amount",
        "steps",
        heading="steps",
        number=True,
    ),
    LedgerField(
        "batch_size",
        lambda o: o.run.record.batch_size,
        "amount",
        "batch size",
        short="batch",
        heading="batch",
        number=True,
    ),
    LedgerField("seq_len", lambda o: o.run.record.seq_len, short="L", heading="L", number=True),
    LedgerField("lr", lambda o: o.settings.get("lr"), heading="lr", number=True),
    LedgerField("warmup", _warmup, heading="warmup"),
    LedgerField(
        "corpus",
        lambda o: o.run.record.corpus.sha256,
        "text",
        "text (corpus sha256)",
        heading="corpus sha256",
    ),
    LedgerField(
        "vocabulary",
        lambda o: o.run.record.corpus.vocabulary,
        "text",
        "vocabulary",
    ),
    LedgerField("code", _code, "version", "version of ablate", heading="ablate"),
    LedgerField(
        "torch",
        lambda o: o.run.record.environment.torch,
        "version",
        "version of torch",
        heading="torch",
    ),
    LedgerField(
        "device",
        lambda o: o.run.record.environment.device,
        MINOR,
        "device",
        heading="device",
    ),
    LedgerField(
        "threads",
        lambda o: o.run.record.environment.threads,
        MINOR,
        "threads",
        heading="threads",
        number=True,
    ),
)
BY_FIELD = {field.key: field for field in FIELDS}
