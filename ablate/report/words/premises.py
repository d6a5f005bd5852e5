"""What is asked of the runs, and what the verdicts rest on: baseline, margin, families."""

from ablate.report.inference.analysis import Analysis
from ablate.report.words.numbers import count_of, together
from ablate.shell.clean import clean


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
    return clean(
        f"{analysis.metric}, {direction(analysis)}, against {analysis.baseline}"
        f" ({baseline_reason(analysis)}); differences are paired by seed; verdicts need more than"
        f" {analysis.margin:g} {analysis.unit} and hold at 5 % within each family (Holm), as strict"
        f" as the intervals beside them: {'; '.join(families(analysis))}"
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
