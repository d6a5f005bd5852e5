"""From a record to what is the matter with a run: the signature, its likely cause, what to try.

Pure functions of a record; each rule looks at one signature and names the numbers that led it
there. A healthy run gets no finding, or findings about its length limits alone. Whether cached
logits are those of a full pass is no matter of a record: `ablate check` compares them. A new rule
is a function from a record to a finding or None, and a line in `RULES`.
"""

from ablate.judge import beyond, start, training
from ablate.judge.finding import Finding, Rule
from ablate.record.parsing import parse
from ablate.record.record import Record, Signature
from ablate.record.writing import content_of
from ablate.shell.finite import finite

__all__ = ["RULES", "Finding", "diagnose"]

RULES: tuple[Rule, ...] = (
    start.first_loss,
    start.collapse,
    start.growth,
    beyond.order,
    training.curve,
    training.idle_depth,
    training.sharp_attention,
    training.evaluation_gap,
    beyond.length,
)


def diagnose(record: Record) -> list[Signature]:
    """The findings of a record, the most basic first; a number that is not finite is none."""
    readable, _ = parse(Record, finite(content_of(record)))
    return [finding.signature() for rule in RULES if (finding := rule(readable))]
