"""Signatures that are there before anything is learned: first loss, gradient, stream over depth."""

import math

from ablate.judge.finding import Finding, Record, at_unigram, chosen, number, profile
from ablate.judge.first_loss import judge_record

VANISHED = 0.01  # gradient at the first block's input over that at the last's
ALIKE = 0.95  # mean cosine between two tokens
GROWTH = 0.15  # slope of ln rms, a block


def first_loss(record: Record) -> Finding | None:
    """A first loss further from ln V than chance makes it."""
    excess, found = number(record, "loss", "excess"), judge_record(record)
    if excess is None or found == "usual":
        return None
    evidence = f"first loss - ln V = {excess:+.2f} nats"
    if found == "low":
        return Finding(
            "low first loss",
            evidence,
            "the model may see its targets: a shift or a mask that leaks",
            "ablate check, which tests causality",
        )
    config, scale = record["config"], number(record, "instruments", "logit_scale", "first")
    if scale is not None:
        # Small logits cost their half variance, larger ones less than that.
        evidence += f"; logits of standard deviation {scale:.3g}"
        evidence += f", half their variance {scale**2 / 2:.2f}" if scale < 3 else ""
    causes, advice = [], []
    if config.get("tied"):
        causes.append("the head is tied to large embeddings")
        advice.append("tied=false or init=gpt2")
    if not config["norm"].get("final", False):
        causes.append("no norm stands before the head")
        advice.append("norm.final=true")
    return Finding(
        "high first loss",
        evidence,
        " and ".join(causes) or "the head's weights are large",
        ", ".join(advice) or "an init with a smaller head",
    )


def collapse(record: Record) -> Finding | None:
    """Tokens that the depth makes alike, or a gradient that does not reach the first blocks.

    Tokens that only training has made alike are a sign of too high a learning rate.
    """
    both = [profile(record, "token_cosine", when)[-1:] for when in ("first", "last")]
    alike = [value for values in both for value in values if value is not None]
    ratio = gradient_ratio(record)
    seen = []
    if len(alike) == 2 and min(alike) > ALIKE and at_unigram(record):
        seen.append(f"mean cosine between tokens {alike[-1]:.3f} after the last block")
    if ratio is not None and ratio < VANISHED:
        seen.append(f"gradient at the first block's input {ratio:.1e} of that at the last's")
    if not seen:
        return None
    without = chosen(record, "residual") == "off"
    return Finding(
        "rank collapse" if "cosine" in seen[0] else "vanishing gradient",
        "; ".join(seen),
        "no residual path" if without else "the signal does not pass the depth",
        "residual=on" if without else "a norm, residual=on, or less depth",
    )


def gradient_ratio(record: Record) -> float | None:
    """Gradient norm at the first block's input over that at the last's, at step 1."""
    inputs = record["gradients"].get("inputs_first") or []
    if len(inputs) < 2 or inputs[0] is None or not inputs[-1]:
        return None
    return float(inputs[0] / inputs[-1])


def growth(record: Record) -> Finding | None:
    """A stream that grows by a factor a block, because what blocks add grows with it.

    In pre-norm each block adds as much as the last, and the variance grows along a line.
    """
    stream = profile(record, "stream_rms", "first")
    slope = number(record, "instruments", "stream_rms", "slope_first")
    added = number(record, "instruments", "feed_forward_rms", "slope_first")
    if slope is None or added is None or slope < GROWTH or added < slope / 2 or len(stream) < 4:
        return None
    return Finding(
        "exponential growth",
        f"rms of the stream {stream[0]:.3g} to {stream[-1]:.3g}, x{math.exp(slope):.2f} a block",
        "no norm holds the stream" if chosen(record, "norm") == "none" else "large branches",
        "a norm placement, residual=depth_scaled, or a smaller init",
    )
