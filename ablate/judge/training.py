"""Signatures of training: the curve, blocks that do nothing, sharp attention, the two losses."""

from typing import Any

from ablate.judge.beyond import order
from ablate.judge.evidence import Number
from ablate.judge.finding import Finding, by_block, states
from ablate.judge.labels import still_falling
from ablate.judge.remedies import change, fitting, higher, lower, words
from ablate.judge.start import collapse
from ablate.judge.thresholds import (
    EVALUATION_GAP,
    FAR_ABOVE_UNIGRAM,
    FEWEST_IDLE,
    GROWN,
    IDLE,
    SHARP_LOGIT,
)
from ablate.record.record import Record, Remedy


def curve(record: Record) -> Finding | None:
    """A curve that learned no more than frequencies, jumped, or diverged."""
    label, spikes = record.label, record.loss.spike_score or 0.0
    name = label if label in ("stuck", "unstable", "diverged") else "spike" if spikes else None
    if name is None:
        return None
    if name == "stuck" and (collapse(record) or order(record)):
        return None  # that is why
    cause, remedies = why(record, name)
    return Finding(name, curve_numbers(record, name, spikes), cause, remedies)


def curve_numbers(record: Record, name: str, spikes: float) -> dict[str, Number]:
    """The numbers that show what a curve is."""
    numbers: dict[str, Number] = {}
    final, unigram = record.loss.final, record.loss.unigram_train
    if name != "spike":
        numbers["label"] = name
        learning = record.learning
        if name == "stuck" and learning.value is not None:
            key = "right_examples" if learning.measure == "exact match" else "above_unigram"
            numbers[key] = learning.value
        elif final is not None and unigram is not None:
            numbers |= {"final": final, "unigram_train": unigram}
    if spikes:
        largest = record.loss.spike_max or 0.0
        numbers |= {"spike_share": spikes, "spike_max": largest}
    return numbers


def why(record: Record, name: str) -> tuple[str, tuple[Remedy, ...]]:
    """The likely cause of a bad curve and what to try; another lr may be the better one here."""
    lr = record.config["lr"]
    points = record.curve.points()
    steps, losses = [step for step, _ in points], [loss for _, loss in points]
    longer, hotter = higher("steps", "more steps"), higher("lr", "a larger lr")
    cooler = lower("lr", "a smaller lr")
    if name == "stuck" and still_falling(steps, losses):
        cause = f"it still falls: too few steps, or lr={lr:g} is too low"
        return cause, fitting(record, longer, hotter)
    final, unigram = record.loss.final, record.loss.unigram_train
    far = final is not None and unigram is not None and final > unigram + FAR_ABOVE_UNIGRAM
    if name == "stuck" and far:
        cause = f"it has not come down to the unigram loss: too few steps, or lr={lr:g} is far off"
        return cause, fitting(record, longer, hotter, cooler)
    warm = change("warmup", "linear")
    if states(record, "norm", "post-norm") and states(record, "warmup", "absent"):
        placements = change("norm", "deepnorm"), change("norm", "pre")
        return "maybe post-norm without warmup", fitting(record, warm, *placements)
    cause = f"maybe a learning rate too high (lr={lr:g})"
    return cause, fitting(record, cooler, warm, change("clip", "1"))


def idle_depth(record: Record) -> Finding | None:
    """Late blocks that hardly change the stream."""
    turned = by_block(record, "block_cosine", "last")
    late = turned[-max(1, len(turned) // 4) :]
    if len(turned) < FEWEST_IDLE or any(value is None or value < IDLE for value in late):
        return None
    gated = states(record, "residual", "gated")
    return Finding(
        "idle late blocks",
        {"late_cosine": min(late)},
        "the branches' gates are still small"
        if gated
        else "maybe the depth curse of pre-norm: the stream outgrows what a block adds",
        fitting(record, higher("steps", "more steps"), change("residual", "on"))
        if gated
        else fitting(
            record,
            change("norm", "layernorm_scaling"),
            change("norm", "mix_ln"),
            change("norm", "peri"),
            lower("depth", "less depth"),
        ),
        only_if_behind=True,
    )


def sharp_attention(record: Record) -> Finding | None:
    """Attention logits that training has made large."""
    first = largest(by_block(record, "attention_max", "first"))
    last = largest(by_block(record, "attention_max", "last"))
    if last is None or last < SHARP_LOGIT or (first is not None and last < GROWN * first):
        return None
    return Finding(
        "sharp attention",
        {"attention_max": last} | ({"attention_max_first": first} if first else {}),
        f"queries and keys grow at this learning rate (lr={record.config['lr']:g})",
        fitting(record, change("norm.qk", "true"), lower("lr", "a smaller lr")),
    )


def largest(heads: Any) -> float | None:
    """The largest of numbers by block and head, leaving out what was not finite."""
    return max((v for block in heads for v in block if v is not None), default=None)


def evaluation_gap(record: Record) -> Finding | None:
    """Good in training, bad in evaluation."""
    final, validation = record.loss.final, record.loss.validation
    if final is None or validation is None or validation - final < EVALUATION_GAP:
        return None
    batch = states(record, "norm_layer", "batch statistics")
    return Finding(
        "evaluation gap",
        {"validation": validation, "training": final},
        "batch statistics differ from running ones, and see the future in training"
        if batch
        else "the training text is learned by heart, or differs from the validation text",
        fitting(record, change("norm_layer", "layernorm"))
        if batch
        else fitting(
            record,
            words("more text"),
            lower("steps", "fewer steps"),
            higher("dropout", "dropout"),
        ),
    )
