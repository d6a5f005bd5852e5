"""Findings about what a token may see: nothing later in a decoder, everything in an encoder."""

import torch
from torch import Tensor, nn

from ablate.build import Bench
from ablate.check.cell import Cell, CheckResult, broken, faint, ok, warning
from ablate.check.passes import EXACT, FAINT, forward, made_up, moved, undisturbed
from ablate.model.transformer import Transformer

ATTENTION = "attention"
"""What is looked at in an encoder, where causality is no question."""


def causality(cell: Cell) -> CheckResult:
    """No token sees a later one or another sequence; in an encoder every token sees all others."""
    if not cell.perturbed.shape.causal:
        return sees_both_sides(cell)
    if not forward(cell.perturbed, cell.text).isfinite().all():
        advice = "a smaller init, a norm, or fewer blocks"
        return broken("cannot be told: numbers overflow", {}, advice)
    steps = sorted({1, cell.text.shape[1] // 2, cell.text.shape[1] - 1})
    leak, effect = worst_leak(cell.perturbed, cell.text, steps)
    other = other_sequence(cell.perturbed, cell.text)
    values = {"leak": leak, "other_sequence": other, "effect": effect, "tolerance": EXACT}
    if not leak <= EXACT or not other <= EXACT:
        what = "a token sees later ones" if not leak <= EXACT else "a sequence sees another"
        text = f"{what}: changing those moves its logits by {max(leak, other):.2g} of their rms"
        advice = "the mask, or a sum over the wrong axis: norms, position biases, gates"
        return broken(text, values, advice)
    if effect < FAINT:
        return faint(effect, values)
    return in_training(cell, steps, values)


def worst_leak(model: Transformer, text: Tensor, steps: list[int]) -> tuple[float, float]:
    """How much changing all tokens from a step on moves logits before it, and from it on.

    The largest over `steps`, as shares of the logits' rms.
    """
    before, leak, effect = forward(model, text), 0.0, 0.0
    for step in steps:
        changed = text.clone()
        changed[:, step:] = (changed[:, step:] + 1) % model.shape.vocabulary
        after = forward(model, changed)
        leak = max(leak, moved(before[:, :step], after[:, :step]))
        effect = max(effect, moved(before[:, step:], after[:, step:]))
    return leak, effect


def other_sequence(model: Transformer, text: Tensor) -> float:
    """How much changing one sequence of the batch moves another's logits."""
    changed = text.clone()
    changed[1] = (changed[1] + 1) % model.shape.vocabulary
    return moved(forward(model, text)[:1], forward(model, changed)[:1])


def in_training(cell: Cell, steps: list[int], values: dict[str, float]) -> CheckResult:
    """The same in training mode, where a batch norm's statistics let later tokens through."""
    with undisturbed(cell.perturbed):
        leak, _ = worst_leak(cell.perturbed.train(), cell.text, steps)
        keepers = statistics_keepers(cell.perturbed, cell.text)
        for module in keepers:
            module.eval()
        without, _ = worst_leak(cell.perturbed, cell.text, steps)
    values = {**values, "leak_in_training": leak, "leak_without_statistics": without}
    if leak <= EXACT:
        text = f"no token sees a later one (changes by {leak:.1g})"
        return ok(text, values)
    if keepers and without <= EXACT:
        text = (
            f"in training, batch statistics of {len(keepers)} norms see later tokens and other "
            f"sequences (logits move by {leak:.1g} of their rms); in evaluation nothing leaks"
        )
        advice = "norm_layer=layernorm or rmsnorm, unless batch norm is what you study"
        return warning(text, values, advice)
    text = f"in training a token sees later ones: logits move by {leak:.2g} of their rms"
    return broken(text, values, "what differs between the two modes")


def statistics_keepers(model: nn.Module, text: Tensor) -> list[nn.Module]:
    """Modules whose buffers a pass in training mode changes."""
    before = {id(m): [b.clone() for b in m.buffers(recurse=False)] for m in model.modules()}
    forward(model, text)
    return [
        module
        for module in model.modules()
        if any(
            not torch.equal(old, new)
            for old, new in zip(before[id(module)], module.buffers(recurse=False), strict=True)
        )
    ]


def sees_both_sides(cell: Cell) -> CheckResult:
    """In an encoder, changing the last token must move the first one's logits."""
    changed = cell.text.clone()
    changed[:, -1] = (changed[:, -1] + 1) % cell.perturbed.shape.vocabulary
    before, after = forward(cell.perturbed, cell.text), forward(cell.perturbed, changed)
    change, other = moved(before[:, :1], after[:, :1]), other_sequence(cell.perturbed, cell.text)
    values = {"seen": change, "other_sequence": other, "tolerance": EXACT}
    if not other <= EXACT:
        text = f"a sequence sees another: its logits move by {other:.2g} of their rms"
        return broken(text, values, "a sum over the wrong axis", name=ATTENTION)
    if change <= EXACT:
        own = moved(before[:, -1:], after[:, -1:])
        if own < FAINT:
            return faint(own, values, name=ATTENTION)
        text = "bidirectional, but the first token does not see the last"
        return broken(text, values, "the mask", name=ATTENTION)
    text = (
        f"bidirectional: the last token moves the first one's logits by {change:.1g} of their rms"
    )
    return ok(text, values, name=ATTENTION)


def quick_causality(bench: Bench) -> CheckResult | None:
    """Whether a later token is seen, in float32 and evaluation mode: one of the checks of a run."""
    if not bench.model.shape.causal:
        return None
    tokens = made_up(bench.model, 16).to(bench.model.embedding.weight.device)
    with undisturbed(bench.model):
        leak, _ = worst_leak(bench.model.eval(), tokens, [tokens.shape[1] // 2])
    if leak <= 1e-4:
        return ok("no token sees a later one", {"leak": leak})
    text = f"a token sees later ones: its logits move by {leak:.2g} of their rms"
    return broken(text, {"leak": leak}, "ablate check tells more")
