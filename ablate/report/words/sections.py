"""The analysis as sections: what it says, above a table; below it the diagnosis and the ledger."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ablate.record.study_note import LeftOut
from ablate.report.inference.analysis import Analysis
from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.findings import ArmFinding, over_arms
from ablate.report.inference.ledger import LedgerRow
from ablate.report.inference.ledger_fields import BY_FIELD, FIELDS, LedgerField
from ablate.report.inference.verdicts import BY_NAME, KINDS, Said
from ablate.report.runs.settings import text
from ablate.report.words.cautions import caution, line_value, lr_choice
from ablate.report.words.cells import NONE
from ablate.report.words.heading import terms
from ablate.report.words.interactions import verdict_text, within_text
from ablate.report.words.length_sentences import length_sentence
from ablate.report.words.numbers import amount, count_of, first_of, p_text, spread
from ablate.report.words.statements import statements
from ablate.report.words.tried_text import finding_text
from ablate.report.words.troubles import left_out
from ablate.shell.clean import clean

HEADINGS: dict[Said, str] = {
    "mattered": "what mattered",
    "no difference": "what did not",
    "undecided": "what is undecided",
    "start": "how they start",
    "caution": "cautions",
}
MOST: dict[Said, int] = {
    "mattered": 5,
    "no difference": 3,
    "undecided": 4,
    "start": 3,
    "caution": 6,
}
COMPARED = 30
SIMPLE = 24
FINDINGS = 6
"""How many of each stand in the terminal; all do with --all, in json and on the page."""


@dataclass(frozen=True)
class Line:
    """A line of a section, or an item of a list in it; clean of control codes."""

    text: str
    is_item: bool = False


@dataclass(frozen=True)
class Section:
    """A title, lines and a table (`rows`, the heads first). One that `leads` stands at the top."""

    title: str
    lines: list[Line]
    leads: bool = False
    rows: list[list[str]] = field(default_factory=list)


def sections(
    analysis: Analysis,
    full_ledger: bool,
    *,
    skipped: Sequence[LeftOut] = (),
    arm_by_arm: bool = False,
    in_full: bool = False,
) -> list[Section]:
    """Return what there is to say; of one arm how it starts, and nothing of differences.

    `arm_by_arm` lists every comparison with the baseline, also where factors are told of;
    `in_full` leaves nothing out of any list.
    """
    parts = []
    lines = _statements(analysis, in_full)
    if len(analysis.arms) > 1:
        lines = [Line(terms(analysis)), *_of_differences(analysis), *lines]
    if lines:
        parts.append(Section("What it says", lines, leads=True))
    if analysis.within:
        parts.append(_effects_within(analysis, in_full))
    if analysis.simple:
        lines, rows = _simple(analysis.simple, analysis.unit, in_full)
        parts.append(Section("Simple effects", lines, rows=rows))
    if analysis.lengths:
        said = (length_sentence(fact).text for fact in analysis.lengths)
        parts.append(Section("What it says of length", _items(said), leads=True))
    if arm_by_arm and len(analysis.factors) > 1 and analysis.contrasts:
        parts.append(Section("Arm by arm against the baseline", _arm_by_arm(analysis, in_full)))
    if skipped:
        parts.append(Section("Left out", _items(map(left_out, skipped))))
    if analysis.findings:
        parts.append(Section("Diagnosis", _findings(analysis.findings, in_full)))
    if full_ledger:
        parts.append(Section("Fairness ledger", _ledger(analysis)))
    return parts


def _items(texts: Iterable[str]) -> list[Line]:
    return [Line(clean(text), is_item=True) for text in texts]


def _first(texts: Sequence[str], most: int, in_full: bool) -> list[Line]:
    """Return the first of some texts as a list, with how many more there are."""
    more = 0 if in_full else max(0, len(texts) - most)
    items = _items(texts[: len(texts) - more])
    return [*items, *([Line(f"and {more} more, with --all", is_item=True)] if more else [])]


def _of_differences(analysis: Analysis) -> list[Line]:
    """What is to be known of all differences: that arms are unequal, or that none was shown."""
    lines = []
    unfair = [BY_FIELD[flag.field].name for flag in analysis.flags if flag.unfair]
    if unfair:
        words = f"arms differ in {', '.join(unfair)} beside the factors (see cautions)"
        lines.append(Line(f"read with care: {words}"))
    if not any(point.kind == "mattered" for point in analysis.points):
        lines.append(Line(f"{HEADINGS['mattered']}: nothing that these runs could show"))
    return lines


def _statements(analysis: Analysis, in_full: bool) -> list[Line]:
    said = statements(analysis)
    lines = []
    for kind in KINDS:
        texts = [statement.text for statement in said if statement.kind == kind]
        if texts:
            lines.append(Line(f"{HEADINGS[kind]}:"))
            lines += _first(texts, MOST[kind], in_full)
    return lines


def _effects_within(analysis: Analysis, in_full: bool) -> Section:
    """What was asked for: each factor within some levels, as a table above that of the report."""
    lines, rows = _simple(analysis.within, analysis.unit, in_full)
    return Section(f"Within {clean(analysis.asked_within)}", lines, leads=True, rows=rows)


def _simple(
    contrasts: Sequence[Contrast], unit: str, in_full: bool
) -> tuple[list[Line], list[list[str]]]:
    """Effects within levels of other factors, those of a level together."""
    most = len(contrasts) if in_full else SIMPLE
    cut = f"the first {most} of {len(contrasts)}, all with --all"
    lines = [Line(cut)] if len(contrasts) > most else []
    heads = ["level", "against", "within", f"difference, {unit}", "corrected", "seeds", "verdict"]
    ordered = sorted(contrasts, key=lambda one: BY_NAME[one.verdict].said == "undecided")
    return lines, [heads, *(_row(one) for one in ordered[:most])]


def _row(one: Contrast) -> list[str]:
    mean = one.difference.mean
    ends = NONE if one.low is None or one.high is None else spread(one.low, one.high)
    return [
        clean(one.name),
        clean(one.against),
        clean(within_text([one])),
        NONE if mean is None else amount(mean, True),
        ends,
        str(one.difference.n),
        verdict_text(one),
    ]


def _arm_by_arm(analysis: Analysis, in_full: bool) -> list[Line]:
    """One line for each comparison, the largest first."""
    ordered = sorted(analysis.contrasts, key=lambda one: -abs(one.difference.mean or 0.0))
    texts = [_compared(contrast, analysis.unit) for contrast in ordered]
    return _first(texts, COMPARED, in_full)


def _compared(contrast: Contrast, unit: str) -> str:
    test = contrast.difference
    size = NONE if test.mean is None else f"{amount(test.mean, True)} {unit}"
    if contrast.low is not None and contrast.high is not None:
        size += f" {spread(contrast.low, contrast.high)}"
    basis = f"{count_of(test.n, 'seed')}, {p_text(contrast.p_holm)} by Holm"
    return f"{contrast.name}: {size}, {basis}: {verdict_text(contrast)}"


def _findings(findings: Sequence[ArmFinding], in_full: bool) -> list[Line]:
    """One line for each finding and advice, over all arms that have it."""
    groups = over_arms(findings, lambda finding: finding.shared)
    return _first(list(map(_finding, groups)), FINDINGS, in_full)


def _finding(group: Sequence[ArmFinding]) -> str:
    first = max(group, key=lambda one: one.count)
    count, of = sum(one.count for one in group), sum(one.of for one in group)
    arms = first_of([first.arm, *(one.arm for one in group if one is not first)])
    why = finding_text(first)
    where = "of the first: " if len(group) > 1 and first.tried else ""
    return (
        f"{first.name} in {count} of {count_of(of, 'run')} ({arms}): {first.evidence}"
        f"{f'; {where}{why}' if why else ''}"
    )


def _ledger(analysis: Analysis) -> list[Line]:
    """What all arms were given alike once, then what differs by arm, then the flags."""
    rows = analysis.ledger
    alike = [field for field in FIELDS if len({row.values[field.key] for row in rows}) == 1]
    shared = [_given(field, rows[0]) for field in alike if rows[0].values[field.key]]
    lines = [Line(f"alike for all arms: {'; '.join(shared)}")] if shared else []
    lines += _items(_of_arm(row, [field for field in FIELDS if field not in alike]) for row in rows)
    unfair = sum(flag.unfair for flag in analysis.flags)
    lines.append(Line(f"{count_of(unfair, 'difference')} beyond the factors"))
    return lines + _items(map(caution, analysis.flags))


def _of_arm(row: LedgerRow, fields: Sequence[LedgerField]) -> str:
    seconds = NONE if row.seconds is None else f"{row.seconds:.1f} s a run"
    parts = [
        *(_given(field, row) for field in fields),
        f"time {seconds}",
        f"seeds {', '.join(map(text, row.seeds)) or 'none'}",
        f"lr {lr_choice(row)}",
    ]
    return f"{row.arm}: {'; '.join(parts)}"


def _given(field: LedgerField, row: LedgerRow) -> str:
    return f"{field.short or field.key} {line_value(field, row)}"
