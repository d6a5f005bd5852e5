"""What stands above a report: studies, runs, seeds, ln V; what is asked, what verdicts rest on."""

from dataclasses import dataclass

from ablate.report.inference.analysis import Analysis
from ablate.report.runs.settings import text
from ablate.report.runs.shown import facts
from ablate.report.runs.tables import Table, distinct
from ablate.report.words.numbers import count_of, enumerated, together
from ablate.shell.clean import clean


@dataclass(frozen=True)
class Heading:
    """Which studies a report is of, and what there is in them; clean of control codes."""

    studies: str
    facts: list[str]

    @property
    def line(self) -> str:
        """All in one line."""
        return f"{self.studies}: {'; '.join(self.facts)}"


def heading(table: Table) -> Heading:
    """Return what stands above the table."""
    table_facts = facts(table)
    runs = count_of(table_facts.runs, "run")
    if table_facts.runs_shown + table_facts.runs_without_record < table_facts.runs:
        runs = f"{table_facts.runs_shown} of {runs}"
    if table_facts.runs_without_record:
        runs += f" ({table_facts.runs_without_record} without a readable record)"
    seeds = _listed("seed", "seeds", [text(seed) for seed in table_facts.seeds])
    parts = [f"{runs}, {count_of(table_facts.arms, 'arm')}, {seeds}"]
    if table_facts.corpora:
        parts.append(_listed("corpus", "corpora", table_facts.corpora))
    if table_facts.train_lengths:
        parts.append(f"L = {enumerated(map(text, table_facts.train_lengths))} tokens")
    if table_facts.ln_vocabulary:
        values = distinct(f"{value:.3f}" for value in table_facts.ln_vocabulary)
        parts.append(f"ln V = {enumerated(values)} nats")
    studies = _listed("study", "studies", table_facts.studies)
    return Heading(clean(studies), [clean(part) for part in parts])


def _listed(singular: str, plural: str, names: list[str]) -> str:
    if len(names) == 1:
        return f"{singular} {names[0]}"
    return f"{len(names)} {plural}" + (f" ({enumerated(names)})" if names else "")


def baseline_reason(analysis: Analysis) -> str:
    """Say why an arm is the baseline."""
    reason = analysis.baseline_reason
    if not reason.fitting:
        return "no runs"
    if not reason.asked:
        words = "the arm nearest to the defaults"
    elif reason.fitting == 1:
        words = "--baseline"
    else:
        words = f"of the {reason.fitting} arms that --baseline fits the nearest to the defaults"
    return f"{words}, of those with a finished run" if reason.finished else words


def against(analysis: Analysis) -> str:
    """Name what the contrasts are against: the baseline, or one in each task or text."""
    several = len({contrast.against for contrast in analysis.contrasts}) > 1
    return "the baseline of their task or text" if several else f"{analysis.baseline}"


def direction(analysis: Analysis) -> str:
    """Say which way the metric is good."""
    return f"{'higher' if analysis.higher_is_better else 'lower'} is better"


def terms(analysis: Analysis) -> str:
    """Say what the verdicts rest on."""
    at_looks = any(one.look for one in analysis.contrasts)
    looks = " over all planned looks" if at_looks else ""
    return clean(
        f"{analysis.metric}, {direction(analysis)}, against {analysis.baseline}"
        f" ({baseline_reason(analysis)}); differences are paired by seed; verdicts need more than"
        f" {analysis.margin:g} {analysis.unit} and hold at 5 % within each family (Holm){looks},"
        f" as strict as the intervals beside them: {'; '.join(families(analysis))}"
    )


def families(analysis: Analysis) -> list[str]:
    """Name what is corrected together, with the number of tests in each family."""
    kinds = (
        (sum(not one.depends for one in analysis.effects), "main effect"),
        (len(analysis.interactions), "interaction"),
        (len(analysis.simple), "simple effect"),
    )
    parts = [count_of(number, noun) for number, noun in kinds if number]
    failures = [
        f"{one.ending} runs of {count_of(number, noun)}"
        for one in analysis.failures
        for number, noun in ((len(one.levels), "level"), (len(one.arms), "arm"))
        if number
    ]
    return [
        *([together(parts) + (" together" if len(parts) > 1 else "")] if parts else []),
        *([count_of(len(analysis.contrasts), "comparison")] if analysis.contrasts else []),
        *failures,
        *([f"{count_of(len(analysis.within), 'effect')} asked for"] if analysis.within else []),
    ]


def question(analysis: Analysis) -> str:
    """Say what the runs were made to find out."""
    factors = [key for key in analysis.factors if "." not in key] or list(analysis.factors)
    if len(analysis.arms) < 2:
        return "One configuration: there is nothing to compare it with yet."
    if not factors:
        return "Arms of different names whose settings do not differ."
    verb = "does" if len(factors) == 1 else "do"
    return (
        f"How much {verb} {together(factors)} matter to the {analysis.meaning}?"
        f" Differences below {analysis.margin:g} {analysis.unit} count as none."
    )
