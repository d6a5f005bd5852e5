"""The analysis as sections: what it says, above a table; below it the diagnosis and the ledger."""

from collections.abc import Sequence
from dataclasses import dataclass

from ablate.report.inference.analysis import Analysis
from ablate.report.inference.contrasts import Contrast
from ablate.report.inference.findings import ArmFinding
from ablate.report.inference.ledger import UNFAIR, LedgerRow, short
from ablate.report.runs.settings import text
from ablate.report.runs.skipped import LeftOut
from ablate.report.words.phrases import amount, count_of, p_text, spread
from ablate.report.words.verdicts import KINDS, Said
from ablate.shell.clean import clean

HEADINGS: dict[Said, str] = {
    "mattered": "what mattered",
    "no difference": "what did not",
    "undecided": "what is undecided",
    "caution": "cautions",
}
MOST: dict[Said, int] = {"mattered": 5, "no difference": 3, "undecided": 4, "caution": 6}
COMPARED = 30  # in the terminal
FINDINGS = 6  # in the terminal; every arm's are in json and on the page
COUNTED = ("parameters", "flops_per_token", "tokens")
LEDGER_WORDS = {"flops_per_token": "flops/token", "batch_size": "batch", "seq_len": "L"}


@dataclass(frozen=True)
class Section:
    """A title and lines; a line of a list begins with "- ". One that `leads` is above the table."""

    title: str
    lines: list[str]
    leads: bool = False


def sections(
    analysis: Analysis,
    full_ledger: bool,
    *,
    skipped: Sequence[LeftOut] = (),
    arm_by_arm: bool = False,
) -> list[Section]:
    """Return what there is to say; nothing of differences where there is one arm.

    `arm_by_arm` lists every comparison with the baseline, also where factors are told of.
    """
    found = []
    if len(analysis.arms) > 1:
        lines = [_terms(analysis), *_sentences(analysis)]
        found.append(Section("What it says", lines, leads=True))
    if arm_by_arm and len(analysis.factors) > 1 and analysis.contrasts:
        found.append(Section("Arm by arm against the baseline", _arm_by_arm(analysis)))
    if skipped:
        found.append(Section("Left out", [f"- {one.line}" for one in skipped]))
    if analysis.findings:
        found.append(Section("Diagnosis", _findings(analysis.findings)))
    if full_ledger:
        found.append(Section("Fairness ledger", _ledger(analysis)))
    return found


def _terms(analysis: Analysis) -> str:
    """Say what the verdicts rest on."""
    families = [
        (len(analysis.effects), "main effect"),
        (len(analysis.interactions), "interaction"),
        (len(analysis.contrasts), "comparison"),
    ]
    told = ", ".join(count_of(number, noun) for number, noun in families if number)
    direction = "higher" if analysis.higher_is_better else "lower"
    return clean(
        f"{analysis.metric}, {direction} is better, against {analysis.baseline}"
        f" ({analysis.baseline_reason}); differences are paired by seed, with 95 % intervals;"
        f" verdicts need more than {analysis.margin:g} {analysis.unit} and hold at 5 % within each"
        f" family (Holm): {told}"
    )


def _sentences(analysis: Analysis) -> list[str]:
    lines = []
    for kind in KINDS:
        told = [sentence.text for sentence in analysis.sentences if sentence.kind == kind]
        if not told:
            continue
        lines.append(f"{HEADINGS[kind]}:")
        lines += [f"- {clean(sentence)}" for sentence in told[: MOST[kind]]]
        if len(told) > MOST[kind]:
            lines.append(f"- and {len(told) - MOST[kind]} more, in --json")
    if not any(sentence.kind == "mattered" for sentence in analysis.sentences):
        lines.insert(0, f"{HEADINGS['mattered']}: nothing that these runs could show")
    unfair = [UNFAIR[flag.field] for flag in analysis.flags if flag.unfair]
    if unfair:
        words = f"arms differ in {', '.join(unfair)} beside the factors (see cautions)"
        lines.insert(0, f"read with care: {words}")
    return lines


def _arm_by_arm(analysis: Analysis) -> list[str]:
    """One line for each comparison, the largest first."""
    ordered = sorted(analysis.contrasts, key=lambda one: -abs(one.difference.mean or 0.0))
    lines = [clean(f"- {_compared(one, analysis.unit)}") for one in ordered[:COMPARED]]
    if len(ordered) > COMPARED:
        lines.append(f"- and {len(ordered) - COMPARED} more, in --json")
    return lines


def _compared(one: Contrast, unit: str) -> str:
    mean, low, high = one.difference.mean, one.difference.low, one.difference.high
    size = "–" if mean is None else f"{amount(mean, True)} {unit}"
    if low is not None and high is not None:
        size += f" {spread(low, high)}"
    basis = f"{count_of(one.difference.n, 'seed')}, {p_text(one.p_holm)} by Holm"
    return f"{one.name}: {size}, {basis}: {one.verdict}"


def _findings(found: Sequence[ArmFinding]) -> list[str]:
    """One line for each finding and advice, over all arms that have it."""
    alike: dict[tuple[str, str], list[ArmFinding]] = {}
    for one in found:
        alike.setdefault((one.name, one.advice), []).append(one)
    ordered = sorted(alike.values(), key=lambda group: -sum(one.count for one in group))
    lines = [_finding(group) for group in ordered[:FINDINGS]]
    if len(ordered) > FINDINGS:
        lines.append(f"- and {len(ordered) - FINDINGS} more, in --json")
    return lines


def _finding(group: Sequence[ArmFinding]) -> str:
    first = max(group, key=lambda one: one.count)
    count, of = sum(one.count for one in group), sum(one.of for one in group)
    arms = first.arm if len(group) == 1 else f"{len(group)} arms, {first.arm} first"
    return clean(
        f"- {first.name} in {count} of {count_of(of, 'run')} ({arms}): {first.evidence};"
        f" {first.cause}; try {first.advice}"
    )


def _ledger(analysis: Analysis) -> list[str]:
    """What all arms were given alike once, then what differs by arm, then the flags."""
    fields = list(analysis.ledger[0].values) if analysis.ledger else []
    alike = [field for field in fields if len({row.values[field] for row in analysis.ledger}) == 1]
    shared = [
        f"{_word(field)} {_told(field, analysis.ledger[0])}"
        for field in alike
        if analysis.ledger[0].values[field]
    ]
    lines = [f"alike for all arms: {'; '.join(shared)}"] if shared else []
    for row in analysis.ledger:
        parts = [f"{_word(field)} {_told(field, row)}" for field in fields if field not in alike]
        seconds = "–" if row.seconds is None else f"{row.seconds:.1f} s a run"
        seeds = ", ".join(map(text, row.seeds)) or "none"
        parts += [f"time {seconds}", f"seeds {seeds}", f"lr {row.lr_choice}"]
        lines.append(clean(f"- {row.arm}: {'; '.join(parts)}"))
    unfair = [flag for flag in analysis.flags if flag.unfair]
    lines.append(clean(f"{count_of(len(unfair), 'difference')} beyond the factors"))
    lines += [clean(f"- {flag.text}") for flag in analysis.flags]
    return lines


def _word(field: str) -> str:
    return LEDGER_WORDS.get(field, field)


def _told(field: str, row: LedgerRow) -> str:
    """Return a field's values: counts with separators, hashes shortened."""
    values = row.values[field]
    if field in COUNTED:
        values = tuple(f"{float(value):,.0f}" for value in values)
    return " and ".join(map(short, values)) or "–"
