"""What became of an arm that tried a remedy, in words."""

from ablate.report.inference.findings import ArmFinding
from ablate.report.inference.tried import Tried
from ablate.report.runs.columns import BY_KEY
from ablate.report.words.numbers import amount, count_of, spread

ADJECTIVES = ("stuck", "unstable", "diverged", "undefined past L")


def finding_text(finding: ArmFinding) -> str:
    """Say why a finding may be, what siblings show of its remedies, and what is left to try."""
    return "; ".join(filter(None, (finding.cause, tried_text(finding), _advice(finding))))


def tried_text(finding: ArmFinding) -> str:
    """Quote the arms that tried a remedy."""
    return "; ".join(quote(tried, finding.name) for tried in finding.tried)


def _advice(finding: ArmFinding) -> str:
    return f"try {finding.advice}" if finding.advice else ""


def quote(tried: Tried, name: str) -> str:
    """Say how the arm with a remedy ended, which may have a signature of the same name."""
    size, of = _size(tried), tried.of
    having = name if name in ADJECTIVES else f"with {name}"
    failed = [f"{count} of {of} {label}" for label, count in tried.failed]
    counts = [f"{tried.count} of {of} {having}", *failed]
    if tried.count == of:
        return "; ".join(filter(None, (f"{tried.change} is here: {counts[0]} as well", size)))
    if tried.became == "open" or not size:
        shown = counts if tried.count or not failed else failed
        return f"{tried.change} is here: {', '.join(filter(None, (size, *shown)))}"
    word = "better" if tried.became == "better" else "worse"
    shown = counts if tried.count else failed
    return f"{tried.change} is here and does {word}: {', '.join((size, *shown))}"


def _size(tried: Tried) -> str:
    if tried.value is None or tried.own_value is None:
        return ""
    test = tried.difference
    size = f"{BY_KEY[tried.metric].name} {tried.value:.3f} against {tried.own_value:.3f}"
    if test.mean is None or test.low is None or test.high is None:
        return f"{size} in {count_of(test.n, 'seed')}"
    return f"{size}, {amount(test.mean, True)} {spread(test.low, test.high)} in {test.n} seeds"
