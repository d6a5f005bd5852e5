"""The fairness ledger: what each arm was given, and where the compared arms differ beyond a factor.

A comparison of arms is one of their factors only if text, code, tokens and seeds are the same.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ablate.report.inference.arms import Group
from ablate.report.inference.choosing import ChosenValue
from ablate.report.inference.outcomes import Outcome
from ablate.report.runs.settings import text
from ablate.report.runs.tables import distinct
from ablate.shell.clean import clean

PARAMETERS = 0.01  # a share of parameters that arms may differ by without a word

# Field → how it is read from a run; all distinct values of an arm's runs are kept.
FIELDS: dict[str, Callable[[Outcome], Any]] = {
    "parameters": lambda o: o.run.record["parameters"],
    "flops_per_token": lambda o: o.run.record["flops_per_token"],
    "tokens": lambda o: o.run.record["tokens"] if o.state == "finished" else None,
    "steps": lambda o: o.run.record["steps"],
    "batch_size": lambda o: o.run.record["batch_size"],
    "seq_len": lambda o: o.run.record["seq_len"],
    "lr": lambda o: o.settings.get("lr"),
    "warmup": lambda o: _with_options(o, "warmup"),
    "corpus": lambda o: o.run.record["corpus"]["sha256"],
    "vocabulary": lambda o: o.run.record["corpus"]["vocabulary"],
    "code": lambda o: _code(o.run.record["environment"]),
    "torch": lambda o: o.run.record["environment"].get("torch"),
    "device": lambda o: o.run.record["environment"].get("device"),
    "threads": lambda o: o.run.record["environment"].get("threads"),
}
# What makes a comparison unfair where arms differ in it, and what only moves last digits.
UNFAIR = {
    "corpus": "text (corpus sha256)",
    "vocabulary": "vocabulary",
    "tokens": "tokens seen",
    "steps": "steps",
    "batch_size": "batch size",
    "code": "version of ablate",
    "torch": "version of torch",
}
IMPLIED = {"tokens": ("steps", "batch_size", "seq_len")}  # field → the factors that change it
MINOR = {"device": "device", "threads": "threads"}


@dataclass(frozen=True)
class LedgerRow:
    """What an arm was given: by field the distinct values of its runs, as texts.

    `seconds` is the mean wall time of its finished runs; `lr_choice` says how its lr came about.
    """

    arm: str
    values: dict[str, tuple[str, ...]]
    seconds: float | None
    seeds: tuple[Any, ...]
    lr_choice: str


@dataclass(frozen=True)
class Flag:
    """A difference between arms that is not the factor itself; `unfair` ones can make a verdict."""

    field: str
    text: str
    unfair: bool


def ledger(
    groups: Sequence[Group], factors: Sequence[str], choices: Sequence[ChosenValue]
) -> list[LedgerRow]:
    """Return a row for each group."""
    chosen = {choice.arm: choice for choice in choices}
    return [_row(group, "lr" in factors, chosen.get(group.arm.label)) for group in groups]


def _row(group: Group, varied: bool, choice: ChosenValue | None) -> LedgerRow:
    seconds = [o.run.record["timing"]["seconds"] for o in group.outcomes if o.state == "finished"]
    known = [value for value in seconds if value is not None]
    if choice is not None:
        seeds = ", ".join(map(text, choice.seeds))
        told = f"chosen among {', '.join(choice.among)} on seed {seeds}, which is not reported"
    else:
        told = "a factor: not chosen" if varied else "the same for all"
    return LedgerRow(
        arm=group.arm.label,
        values={field: _values(group, read) for field, read in FIELDS.items()},
        seconds=fmean(known) if known else None,
        seeds=group.arm.seeds,
        lr_choice=told,
    )


def _values(group: Group, read: Callable[[Outcome], Any]) -> tuple[str, ...]:
    values = (read(outcome) for outcome in group.outcomes)
    return tuple(clean(value) for value in distinct(_text(v) for v in values if v is not None))


def _text(value: Any) -> str:
    """A text as it is, be it a version of digits alone; a number as a setting."""
    return value if isinstance(value, str) else text(value)


def _code(environment: dict[str, Any]) -> str | None:
    version, commit = environment.get("ablate"), environment.get("git")
    told = [_text(part) for part in (version, commit) if part is not None]
    return " ".join(told) or None


def _with_options(outcome: Outcome, group: str) -> str:
    options = [
        f"{key.partition('.')[2]}={text(value)}"
        for key, value in outcome.settings.items()
        if key.startswith(f"{group}.")
    ]
    return " ".join([text(outcome.settings.get(group)), *options])


def flags(rows: Sequence[LedgerRow], factors: Sequence[str]) -> list[Flag]:
    """Return where arms differ, or runs of one arm do, beyond the factors; the worst first."""
    found = []
    for field, words in (UNFAIR | MINOR).items():
        by_value: dict[tuple[str, ...], list[str]] = {}
        for row in rows:
            if row.values[field]:
                by_value.setdefault(row.values[field], []).append(row.arm)
        implied = IMPLIED.get(field, (field,))
        if any(factor in factors for factor in implied) or (
            len(by_value) < 2 and all(len(value) < 2 for value in by_value)
        ):
            continue
        parts = "; ".join(
            f"{' and '.join(map(short, value))} ({_some(arms, len(rows))})"
            for value, arms in by_value.items()
        )
        found.append(Flag(field, f"different {words}: {parts}", field in UNFAIR))
    return [*found, *_parameters(rows), *_seeds(rows)]


def short(value: str) -> str:
    """Return a value with a hash shortened to what tells it apart."""
    return value[:12] if len(value) == 64 else value


def repeats(groups: Sequence[Group]) -> list[Flag]:
    """Return a flag where an arm has a seed more than once, as in two studies: it is averaged."""
    times = Counter(
        (tuple(o.levels.values()) or o.run.arm, text(o.seed))
        for group in groups
        for o in group.outcomes
    )
    repeated = sum(count - 1 for count in times.values())
    if not repeated:
        return []
    told = f"{repeated} runs repeat the arm and seed of another; such runs are averaged"
    return [Flag("runs", told, False)]


def _some(arms: Sequence[str], of: int) -> str:
    if len(arms) == of:
        return "all arms"
    return arms[0] if len(arms) == 1 else f"{len(arms)} arms, {arms[0]} first"


def _parameters(rows: Sequence[LedgerRow]) -> Iterable[Flag]:
    counts = [(float(row.values["parameters"][0]), row.arm) for row in rows if _counted(row)]
    if not counts:
        return
    (least, small), (most, large) = min(counts), max(counts)
    if least > 0 and most > least * (1 + PARAMETERS):
        share = 100 * (most / least - 1)
        told = f"{large} has {most:,.0f} parameters, {share:.0f} % more than {small} ({least:,.0f})"
        yield Flag("parameters", told, False)


def _counted(row: LedgerRow) -> bool:
    return len(row.values["parameters"]) == 1


def _seeds(rows: Sequence[LedgerRow]) -> Iterable[Flag]:
    by_seeds: dict[tuple[Any, ...], list[str]] = {}
    for row in rows:
        by_seeds.setdefault(row.seeds, []).append(row.arm)
    if len(by_seeds) > 1:
        parts = "; ".join(
            f"{', '.join(map(text, seeds)) or 'none'} ({_some(arms, len(rows))})"
            for seeds, arms in by_seeds.items()
        )
        told = f"arms have different seeds: {parts}; only shared ones are paired"
        yield Flag("seeds", told, False)
