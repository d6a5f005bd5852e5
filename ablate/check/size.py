"""Findings about what was built: norms, sizes and learning rates."""

import math
from collections.abc import Iterator

from torch import nn

from ablate.check.cell import Cell, CheckResult, broken, ok, warning
from ablate.judge.thresholds import DEEP, WASHED_OUT
from ablate.model.transformer import Transformer, count_parameters, flops_per_token


def norms(cell: Cell) -> CheckResult:
    """The number of norms, against the number that the placement's file states."""
    model = cell.bench.model
    built = list(norms_in(model))
    kinds = sorted({type(norm).__name__ for norm in built})
    shared = len(built) - len({id(norm) for norm in built})
    formula = cell.facts.get("norm", {}).get("norms", "")
    try:
        claimed = count(formula, model, cell) if formula else None
    except (ArithmeticError, NameError, SyntaxError, TypeError, ValueError) as error:
        text = f"the formula of its file cannot be used: {formula}: {error}"
        advice = "sizes, and options of the placement"
        return warning(text, {"norms": len(built)}, advice)
    values = {"norms": len(built), "claimed": claimed, "kinds": kinds, "shared": shared}
    kinds_built = f"{len(built)} {' and '.join(kinds)}" if built else "none"
    if claimed is not None and claimed != len(built):
        text = f"{kinds_built}, but its file says {formula} = {claimed}"
        advice = "a norm left out or doubled; or a class whose name does not end in Norm"
        return broken(text, values, advice)
    if shared:
        text = f"{kinds_built}, {shared} of them in a second place"
        return warning(text, values, "a norm of its own for each sublayer")
    return ok(f"{kinds_built}{f' ({formula})' if formula else ''}", values)


def norms_in(model: Transformer) -> Iterator[nn.Module]:
    """Every use of a norm outside the position scheme, one that is used twice also twice."""
    kind = type(model.placement.normalizer(model.shape.width))
    for name, module in model.named_modules(remove_duplicate=False):
        # A placement with norms of its own, such as nGPT, is known by their name.
        norm = isinstance(module, kind) or type(module).__name__.endswith("Norm")
        if norm and not name.startswith("position."):
            yield module


def count(formula: str, model: Transformer, cell: Cell) -> int:
    """A number that follows from sizes and options; the formula is the user's own, from a YAML."""
    shape = model.shape
    known = {**vars(shape), "head_width": shape.head_width, **cell.options}
    return int(eval(formula, {"__builtins__": {}}, known))


def size(cell: Cell) -> CheckResult:
    """Parameters, and floating-point operations of training per token."""
    parameters, flops = count_parameters(cell.bench.model), flops_per_token(cell.bench.model)
    text = f"{parameters:,} parameters, {flops / 1e6:,.3g} MFLOP a token in training"
    return ok(text, {"parameters": parameters, "flops_per_token": flops})


def schedule(cell: Cell) -> CheckResult:
    """First, highest and last learning rate, and whether this stack asks for a warmup."""
    schedule, depth = cell.bench.schedule, cell.depth
    rates = [schedule.rate(step) for step in range(1, schedule.steps + 1)]
    first, peak, last = rates[0], max(rates), rates[-1]
    values = {
        "first": first,
        "peak": peak,
        "last": last,
        "warmup_steps": schedule.warmup_steps,
        "kept": depth.kept,
    }
    warmup = schedule.warmup_steps
    text = f"learning rate {first:.2g} at step 1"
    text += f", {peak:.2g} after {warmup} steps of warmup" if warmup else ", no warmup"
    text += f", {last:.2g} at step {schedule.steps}"
    if first == 0:
        advice = "a warmup that begins at 1/W"
        return broken(f"{text}: the first step is lost", values, advice)
    level = all(math.isclose(rms, depth.stream[-1], rel_tol=0.01) for rms in depth.stream[1:])
    deep = len(depth.inputs) >= DEEP and level and depth.kept < WASHED_OUT
    if deep and first >= peak:
        text += (
            f"; norms stand on the skip path and renew the stream on its way (cosine of start and "
            f"end {depth.kept:.2f}): such deep stacks may stay at the unigram loss"
        )
        advice = "warmup=linear, norm=deepnorm or norm=pre, or a smaller lr"
        return warning(text, values, advice)
    return ok(text, values)
