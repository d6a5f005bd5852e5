"""From a record to what is the matter with a run: the signature, its likely cause, what to try.

Pure functions of a record; each rule looks at one signature and names the numbers that led it
there. A healthy run gets no finding, or findings about its length limits alone. Whether cached
logits are those of a full pass is no matter of a record: `ablate check` compares them. A new rule
is a function from a record to a finding or None, and a line in `RULES`.
"""

from typing import Any

from ablate.judge import beyond, start, training
from ablate.judge.finding import Finding, Record, Rule

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


def diagnose(record: Record) -> list[dict[str, Any]]:
    """The findings of a record as plain data, the most basic first."""
    return [finding.as_data() for rule in RULES if (finding := rule(record))]
