"""Checks of the first loss, and of gradients and activations over depth, as the first step has."""

import math

from ablate.check.cell import Cell, CheckResult, Mark, broken, ok, warning
from ablate.check.initial import Depth, FirstLoss
from ablate.judge.first_loss import judge, large
from ablate.judge.profile import (
    bars,
    collapsed,
    first_over_last,
    gradient_flow,
    grows_exponentially,
    profile,
)
from ablate.judge.thresholds import HIGH_FIRST_LOSS
from ablate.train.instruments import slope

LUCK = "the targets happen to lie where these logits are low"
OTHER_SEED = "another seed: a text repeats few tokens"
SMALLER = "a smaller init, a norm, or fewer blocks"


def first_loss(cell: Cell) -> CheckResult:
    """First loss on a real batch against ln V and against what these logits must cost."""
    return judge_first_loss(cell.depth.first)


def judge_first_loss(first: FirstLoss, *, name: str = "") -> CheckResult:
    """Whether a first loss is as it should be (`judge.first_loss`), and what makes it high."""
    sign = "+" if first.excess >= 0 else "−"
    size = f"{first.loss:.2f} = ln V {sign} {abs(first.excess):.2f}"
    half = first.spread**2 / 2
    # The rule of thumb σ²/2 holds for small logits alone.
    rule = f", σ²/2 = {half:.2f}" if half < first.uniform else ""
    expected = (
        f"logits of spread σ = {first.spread:.2g} cost ln V + {first.expected:.2f} "
        f"± {2 * first.error:.2f}{rule}"
    )
    values = {
        **vars(first),
        "error": first.error,
        "excess": first.excess,
        "half_variance": half,
    }
    if not math.isfinite(first.loss):
        return broken(f"{first.loss}: numbers overflow", values, SMALLER, name=name)
    verdict = judge(
        first.excess, repeats=first.repeats, spread=first.spread, vocabulary=first.vocabulary
    )
    if verdict == "low":
        text = f"{size}, below what a model that knows nothing can have; {expected}"
        advice = "look for a leak: targets that are not shifted, or a missing mask"
        return broken(text, values, advice, name=name)
    if verdict == "high":
        causes, remedies = causes_of_excess(first)
        text = f"{size}: {' and '.join(causes) or LUCK}; {expected}"
        return warning(text, values, " or ".join(remedies) or OTHER_SEED, name=name)
    luck = f": {LUCK}" if first.excess > HIGH_FIRST_LOSS else ""
    return ok(f"{size}{luck}; {expected}", values, name=name)


def causes_of_excess(first: FirstLoss) -> tuple[list[str], list[str]]:
    """What makes the logits large, and what to try against it; empty where they are small."""
    causes, advice = [], []
    scale = first.head_std * math.sqrt(first.width)
    lifted = first.stream > 1.2
    if first.tied and first.own > 2 * first.spread:
        causes.append(
            f"the head is tied to embeddings of std {first.head_std:.2g}, so that each token's own "
            f"logit stands {first.own:.0f} above the others"
        )
        advice.append("tied=false, or an init with small embeddings (init=gpt2)")
    elif scale > 1.5 or (large(first.spread) and not lifted):
        causes.append(f"the head's weights are large (std {first.head_std:.2g} as they act)")
        advice.append("an init with a smaller head")
    if lifted:
        place = "after the final norm" if first.normed else "with no final norm before it"
        causes.append(f"the stream reaches the head with rms {first.stream:.2g}, {place}")
        advice.append("a smaller gain" if first.normed else "norm.final=true")
    return causes, advice


def gradients(cell: Cell) -> CheckResult:
    """Gradient norms of blocks and of their inputs, over depth, for the first batch."""
    depth = cell.depth
    parameters, inputs = (ratio(norms) for norms in (depth.parameters, depth.inputs))
    factor = slope(depth.inputs[1:] or depth.inputs)
    values = {
        "parameters": depth.parameters,
        "inputs": depth.inputs,
        "ratio_parameters": parameters,
        "ratio_inputs": inputs,
        "slope_parameters": slope(depth.parameters),
        "slope_inputs": factor,
        "unreached": depth.unreached,
    }
    text = (
        f"first/last block: parameters {bars(profile([depth.parameters]))} {parameters:.2g}, "
        f"block inputs {bars(profile([depth.inputs]))} {inputs:.2g}{per_block(factor)}"
    )
    mark, trouble, advice = judge_gradients(depth)
    return CheckResult("", mark, text + trouble, values, advice)


def judge_gradients(depth: Depth) -> tuple[Mark, str, str]:
    """A mark for gradient norms, what is wrong with them and what to try."""
    if not all(map(math.isfinite, (*depth.parameters, *depth.inputs))):
        return "broken", "; numbers overflow", SMALLER
    flow = gradient_flow(depth.parameters, depth.inputs)
    if flow == "vanishing":
        return "warning", "; they vanish towards the first block", "residual=on, or a norm"
    if flow == "exploding":
        return "warning", "; they explode towards the first block", "a norm, or a smaller init"
    if depth.unreached:
        trouble = f"; none reaches {', '.join(depth.unreached)}"
        return "warning", trouble, "a part that is built but not used?"
    return "ok", "", ""


def ratio(norms: list[float]) -> float:
    """The first block's norm over the last one's; NaN where the last one is 0."""
    value = first_over_last(norms)
    return math.nan if value is None else value


def per_block(log_slope: float) -> str:
    """', ×1.03 a block' for the factor that a slope of logarithms means; nothing without one."""
    return "" if math.isnan(log_slope) else f", ×{math.exp(log_slope):.2f} a block"


def activations(cell: Cell) -> CheckResult:
    """Root mean square of the residual stream over depth."""
    depth = cell.depth
    # The stream before the first block is the embedding, whose scale says nothing of the depth.
    stream_slope, change_slope = slope(depth.stream[1:]), slope(depth.changes[1:])
    growth = depth.stream[-1] / depth.stream[0] if depth.stream[0] else math.nan
    values = {
        "rms": depth.stream,
        "changes": depth.changes,
        "growth": growth,
        "slope": stream_slope,
        "slope_of_changes": change_slope,
    }
    text = f"rms {depth.stream[0]:.2g} to {depth.stream[-1]:.2g} {bars(profile([depth.stream]))}"
    factor = per_block(stream_slope)
    if not all(map(math.isfinite, depth.stream)):
        return broken(
            f"{text}: numbers overflow", values, "a norm, a smaller init, or fewer blocks"
        )
    if grows_exponentially(stream_slope, change_slope, len(depth.changes)):
        advice = "a norm placement, residual=depth_scaled, or a smaller init"
        return warning(f"{text}, exponential growth{factor}: each block adds more", values, advice)
    if not growth > 1e-3:
        return warning(f"{text}, the stream dies out{factor}", values, "residual=on, or a norm")
    return ok(f"{text}{factor}", values)


def tokens(cell: Cell) -> CheckResult | None:
    """Whether tokens can still be told apart after the last block (rank collapse)."""
    before, after = cell.depth.alike
    if math.isnan(after):
        return None
    values = {"cosine_before": before, "cosine_after": after, "kept": cell.depth.kept}
    text = f"mean cosine between tokens {before:.3f} before the first block, {after:.3f} after all"
    if collapsed(after):
        text += ": they have become one (rank collapse)"
        return warning(text, values, "residual=on, or fewer blocks")
    return ok(text, values)
