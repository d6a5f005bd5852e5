"""The first line above a report's table: studies, runs, arms, seeds, corpus, L, ln V."""

from dataclasses import dataclass

from ablate.report.runs.settings import text
from ablate.report.runs.shown import facts
from ablate.report.runs.tables import Table, distinct
from ablate.report.words.numbers import count_of, enumerated
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
    seen = facts(table)
    runs = count_of(seen.runs, "run")
    if seen.runs_shown + seen.runs_without_record < seen.runs:
        runs = f"{seen.runs_shown} of {runs}"
    if seen.runs_without_record:
        runs += f" ({seen.runs_without_record} without a readable record)"
    seeds = _listed("seed", "seeds", [text(seed) for seed in seen.seeds])
    parts = [f"{runs}, {count_of(seen.arms, 'arm')}, {seeds}"]
    if seen.corpora:
        parts.append(_listed("corpus", "corpora", seen.corpora))
    if seen.train_lengths:
        parts.append(f"L = {enumerated(map(text, seen.train_lengths))} tokens")
    if seen.ln_vocabulary:
        values = distinct(f"{value:.3f}" for value in seen.ln_vocabulary)
        parts.append(f"ln V = {enumerated(values)} nats")
    studies = _listed("study", "studies", seen.studies)
    return Heading(clean(studies), [clean(part) for part in parts])


def _listed(singular: str, plural: str, names: list[str]) -> str:
    if len(names) == 1:
        return f"{singular} {names[0]}"
    return f"{len(names)} {plural}" + (f" ({enumerated(names)})" if names else "")
