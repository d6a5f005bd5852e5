"""Findings about the first loss and about gradients and activations over depth."""

import math
from collections.abc import Sequence

from ablate.check.cell import Cell, CheckResult, Mark
from ablate.check.initial import Depth, FirstLoss
from ablate.judge.profile import bars, profile
from ablate.train.measures import slope

HIGH, LOW = 0.5, -0.1
"""Excess over ln V in nats that asks for a reason, and that nothing honest has."""
CHANCE = "the targets happen to lie where these logits are low"
OTHER_SEED = "another seed: a text repeats few tokens"
STEEP = 100.0
"""Ratio of gradient norms between the ends of the stack that asks for a reason."""
GROWTH = 3.0
"""Factor by which blocks may change the stream more and more before it counts as exponential."""
COLLAPSED = 0.999
"""Cosine between tokens at which they are all the same."""


def check_first_loss(cell: Cell) -> CheckResult:
    """First loss on a real batch against ln V and against what these logits must cost."""
    return judge_first_loss(cell.depth.first)


def judge_first_loss(first: FirstLoss) -> CheckResult:
    """Say whether a first loss is as its logits lead one to expect, and what makes it high."""
    sign = "+" if first.excess >= 0 else "−"
    told = f"{first.loss:.2f} = ln V {sign} {abs(first.excess):.2f}"
    half = first.spread**2 / 2
    # The rule of thumb σ²/2 holds for small logits alone.
    rule = f", σ²/2 = {half:.2f}" if half < first.uniform else ""
    expected = (
        f"logits of spread σ = {first.spread:.2g} cost ln V + {first.expected:.2f} "
        f"± {2 * first.error:.2f}{rule}"
    )
    values = {
        **vars(first),
        "excess": first.excess,
        "half_variance": half,
    }
    if not math.isfinite(first.loss):
        advice = "a smaller init, a norm, or fewer blocks"
        return CheckResult(
            "first loss", "broken", f"{first.loss}: numbers overflow", values, advice
        )
    if first.excess < LOW and first.excess < first.expected - 4 * first.error:
        text = f"{told}, below what a model that knows nothing can have; {expected}"
        advice = "look for a leak: targets that are not shifted, or a missing mask"
        return CheckResult("first loss", "broken", text, values, advice)
    if first.excess > HIGH:
        causes, remedies = causes_of_excess(first)
        text = f"{told}: {' and '.join(causes) or CHANCE}; {expected}"
        if not causes and first.excess <= first.expected + 4 * first.error:
            return CheckResult("first loss", "ok", text, values)
        return CheckResult(
            "first loss", "warning", text, values, " or ".join(remedies) or OTHER_SEED
        )
    return CheckResult("first loss", "ok", f"{told}; {expected}", values)


def causes_of_excess(first: FirstLoss) -> tuple[list[str], list[str]]:
    """What makes the logits large, and what to try against it."""
    causes, advice = [], []
    scale = first.head_std * math.sqrt(first.width)
    if first.tied and first.own > 2 * first.spread:
        causes.append(
            f"the head is tied to embeddings of std {first.head_std:.2g}, so that each token's own "
            f"logit stands {first.own:.0f} above the others"
        )
        advice.append("tied=false, or an init with small embeddings (init=gpt2)")
    elif scale > 1.5:
        causes.append(f"the head's weights are large (std {first.head_std:.2g} as they act)")
        advice.append("an init with a smaller head")
    if first.stream > 1.2:
        place = "after the final norm" if first.normed else "with no final norm before it"
        causes.append(f"the stream reaches the head with rms {first.stream:.2g}, {place}")
        advice.append("a smaller gain" if first.normed else "norm.final=true")
    return causes, advice


