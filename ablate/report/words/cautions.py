"""What a reader must know of how the arms came about, and what each was given, in words."""

from functools import singledispatch

from ablate.judge.intervals import Interval
from ablate.report.inference.caveats import (
    ArmsAlike,
    ChosenAmong,
    ChosenAtEnd,
    ChosenOn,
    EqualRates,
    FewSeeds,
    LowestOfSeveral,
    NeverAlone,
    NoneToChoose,
    NoResult,
    NotMeasured,
    RateCosts,
    ScalesApart,
    UndefinedFor,
)
from ablate.report.inference.ledger import (
    FieldDiffers,
    LedgerRow,
    ParametersDiffer,
    RunsRepeat,
    SeedsDiffer,
)
from ablate.report.inference.ledger_fields import BY_FIELD, LedgerField
from ablate.report.runs.settings import text
from ablate.report.words.cells import NONE
from ablate.report.words.look_text import decided_otherwise, outside_the_plan, planned_looks
from ablate.report.words.numbers import amount, count_of, first_of, some


@singledispatch
def caution(fact: object) -> str:
    """Return what a caveat or a flag of the ledger says."""
    raise TypeError(f"no words for {type(fact).__name__}")


caution.register(planned_looks)
caution.register(outside_the_plan)
caution.register(decided_otherwise)


@caution.register
def _few_seeds(fact: FewSeeds) -> str:
    if fact.most == 1:
        return "one seed: no difference has an interval, so none is decided; add seed=0,1,2,3,4"
    return "two seeds are few: intervals are wide (t = 12.7); add seed=0,1,2,3,4"


@caution.register
def _rate_costs(fact: RateCosts) -> str:
    rates = ", ".join(map(text, fact.least.rates))
    least = f"{fact.least.arm} {_cost(fact.least.value)}"
    most = f" to {fact.most.arm} {_cost(fact.most.value)}" if fact.most else ""
    return f"what an lr costs that is not the best, on average over {rates}: {least}{most}"


def _cost(value: Interval) -> str:
    half = "" if value.half_width is None else f" ±{amount(value.half_width)}"
    return f"{amount(value.mean or 0.0)}{half} nats ({count_of(value.n, 'seed')})"


@caution.register
def _scales_apart(fact: ScalesApart) -> str:
    return (
        f"arms of another {' or '.join(fact.keys)} are not compared: a loss or an accuracy has no"
        " common scale across them"
    )


@caution.register
def _lowest_of_several(_: LowestOfSeveral) -> str:
    return (
        "best_loss is the lowest of several looks at the same held-out text, so it is chosen on"
        " what it reports; val_loss is not"
    )


@caution.register
def _never_alone(fact: NeverAlone) -> str:
    several = len(fact.factors) > 1
    verb = "never change alone: their effects" if several else "never changes alone: its effect"
    return f"{' and '.join(fact.factors)} {verb} cannot be told apart from others"


@caution.register
def _chosen_on(fact: ChosenOn) -> str:
    return (
        f"{fact.key} was chosen for each arm by its validation loss on seed"
        f" {', '.join(map(text, fact.seeds))}; these runs are in no number here"
    )


@caution.register
def _chosen_among(fact: ChosenAmong) -> str:
    grids = " or ".join(", ".join(grid) for grid in fact.grids)
    return f"{fact.key} was chosen from different values: {grids}"


@caution.register
def _chosen_at_end(fact: ChosenAtEnd) -> str:
    return (
        f"the {fact.key} chosen is the last of those tried, and one beyond may be better:"
        f" {some(fact.arms)}"
    )


@caution.register
def _none_to_choose(fact: NoneToChoose) -> str:
    seeds = ", ".join(map(text, fact.seeds))
    return f"no {fact.key} finished on seed {seeds}, so it is left out: {some(fact.arms)}"


@caution.register
def _equal_rates(_: EqualRates) -> str:
    return (
        "arms are compared at equal lr, not each at its best: --choose lr chooses it for each,"
        " on other seeds"
    )


@caution.register
def _not_measured(fact: NotMeasured) -> str:
    return f"none of these runs measures {fact.metric}"


@caution.register
def _undefined_for(fact: UndefinedFor) -> str:
    return f"{fact.metric} is undefined for {some(fact.arms)}"


@caution.register
def _arms_alike(fact: ArmsAlike) -> str:
    groups = some([" = ".join(group) for group in fact.groups], 2)
    return f"the settings that these arms differ in had no effect, all runs are the same: {groups}"


@caution.register
def _no_result(fact: NoResult) -> str:
    runs = sum(count for _, count in fact.by_status)
    statuses = ", ".join(f"{count} {status}" for status, count in fact.by_status)
    return f"{count_of(runs, 'run')} {'has' if runs == 1 else 'have'} no result: {statuses}"


@caution.register
def _field_differs(flag: FieldDiffers) -> str:
    parts = "; ".join(
        f"{' and '.join(map(short, own.values))} ({first_of(own.arms, flag.of)})"
        for own in flag.sharing
    )
    return f"different {BY_FIELD[flag.field].name}: {parts}"


def short(value: str) -> str:
    """Return a value with a hash shortened to what tells it apart."""
    return value[:12] if len(value) == 64 else value


@caution.register
def _parameters_differ(flag: ParametersDiffer) -> str:
    share = 100 * (flag.most / flag.least - 1)
    return (
        f"{flag.large} has {flag.most:,.0f} parameters, {share:.0f} % more than {flag.small}"
        f" ({flag.least:,.0f})"
    )


@caution.register
def _seeds_differ(flag: SeedsDiffer) -> str:
    parts = "; ".join(
        f"{', '.join(map(text, own.values)) or 'none'} ({first_of(own.arms, flag.of)})"
        for own in flag.sharing
    )
    return f"arms have different seeds: {parts}; only shared ones are paired"


@caution.register
def _runs_repeat(flag: RunsRepeat) -> str:
    return f"{flag.count} runs repeat the arm and seed of another; such runs are averaged"


def lr_choice(row: LedgerRow) -> str:
    """Say how an arm's learning rate, or another key, came about."""
    if row.choice is None:
        return "a factor: not chosen" if row.lr_varies else "the same for all"
    seeds = ", ".join(map(text, row.choice.seeds))
    among = ", ".join(row.choice.among)
    return f"chosen among {among} on seed {seeds}, which is not reported"


def line_value(field: LedgerField, row: LedgerRow) -> str:
    """Return a field's values for a line: counts with separators, hashes shortened."""
    values = row.values[field.key]
    if field.counted:
        values = tuple(f"{float(value):,.0f}" for value in values)
    return " and ".join(map(short, values)) or NONE


def cell_value(field: LedgerField, row: LedgerRow) -> str:
    """Return a field's values for a cell of a table."""
    cut = _grouped if field.number else _cut
    return ", ".join(cut(short(value)) for value in row.values[field.key]) or NONE


def _cut(value: str) -> str:
    return value[:30]


def sort_value(value: str) -> float | None:
    """Return the number that a value is sorted by, None if it is none."""
    try:
        return float(value)
    except ValueError:
        return None


def _grouped(value: str) -> str:
    number = sort_value(value)
    return f"{number:,.0f}" if number is not None and abs(number) >= 1000 else value
