"""What an analysis says, point by point, as sentences with their parts."""

from collections.abc import Sequence
from dataclasses import dataclass

from ablate.report.inference.analysis import Analysis
from ablate.report.inference.beginnings import FirstLosses, GradientFlow
from ablate.report.inference.failing import (
    FailingArms,
    FailingLevels,
    FailingTogether,
    FailuresOpen,
)
from ablate.report.inference.failure_facts import Ending
from ablate.report.inference.points import (
    Fact,
    SharedVerdict,
    SimpleEffects,
    SingleVerdict,
)
from ablate.report.inference.verdicts import Judge, Said
from ablate.report.words.beginnings_text import first_losses, gradient_flow_text
from ablate.report.words.cautions import caution
from ablate.report.words.comparisons import comparison, shared_verdict
from ablate.report.words.failure_sentences import (
    failing_arms,
    failing_levels,
    failing_together,
    failures_open,
)
from ablate.report.words.interactions import simple_effects
from ablate.report.words.sentence import Sentence


@dataclass(frozen=True)
class Statement:
    """A fact and its sentence; within a kind the most important comes first."""

    kind: Said
    fact: Fact
    sentence: Sentence

    @property
    def text(self) -> str:
        """The whole sentence."""
        return self.sentence.text


@dataclass(frozen=True)
class Verdicts:
    """A kind of statement as a heading, and what stands there if there is none."""

    kind: Said
    heading: str
    none: str


VERDICTS = (
    Verdicts("mattered", "What mattered", "Nothing that these runs could show."),
    Verdicts(
        "no difference",
        "What made no difference",
        "No two are shown to be equivalent; that takes more seeds than a difference.",
    ),
    Verdicts("undecided", "What is undecided", "Nothing."),
    Verdicts("start", "How they start", "Not measured."),
)


def statements(analysis: Analysis) -> list[Statement]:
    """Return what an analysis says, in the order of its points."""
    judge = analysis.judge
    return [Statement(p.kind, p.fact, _sentence(p.fact, judge)) for p in analysis.points]


def of_failures(said: Sequence[Statement], ending: Ending) -> list[Statement]:
    """Return the statements about runs that ended so."""
    return [one for one in said if _tells(one.fact, ending)]


def _tells(fact: Fact, ending: Ending) -> bool:
    match fact:
        case FailingArms() | FailingLevels() | FailingTogether() | FailuresOpen():
            return fact.ending == ending
        case SingleVerdict():
            return ending == "diverged" and any(fact.contrast.diverged)
        case _:
            return False


def _sentence(fact: Fact, judge: Judge) -> Sentence:
    match fact:
        case SingleVerdict():
            return comparison(fact, judge)
        case SharedVerdict():
            return shared_verdict(fact, judge)
        case SimpleEffects():
            return simple_effects(fact, judge)
        case FailingArms():
            return failing_arms(fact)
        case FailingLevels():
            return failing_levels(fact)
        case FailingTogether():
            return failing_together(fact)
        case FailuresOpen():
            return failures_open(fact)
        case FirstLosses():
            return first_losses(fact)
        case GradientFlow():
            return gradient_flow_text(fact)
        case _:
            return Sentence(caution(fact))
