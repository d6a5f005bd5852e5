"""How runs start, in words: their first loss with what explains it, their gradient over depth."""

from ablate.judge.first_loss import large
from ablate.report.inference.beginnings import FirstLosses, GradientFlow
from ablate.report.words.numbers import amount, count_of, first_of
from ablate.report.words.sentence import Sentence

WHERE = {
    "usual": "as it should be",
    "high": "high",
    "low": "lower than a guess can be",
}


def first_losses(fact: FirstLosses) -> Sentence:
    """Say where first losses stand against ln V, and why."""
    ends = dict.fromkeys((amount(fact.least, True), amount(fact.most, True)))
    runs = count_of(fact.runs, "run")
    arms = f"{first_of(fact.arms, fact.of_arms)} ({runs})" if fact.of_arms > 1 else runs
    claim = f"first loss is {WHERE[fact.verdict]}, ln V {' to '.join(ends)} nats, in {arms}"
    return Sentence(claim, evidence="; ".join(_reasons(fact)))


def _reasons(fact: FirstLosses) -> list[str]:
    if fact.verdict == "low":
        return ["the model may see its targets, which ablate check tests"]
    reasons = []
    if fact.spread is not None:
        cost = f", which cost about half their variance, {fact.spread**2 / 2:.2f} nats"
        logits = f"logits of standard deviation {fact.spread:.2g}"
        reasons.append(logits + (cost if fact.spread < 1.5 else ""))
    if fact.verdict == "high":
        reasons += ["the head is tied to the embeddings"] if fact.tied else []
        reasons += ["no norm stands before the head"] if fact.bare else []
        if fact.spread is not None and not large(fact.spread):
            reasons.append("more than these logits cost and chance makes it")
    return reasons


def gradient_flow_text(fact: GradientFlow) -> Sentence:
    """Say whether the gradient at the first step is even over depth."""
    where = f"norm={fact.norm} depth={fact.depth}" if fact.among_depths else f"norm={fact.norm}"
    share = f"{fact.count} of {count_of(fact.of, 'run')}"
    claim = f"gradient over depth at the first step, {where}: {fact.flow} in {share}"
    ratio = fact.ratio
    if ratio.mean is None:
        return Sentence(claim)
    factor = ratio.half_width
    ends = "" if factor is None else f" [{ratio.mean / factor:.2g}, {ratio.mean * factor:.2g}]"
    return Sentence(
        claim,
        evidence=f"norm over the first block's parameters {ratio.mean:.2g} times that over the"
        f" last's{ends}, {count_of(ratio.n, 'seed')}",
    )
