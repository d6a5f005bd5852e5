"""The tags that TensorBoard shows a run's numbers under, and the page that lays them out."""

import math
from collections.abc import Iterator

from ablate.judge.profile import first_over_last
from ablate.record.record import Record

BLOCKS = "per-block gradients"
BY_DEPTH = f"{BLOCKS}/by depth"
OVER_TRAINING = f"{BLOCKS}/over training"
BY_CONTEXT = "results/{} by context tokens"
STATE = "state"

# Charts that the Custom Scalars page draws from several tags, of all runs that it shows.
LAYOUT = {
    "arms side by side": {
        "training loss": ["Multiline", ["loss/train"]],
        "validation loss": ["Multiline", ["loss/validation"]],
        "gradient norm": ["Multiline", ["optimizer/grad_norm"]],
        "gradient norm, first over last block": [
            "Multiline",
            [f"{BLOCKS}/first over last block, (parameters|inputs)"],
        ],
        "accuracy by context tokens": ["Multiline", [BY_CONTEXT.format("accuracy")]],
        "largest attention logit": ["Multiline", [f"{STATE}/largest attention logit"]],
    },
    "loss": {
        "loss, unigram loss and ln V": [
            "Multiline",
            ["loss/train", "loss/validation", "reference/unigram loss", "reference/ln V"],
        ]
    },
    BLOCKS: {kind: ["Multiline", [f"{BLOCKS} {kind}/.*"]] for kind in ("parameters", "inputs")},
}


def has_profile(line: dict) -> bool:
    """Whether a line brings the gradient norms by block; one for a validation loss may not."""
    return "gradients" in line and len(line["gradients"]["parameters"]) > 0


def quantities(line: dict) -> Iterator[tuple[str, float | None]]:
    """List the numbers of a logged line under their tags, blocks in an order that sorts."""
    yield "loss/train", line["loss"]
    yield "optimizer/lr", line["lr"]
    yield "optimizer/grad_norm", line["grad_norm"]
    yield "optimizer/clipped", float(line["clipped"])
    yield "speed/tokens_per_second", line["tokens_per_second"]
    yield from states(line.get("instruments", {}))
    if not has_profile(line):
        return
    for kind, norms in line["gradients"].items():
        yield f"{BLOCKS}/first over last block, {kind}", first_over_last(norms)
        digits = max(2, len(str(len(norms))))
        for block, norm in enumerate(norms, start=1):
            yield f"{BLOCKS} {kind}/block {block:0{digits}d}", norm


def states(reading: dict) -> Iterator[tuple[str, float | None]]:
    """List what instruments saw, a number a quantity: by block it would be hundreds of charts."""
    for quantity, name in (("logit_scale", "logit scale"), ("logit_max", "largest logit")):
        if quantity in reading:
            yield f"{STATE}/{name}", reading[quantity]
    for quantity, name in (
        ("stream_rms", "stream rms after the last block"),
        ("token_cosine", "cosine between tokens after the last block"),
    ):
        if quantity in reading:
            yield f"{STATE}/{name}", reading[quantity][-1]
    if "attention_max" in reading:
        yield f"{STATE}/largest attention logit", max(map(max, reading["attention_max"]))
        entropies = [entropy for heads in reading["attention_entropy"] for entropy in heads]
        yield f"{STATE}/mean attention entropy", math.fsum(entropies) / len(entropies)
    if "update_ratio" in reading:
        ratios = reading["update_ratio"]
        yield f"{STATE}/mean update to weight ratio", math.fsum(ratios) / len(ratios)


def diagnosis(record: Record) -> str:
    """Put the findings of a record in a Markdown table."""
    findings = record.diagnosis or []
    if not findings:
        return "nothing found" if record.status in ("done", "diverged") else "not diagnosed"
    lines = ["| signature | evidence | likely cause | what to try |", "|---|---|---|---|"]
    for sign in findings:
        words = (sign.name, sign.evidence, sign.cause, sign.advice)
        cells = (word.replace("|", "\\|") for word in words)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
