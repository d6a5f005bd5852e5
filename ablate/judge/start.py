"""Signatures that are there before anything is learned: first loss, gradient, stream over depth."""

import math

from ablate.judge.evidence import Number
from ablate.judge.finding import Finding, by_block, has_learned, logit_spread, states
from ablate.judge.first_loss import judge_record
from ablate.judge.profile import collapsed, gradient_flow, grows_exponentially, inner, vanished
from ablate.judge.remedies import Offer, change, fitting, lower, other, words
from ablate.record.record import Record


def first_loss(record: Record) -> Finding | None:
    """A first loss further from ln V than chance makes it."""
    excess, verdict = record.loss.excess, judge_record(record)
    if excess is None or verdict == "usual":
        return None
    numbers: dict[str, Number] = {"first_loss_excess": excess}
    if verdict == "low":
        return Finding(
            "low first loss",
            numbers,
            "the model may see its targets: a shift or a mask that leaks",
            fitting(record, words("ablate check, which tests causality")),
            spoils="start",
        )
    spread = logit_spread(record)
    if spread is not None:
        numbers["logit_spread"] = spread
        if spread < 3:  # small logits cost their half variance, larger ones less than that
            numbers["half_variance"] = spread**2 / 2
    config = record.config
    causes: list[str] = []
    offers: list[Offer] = []
    if config.get("tied"):
        causes.append("the head is tied to large embeddings")
        offers += [change("tied", "false"), change("init", "gpt2")]
    if not config["norm"].get("final", False):
        causes.append("no norm stands before the head")
        offers.append(change("norm.final", "true"))
    return Finding(
        "high first loss",
        numbers,
        " and ".join(causes) or "maybe the head's weights are large",
        fitting(record, *offers) or fitting(record, words("an init with a smaller head")),
        spoils="start",
    )


def collapse(record: Record) -> Finding | None:
    """Tokens that the depth makes alike, or a gradient that does not reach the first blocks.

    Tokens that only training has made alike are a sign of too high a learning rate.
    """
    numbers: dict[str, Number] = {}
    ends = [by_block(record, "token_cosine", when)[-1:] for when in ("first", "last")]
    alike = [value for values in ends for value in values if value is not None]
    if len(alike) == 2 and collapsed(min(alike)) and not has_learned(record):
        numbers["token_cosine"] = alike[-1]
    parameters, inputs = record.gradients.parameters_first, record.gradients.inputs_first
    if gradient_flow(parameters, inputs) == "vanishing":
        for name, norms in (("parameters", parameters), ("inputs", inner(inputs))):
            ratio = vanished(norms)
            if ratio is not None:
                numbers[f"gradient_{name}"] = ratio
    if not numbers:
        return None
    offers = [change("residual", "on")]
    without = states(record, "residual", "absent")
    if not without:
        offers.append(lower("depth", "less depth"))
    if states(record, "norm", "absent"):
        offers.append(other("norm", "a norm placement"))
    return Finding(
        "rank collapse" if "token_cosine" in numbers else "vanishing gradient",
        numbers,
        "no residual path" if without else "the signal does not pass the depth",
        fitting(record, *offers),
    )


def growth(record: Record) -> Finding | None:
    """A stream that grows by a factor a block, because what blocks add grows with it."""
    stream = by_block(record, "stream_rms", "first")
    slope = record.instrument("stream_rms").slope_first
    added = record.instrument("feed_forward_rms").slope_first
    if slope is None or added is None or not grows_exponentially(slope, added, len(stream)):
        return None
    return Finding(
        "exponential growth",
        {
            "stream_first": stream[0],
            "stream_last": stream[-1],
            "stream_factor": math.exp(slope),
        },
        "no norm holds the stream" if states(record, "norm", "absent") else "large branches",
        fitting(
            record,
            other("norm", "a norm placement"),
            change("residual", "depth_scaled"),
            words("a smaller init"),
        ),
    )
