"""Every check of a cell, in the order in which results are shown; the help page is made from it.

A new check is a rule in one of the files beside this and a line here. The rules are named and not
imported: they need torch, and who asks for help does not want to wait for it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """A name, a line for the help page, and where its rule stands: a file here and its function."""

    name: str
    help: str
    rule: str


CHECKS: tuple[Check, ...] = (
    Check(
        "first loss",
        "on the first batch, against ln V and what such logits must cost",
        "first_step.first_loss",
    ),
    Check(
        "gradients",
        "norm by block at the start, of the parameters and at the inputs",
        "first_step.gradients",
    ),
    Check(
        "activations",
        "rms of the stream over depth; growth that is exponential",
        "first_step.activations",
    ),
    Check(
        "tokens", "how alike tokens are after the last block (rank collapse)", "first_step.tokens"
    ),
    Check("causality", "no token sees a later one, or another sequence", "causality.causality"),
    Check("order", "whether the order of tokens matters", "properties.order"),
    Check("shift", "a relative scheme does not care where a text begins", "properties.shift"),
    Check("cache", "step-by-step decoding gives the logits of a full pass", "properties.cache"),
    Check("length", "a text longer than trained works, or where the limit is", "properties.length"),
    Check("norms", "their number, against what the placement's file states", "size.norms"),
    Check("size", "parameters and floating-point operations a token", "size.size"),
    Check(
        "schedule",
        "first, highest and last learning rate; whether warmup is missing",
        "size.schedule",
    ),
)


def help_lines() -> str:
    """A line for each check: its name and what it asks."""
    width = max(len(check.name) for check in CHECKS)
    return "\n".join(f"  {check.name:{width}}  {check.help}" for check in CHECKS)