def check_gradients(cell: Cell) -> CheckResult:
    """Gradient norms of blocks and of their inputs, over depth, for the first batch."""
    depth = cell.depth
    inner = depth.inputs[1:] or depth.inputs
    # Block 1's input carries the embedding's scale, which says nothing of the depth.
    ratios = {
        "parameters": ratio(depth.parameters),
        "inputs": ratio(depth.inputs),
        "inner": ratio(inner),
    }
    values = {
        "parameters": depth.parameters,
        "inputs": depth.inputs,
        "ratio_parameters": ratios["parameters"],
        "ratio_inputs": ratios["inputs"],
        "slope_parameters": slope(depth.parameters),
        "slope_inputs": slope(inner),
        "unreached": depth.unreached,
    }
    text = (
        f"first/last block: parameters {bars(profile([depth.parameters]))} "
        f"{ratios['parameters']:.2g}, block inputs {bars(profile([depth.inputs]))} "
        f"{ratios['inputs']:.2g}{per_block(slope(inner))}"
    )
    mark, trouble, advice = judge_gradients(depth, (ratios["parameters"], ratios["inner"]))
    return CheckResult("gradients", mark, text + trouble, values, advice)


def judge_gradients(depth: Depth, ratios: Sequence[float]) -> tuple[Mark, str, str]:
    """A mark for gradient norms and their ratios first to last, what is wrong and what to try."""
    if not all(map(math.isfinite, (*depth.parameters, *depth.inputs))):
        return "broken", "; numbers overflow", "a smaller init, a norm, or fewer blocks"
    if any(r < 1 / STEEP or math.isnan(r) for r in ratios):
        return "warning", "; they vanish towards the first block", "residual=on, or a norm"
    if any(r > STEEP for r in ratios):
        return "warning", "; they explode towards the first block", "a norm, or a smaller init"
    if depth.unreached:
        trouble = f"; none reaches {', '.join(depth.unreached)}"
        return "warning", trouble, "a part that is built but not used?"
    return "ok", "", ""


def per_block(log_slope: float) -> str:
    """', ×1.03 a block' for the factor that a slope of logarithms means; nothing without one."""
    return "" if math.isnan(log_slope) else f", ×{math.exp(log_slope):.2f} a block"


def ratio(norms: Sequence[float]) -> float:
    """First over last; NaN where both are 0.

    >>> ratio([3.0, 2.0, 1.5])
    2.0
    """
    if norms[-1] == 0:
        return math.inf if norms[0] else math.nan
    return norms[0] / norms[-1]


def check_activations(cell: Cell) -> CheckResult:
    """Root mean square of the residual stream over depth."""
    depth = cell.depth
    inner, changes = depth.stream[1:], depth.changes[1:]
    # Growing changes mean that they follow the stream, which then grows like a power of the depth
    # in base e; changes of one size add up to a line, or a root, as in pre-norm.
    change_slope = slope(changes)
    exponential = change_slope * (len(changes) - 1) > math.log(GROWTH)
    factor = depth.stream[-1] / depth.stream[0] if depth.stream[0] else math.nan
    values = {
        "rms": depth.stream,
        "changes": depth.changes,
        "growth": factor,
        "slope": slope(inner),
        "slope_of_changes": change_slope,
    }
    told = f"rms {depth.stream[0]:.2g} to {depth.stream[-1]:.2g} {bars(profile([depth.stream]))}"
    if not all(map(math.isfinite, depth.stream)):
        advice = "a norm, a smaller init, or fewer blocks"
        return CheckResult("activations", "broken", f"{told}: numbers overflow", values, advice)
    if exponential:
        text = f"{told}, exponential growth{per_block(slope(inner))}: each block adds more"
        advice = "a norm placement, residual=depth_scaled, or a smaller init"
        return CheckResult("activations", "warning", text, values, advice)
    if not factor > 1e-3:
        text = f"{told}, the stream dies out{per_block(slope(inner))}"
        return CheckResult("activations", "warning", text, values, "residual=on, or a norm")
    return CheckResult("activations", "ok", f"{told}{per_block(slope(inner))}", values)


def check_tokens(cell: Cell) -> CheckResult | None:
    """Whether tokens can still be told apart after the last block (rank collapse)."""
    before, after = cell.depth.alike
    if math.isnan(after):
        return None
    values = {"cosine_before": before, "cosine_after": after, "kept": cell.depth.kept}
    text = f"mean cosine between tokens {before:.3f} before the first block, {after:.3f} after all"
    if after > COLLAPSED:
        text += ": they have become one (rank collapse)"
        return CheckResult("tokens", "warning", text, values, "residual=on, or fewer blocks")
    return CheckResult("tokens", "ok", text, values)
