"""From a record to what is the matter with a run: the signature, its likely cause, what to try.

Pure functions of a record; each rule looks at one signature of science.md, section 3, and names
the numbers that led it there. A healthy run gets no finding, or findings about its length limits
alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ablate.labels import lowest_excess

HIGH_FIRST = 0.5  # nats over ln V
VANISHED = 0.01  # gradient at the first block's input over that at the last's
ALIKE = 0.95  # mean cosine between two tokens
IDLE = 0.99  # mean cosine of a token before and after a block
GROWTH = 0.15  # slope of ln rms of the stream, a block
SHARP_LOGIT = 50.0  # largest attention logit
CLIFF = 0.25  # nats between the positions just within L and just beyond
FADED = 0.9  # retention
EVALUATION_GAP = 0.5  # nats between validation and training at the end


@dataclass(frozen=True)
class Finding:
    """A signature with the numbers that show it, its likely cause and what to try."""

    name: str
    evidence: str
    cause: str
    advice: str


Rule = Callable[[Mapping[str, Any]], Finding | None]


def diagnose(record: Mapping[str, Any]) -> list[dict[str, str]]:
    """The findings of a record as plain data, the most basic first."""
    found = (rule(record) for rule in RULES)
    return [asdict(finding) for finding in found if finding]


def first_loss(record: Mapping[str, Any]) -> Finding | None:
    """A first loss far from ln V."""
    excess, config = _number(record, "loss", "excess"), record["config"]
    lowest = lowest_excess(_number(record, "loss", "unigram_train"))
    if excess is None or lowest <= excess <= HIGH_FIRST:
        return None
    evidence = f"first loss - ln V = {excess:+.2f} nats"
    if excess < lowest:
        return Finding(
            "low first loss",
            evidence,
            "the model may see its targets: a shift or a mask that leaks",
            "ablate check, which tests causality",
        )
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


def collapse(record: Mapping[str, Any]) -> Finding | None:
    """Tokens that have become alike, or a gradient that does not reach the first blocks."""
    alike = _profile(record, "token_cosine", "last")
    inputs = record["gradients"].get("inputs_first") or []
    ratio = (
        inputs[0] / inputs[-1] if len(inputs) > 1 and inputs[0] is not None and inputs[-1] else None
    )
    seen = []
    if alike and alike[-1] is not None and alike[-1] > ALIKE and _at_unigram(record):
        seen.append(f"mean cosine between tokens {alike[-1]:.3f} after the last block")
    if ratio is not None and ratio < VANISHED:
        seen.append(f"gradient at the first block's input {ratio:.1e} of that at the last's")
    if not seen:
        return None
    without = record["choices"].get("residual") == "off"
    return Finding(
        "rank collapse" if "cosine" in seen[0] else "vanishing gradient",
        "; ".join(seen),
        "no residual path" if without else "the signal does not pass the depth",
        "residual=on" if without else "a norm, residual=on, or less depth",
    )


def stuck_or_unstable(record: Mapping[str, Any]) -> Finding | None:
    """A curve that learned no more than frequencies, jumped, or diverged."""
    label, loss = record.get("label"), record["loss"]
    if label not in ("stuck", "unstable", "diverged"):
        return None
    if label == "stuck" and collapse(record):
        return None  # that is why
    choices, config = record["choices"], record["config"]
    final, unigram = loss.get("final"), loss.get("unigram_train")
    evidence = f"label {label}"
    if final is not None and unigram is not None:
        evidence += f"; final loss {final:.3f}, unigram {unigram:.3f} nats"
    post_cold = choices.get("norm") == "post" and choices.get("warmup") == "none"
    return Finding(
        label,
        evidence,
        "post-norm without warmup"
        if post_cold
        else f"a learning rate too high (lr={config['lr']:g})",
        "warmup=linear, norm=deepnorm or norm=pre"
        if post_cold
        else "a smaller lr, warmup=linear, clip=1",
    )


def growth(record: Mapping[str, Any]) -> Finding | None:
    """A stream that grows by a factor a block."""
    slope = _number(record, "instruments", "stream_rms", "slope_first")
    stream = _profile(record, "stream_rms", "first")
    if slope is None or slope < GROWTH or len(stream) < 6:
        return None
    return Finding(
        "exponential growth",
        f"rms of the stream {stream[0]:.3g} to {stream[-1]:.3g}, x{2.718281828**slope:.2f} a block",
        "no norm holds the stream" if record["choices"].get("norm") == "none" else "large branches",
        "a norm placement, residual=depth_scaled, or a smaller init",
    )


def idle_depth(record: Mapping[str, Any]) -> Finding | None:
    """Late blocks that hardly change the stream."""
    turned = _profile(record, "block_cosine", "last")
    late = turned[-max(1, len(turned) // 4) :]
    if len(turned) < 8 or any(value is None or value < IDLE for value in late):
        return None
    return Finding(
        "idle late blocks",
        f"cosine of a token before and after a block {min(late):.4f} or more in the last quarter",
        "the depth curse of pre-norm: the stream outgrows what a block adds",
        "norm=layernorm_scaling, norm=mix_ln or norm=peri",
    )


def sharp_attention(record: Mapping[str, Any]) -> Finding | None:
    """Attention logits that have grown large."""
    heads = _profile(record, "attention_max", "last")
    values = [value for block in heads for value in block if value is not None]
    if not values or max(values) < SHARP_LOGIT:
        return None
    return Finding(
        "sharp attention",
        f"largest attention logit {max(values):.0f}",
        "queries and keys grow at this learning rate",
        "norm.qk=true or a smaller lr",
    )


def evaluation_gap(record: Mapping[str, Any]) -> Finding | None:
    """Good in training, bad in evaluation."""
    final, validation = _number(record, "loss", "final"), _number(record, "loss", "validation")
    if final is None or validation is None or validation - final < EVALUATION_GAP:
        return None
    batch = "batchnorm" in record["choices"].get("norm_layer", "")
    return Finding(
        "evaluation gap",
        f"validation loss {validation:.3f}, training loss {final:.3f} nats",
        "batch statistics differ from running ones, and see the future in training"
        if batch
        else "the training text is learned by heart, or differs from the validation text",
        "norm_layer=layernorm" if batch else "more text, fewer steps, or dropout",
    )


def length(record: Mapping[str, Any]) -> Finding | None:
    """What happens beyond the train length."""
    found = record.get("extrapolation") or {}
    trained, lengths = found.get("train_length"), found.get("lengths") or []
    beyond = [i for i, c in enumerate(lengths) if trained and c > trained]
    if trained is None or not beyond or found["accuracy"][lengths.index(trained)] is None:
        return None
    if all(found["accuracy"][i] is None for i in beyond):
        return Finding(
            "undefined past L",
            f"no accuracy beyond {trained} tokens",
            "the scheme has no such position",
            "a relative scheme: pos=alibi, pos=rope",
        )
    kept = found["retention"][beyond[-1]]
    if kept is None or kept >= FADED:
        return None
    evidence = f"retention {kept:.2f} at {lengths[beyond[-1]]} tokens"
    jump = cliff(found.get("curve"), trained)
    if jump is not None and jump > CLIFF:
        return Finding(
            "cliff past L",
            f"{evidence}; {jump:+.2f} nats between the positions before and after L",
            "absolute positions that were never seen in training",
            "a relative scheme: pos=alibi, pos=rope",
        )
    if found.get("protocol") == "exact-match":
        return Finding(
            "trained lengths alone",
            evidence,
            "the rule that was learned does not carry over to longer examples",
            "another pos, or pos=randomized, which trains on positions of long examples",
        )
    rope = record["choices"].get("pos", "").startswith("rope")
    return Finding(
        "gradual rise past L",
        evidence,
        "phases or distances that were never seen in training",
        "ablate evaluate RUN pos=yarn, which needs no training" if rope else "pos=alibi",
    )


def cliff(curve: Mapping[str, Any] | None, trained: int) -> float | None:
    """nll of the first two buckets beyond L less that of the two before, in nats.

    >>> cliff({"position": [8, 16, 24, 32], "nll": [2.0, 2.0, 3.0, 3.0]}, 16)
    1.0
    """
    if not curve or trained not in curve["position"]:
        return None
    at = curve["position"].index(trained) + 1
    inside, outside = curve["nll"][max(0, at - 2) : at], curve["nll"][at : at + 2]
    if not inside or not outside or None in inside or None in outside:
        return None
    return float(sum(outside) / len(outside) - sum(inside) / len(inside))


RULES: tuple[Rule, ...] = (
    first_loss,
    collapse,
    stuck_or_unstable,
    growth,
    idle_depth,
    sharp_attention,
    evaluation_gap,
    length,
)


def _number(record: Mapping[str, Any], *path: str) -> float | None:
    value: Any = record
    for key in path:
        value = (value or {}).get(key)
    return None if value is None or value != value else float(value)


def _profile(record: Mapping[str, Any], quantity: str, when: str) -> Sequence[Any]:
    return ((record.get("instruments") or {}).get(quantity) or {}).get(when) or []


def _at_unigram(record: Mapping[str, Any]) -> bool:
    final, unigram = _number(record, "loss", "final"), _number(record, "loss", "unigram_train")
    return final is not None and unigram is not None and final >= unigram - 0.05
