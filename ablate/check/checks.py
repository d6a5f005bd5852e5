"""What can be said of a cell of the grid before it is trained."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module

from ablate.build import Bench
from ablate.check.causality import quick_causality
from ablate.check.cell import Cell, CheckResult, Rule, named_result
from ablate.check.first_step import judge_first_loss
from ablate.check.initial import measure_first_loss
from ablate.check.listed import CHECKS, Check
from ablate.check.passes import undisturbed
from ablate.config.catalogue import Catalogue

QUICK_TOKENS = 256
"""Tokens of the first batch that a run looks at before it trains."""


def check_cell(cell: Cell, checks: Iterable[Check] = CHECKS) -> list[CheckResult]:
    """What the checks say of a cell, in order; one that does not apply is left out.

    A cell that fails under a check is broken.
    """
    results = (named_result(check.name, partial(rule_of(check), cell)) for check in checks)
    return [result for result in results if result is not None]


def rule_of(check: Check) -> Rule:
    """The function that a check names."""
    module, _, function = check.rule.rpartition(".")
    rule: Rule = vars(import_module(f"ablate.check.{module}"))[function]
    return rule


def warnings(bench: Bench) -> list[str]:
    """What a run should hear before its first step, a line each; nothing where all is well.

    A forward pass of at most 256 tokens and two of 16. The model's parameters, buffers and modes
    and torch's generators are as before, so that the run stays the same bit for bit.
    """

    def quick_first_loss() -> CheckResult:
        with undisturbed(bench.model):
            first = measure_first_loss(bench, QUICK_TOKENS)
        return judge_first_loss(first, name=f"first loss of {first.tokens} tokens")

    results = (
        named_result("first loss", quick_first_loss),
        named_result("causality", partial(quick_causality, bench)),
    )
    return [
        f"{result.name}: {result.text}; try: {result.advice}"
        for result in results
        if result and result.mark != "ok"
    ]


def unread(bench: Bench, choices: Mapping[str, str]) -> list[str]:
    """What a run should hear whose corpus was chosen although its task makes up its examples."""
    corpus, task = choices["corpus"], choices["task"]
    if bench.corpus is not None or corpus == Catalogue().default_choices()["corpus"]:
        return []
    return [f"corpus={corpus} is not read: task={task} makes up its own examples"]


def marks(results: Sequence[CheckResult]) -> Mapping[str, int]:
    """How many results have each mark."""
    return {
        mark: sum(result.mark == mark for result in results) for mark in ("ok", "warning", "broken")
    }
