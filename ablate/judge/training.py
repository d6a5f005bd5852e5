"""Signatures of training: the curve, blocks that do nothing, sharp attention, the two losses."""

from collections.abc import Iterator
from typing import Any

from ablate.judge.beyond import order
from ablate.judge.finding import Finding, Record, chosen, number, profile
from ablate.judge.labels import SPIKE_SIGMAS, still_falling
from ablate.judge.start import collapse

IDLE = 0.99  # mean cosine of a token before and after a block
SHARP_LOGIT = 50.0  # largest attention logit
GROWN = 2.0  # factor over the first step's, so that it is training that made it large
EVALUATION_GAP = 0.5  # nats between validation and training at the end
FAR = 0.2  # nats above the unigram loss at which not even frequencies are learned
GATED = ("rezero", "skipinit", "layerscale")


def curve(record: Record) -> Finding | None:
    """A curve that learned no more than frequencies, jumped, or diverged."""
    label, spikes = record.get("label"), number(record, "loss", "spike_score") or 0.0
    name = label if label in ("stuck", "unstable", "diverged") else "spike" if spikes else None
    if name is None:
        return None
    if name == "stuck" and (collapse(record) or order(record)):
        return None  # that is why
    cause, advice = why(record, name)
    return Finding(name, "; ".join(evidence(record, name, spikes)), cause, advice)


def evidence(record: Record, name: str, spikes: float) -> Iterator[str]:
    """The numbers that show what a curve is."""
    final = number(record, "loss", "final")
    unigram = number(record, "loss", "unigram_train")
    if name != "spike":
        yield f"label {name}"
        if final is not None and unigram is not None:
            yield (
                f"training loss {final:.3f} nats at the end, unigram of the training text"
                f" {unigram:.3f}"
            )
    if spikes:
        largest = number(record, "loss", "spike_max") or 0.0
        yield (
            f"{100 * spikes:.2g} % of steps more than {SPIKE_SIGMAS:.0f} sigma above the trend, "
            f"the largest {largest:.0f}"
        )


def why(record: Record, name: str) -> tuple[str, str]:
    """The likely cause of a bad curve and what to try."""
    lr = record["config"]["lr"]
    points = record.get("curve") or {}
    if name == "stuck" and still_falling(points.get("steps", []), points.get("loss", [])):
        return (
            f"it still falls: too few steps, or lr={lr:g} is too low",
            "more steps or a larger lr",
        )
    final, unigram = number(record, "loss", "final"), number(record, "loss", "unigram_train")
    if name == "stuck" and final is not None and unigram is not None and final > unigram + FAR:
        return (
            f"it has not come down to the unigram loss: too few steps, or lr={lr:g} is far off",
            "more steps, then a larger and a smaller lr",
        )
    if chosen(record, "norm") == "post" and chosen(record, "warmup") == "none":
        return "post-norm without warmup", "warmup=linear, norm=deepnorm or norm=pre"
    return f"a learning rate too high (lr={lr:g})", "a smaller lr, warmup=linear, clip=1"


def idle_depth(record: Record) -> Finding | None:
    """Late blocks that hardly change the stream."""
    turned = profile(record, "block_cosine", "last")
    late = turned[-max(1, len(turned) // 4) :]
    if len(turned) < 8 or any(value is None or value < IDLE for value in late):
        return None
    seen = f"cosine of a token before and after a block {min(late):.4f} or more in the last quarter"
    if chosen(record, "residual") in GATED:
        cause, advice = "the branches' gates are still small", "more steps, or residual=on"
        return Finding("idle late blocks", seen, cause, advice)
    return Finding(
        "idle late blocks",
        seen,
        "the depth curse of pre-norm: the stream outgrows what a block adds",
        "norm=layernorm_scaling, norm=mix_ln or norm=peri",
    )


def sharp_attention(record: Record) -> Finding | None:
    """Attention logits that training has made large."""
    first = largest(profile(record, "attention_max", "first"))
    last = largest(profile(record, "attention_max", "last"))
    if last is None or last < SHARP_LOGIT or (first is not None and last < GROWN * first):
        return None
    return Finding(
        "sharp attention",
        f"largest attention logit {last:.0f}" + (f", {first:.2g} at first" if first else ""),
        f"queries and keys grow at this learning rate (lr={record['config']['lr']:g})",
        "norm.qk=true or a smaller lr",
    )


def largest(heads: Any) -> float | None:
    """The largest of numbers by block and head, leaving out what was not finite."""
    return max((v for block in heads for v in block if v is not None), default=None)


def evaluation_gap(record: Record) -> Finding | None:
    """Good in training, bad in evaluation."""
    final, validation = number(record, "loss", "final"), number(record, "loss", "validation")
    if final is None or validation is None or validation - final < EVALUATION_GAP:
        return None
    batch = "batchnorm" in chosen(record, "norm_layer")
    return Finding(
        "evaluation gap",
        f"validation loss {validation:.3f}, training loss {final:.3f} nats",
        "batch statistics differ from running ones, and see the future in training"
        if batch
        else "the training text is learned by heart, or differs from the validation text",
        "norm_layer=layernorm" if batch else "more text, fewer steps, or dropout",
    )
