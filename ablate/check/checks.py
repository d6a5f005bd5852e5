"""What can be said of a cell of the grid before it is trained: a list of checks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ablate.build import Bench
from ablate.check.causality import check_causality, quick_causality
from ablate.check.cell import Cell, Check, CheckResult
from ablate.check.first_step import (
    check_activations,
    check_first_loss,
    check_gradients,
    check_tokens,
    judge_first_loss,
)
from ablate.check.initial import measure_first_loss
from ablate.check.passes import undisturbed
from ablate.check.properties import (
    check_cache,
    check_length,
    check_order,
    check_shift,
)
from ablate.check.size import check_norms, check_schedule, check_size
from ablate.config.catalogue import Catalogue

CHECKS: tuple[tuple[str, Check], ...] = (
    ("first loss", check_first_loss),
    ("gradients", check_gradients),
    ("activations", check_activations),
    ("tokens", check_tokens),
    ("causality", check_causality),
    ("order", check_order),
    ("shift", check_shift),
    ("cache", check_cache),
    ("length", check_length),
    ("norms", check_norms),
    ("size", check_size),
    ("schedule", check_schedule),
)
"""Every check with the name of what it finds, in the order in which findings are shown."""

QUICK_TOKENS = 256
"""Tokens of the first batch that a run looks at before it trains."""


def check(cell: Cell, checks: Iterable[tuple[str, Check]] = CHECKS) -> list[CheckResult]:
    """The findings about a cell, in order; one that does not apply is left out."""
    found = (guarded(name, partial(one, cell)) for name, one in checks)
    return [finding for finding in found if finding is not None]


def guarded(name: str, look: Callable[[], CheckResult | None]) -> CheckResult | None:
    """What `look` finds; a model that fails under it is a finding too."""
    try:
        return look()
    except Exception as error:
        told = str(error).strip().split("\n")[0]
        text = f"fails with {type(error).__name__}: {told}"
        return CheckResult(name, "broken", text, {"error": text}, "the part that this check runs")


def warnings(bench: Bench) -> list[str]:
    """What a run should hear before its first step, a line each; nothing where all is well.

    A forward pass of at most 256 tokens and two of 16. The model's parameters, buffers and modes
    and torch's generators are as before, so that the run stays the same bit for bit.
    """

    def first_loss() -> CheckResult:
        with undisturbed(bench.model):
            first = measure_first_loss(bench, QUICK_TOKENS)
        name = f"first loss of {first.tokens} tokens"
        return replace(judge_first_loss(first), name=name)

    findings = (
        guarded("first loss", first_loss),
        guarded("causality", partial(quick_causality, bench)),
    )
    return [
        f"{finding.name}: {finding.text}; try: {finding.advice}"
        for finding in findings
        if finding and finding.mark != "ok"
    ]


def unread(bench: Bench, choices: Mapping[str, str]) -> list[str]:
    """What a run should hear whose corpus was chosen although its task makes up its examples."""
    corpus, task = choices["corpus"], choices["task"]
    if bench.corpus is not None or corpus == Catalogue().default_choices()["corpus"]:
        return []
    return [f"corpus={corpus} is not read: task={task} makes up its own examples"]


def marks(findings: Sequence[CheckResult]) -> Mapping[str, int]:
    """How many findings have each mark."""
    return {
        mark: sum(finding.mark == mark for finding in findings)
        for mark in ("ok", "warning", "broken")
    }
