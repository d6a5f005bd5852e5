"""Findings about order, positions, decoding and length, tried in float64 at any weights."""

import math
from copy import deepcopy

import torch
from torch import Tensor

from ablate.check.cell import Cell, CheckResult, broken, faint, ok, warning
from ablate.check.passes import EXACT, FAINT, forward, moved, undisturbed
from ablate.errors import UserError
from ablate.model.cache import Cache
from ablate.model.transformer import Transformer

LONG = 1024
"""Tokens up to which a length beyond the train length is tried; L/8 more than L at least."""


def order(cell: Cell) -> CheckResult:
    """Whether the order of tokens matters: it must not where there is no position to tell it."""
    model, tokens = cell.perturbed, cell.text
    if model.shape.causal:
        # The last token alone sees all others, in whatever order.
        shuffled = torch.cat([tokens[:, :-1].flip(1), tokens[:, -1:]], dim=1)
        change = moved(forward(model, tokens)[:, -1], forward(model, shuffled)[:, -1])
    else:
        shuffle = torch.randperm(tokens.shape[1], generator=torch.Generator().manual_seed(0))
        change = moved(forward(model, tokens)[:, shuffle], forward(model, tokens[:, shuffle]))
    claimed = cell.facts.get("pos", {}).get("kind") == "none"
    values = {"change": change, "claimed_blind": claimed, "tolerance": EXACT}
    blind = change <= EXACT
    if blind and (effect := reach(cell)) < FAINT:
        return faint(effect, values)
    if not model.shape.causal and claimed and not blind:
        text = f"no position, yet shuffled tokens do not give shuffled logits ({change:.2g})"
        advice = "something beside the position scheme tells tokens apart"
        return broken(text, values, advice)
    if blind:
        text = "blind to the order of " + ("earlier tokens" if model.shape.causal else "tokens")
        return warning(text, values, "a position scheme, or more blocks")
    source = ", through the mask alone" if claimed else ""
    text = f"tokens in another order move the logits by {change:.1g} of their rms{source}"
    return ok(text, values)


def reach(cell: Cell) -> float:
    """How much changing the first token moves the last one's logits."""
    changed = cell.text.clone()
    changed[:, 0] = (changed[:, 0] + 1) % cell.perturbed.shape.vocabulary
    before, after = forward(cell.perturbed, cell.text), forward(cell.perturbed, changed)
    return moved(before[:, -1], after[:, -1])


def shift(cell: Cell) -> CheckResult | None:
    """Logits stay when all positions move alike, for a scheme that calls itself relative."""
    scheme, length = cell.perturbed.position, cell.text.shape[1]
    room = cell.bench.task.seq_len
    room = room if scheme.max_length is None else min(room, scheme.max_length)
    by = room - length
    if by < 1:
        return None
    change = moved(
        forward(cell.perturbed, cell.text), forward(shifted(cell.perturbed, by), cell.text)
    )
    values = {"shift": float(by), "change": change, "tolerance": EXACT}
    if not scheme.relative:
        text = f"absolute: {by} positions further on, logits differ by {change:.1g} of their rms"
        return ok(text, values)
    if not change <= EXACT:
        text = f"not relative: {by} positions further on, logits differ by {change:.2g}"
        early = cell.text[:, :4]
        near = moved(forward(cell.perturbed, early), forward(shifted(cell.perturbed, 1), early))
        values["change_near"] = near
        if near <= EXACT:
            text = (
                f"relative for the first positions; {by} further on, logits differ by {change:.2g}"
            )
            advice = "nothing, if the scheme means it so; else the option that sets from where"
            return warning(text, values, advice)
        advice = "scores must depend on i − j alone; or say relative = False and kind: absolute"
        return broken(text, values, advice)
    text = f"relative: {by} positions further on, logits are the same ({change:.1g})"
    return ok(text, values)


def shifted(model: Transformer, by: int) -> Transformer:
    """A copy in which every token stands `by` positions later."""
    copy = deepcopy(model)
    plain = copy.position.positions

    def later(length: int, offset: int = 0) -> Tensor:
        return plain(length, offset) + by

    vars(copy.position)["positions"] = later
    return copy


def cache(cell: Cell) -> CheckResult | None:
    """Decoding step by step with a cache gives the logits of one full pass."""
    if not cell.perturbed.shape.causal:
        return None
    tokens, half = cell.text, cell.text.shape[1] // 2
    memory = Cache.empty(cell.perturbed.shape.depth)
    with torch.no_grad():
        steps = [tokens[:, :half], *tokens[:, half:].split(1, dim=1)]
        try:
            decoded = torch.cat([cell.perturbed(step, cache=memory) for step in steps], dim=1)
        except UserError as error:
            return warning(f"no cached decoding: {error}", {"change": None}, "")
    change = moved(forward(cell.perturbed, tokens), decoded)
    values = {"change": change, "tolerance": EXACT}
    if not change <= EXACT:
        text = f"cached decoding differs from a full pass by {change:.2g} of the logits' rms"
        if cell.perturbed.position.whole_length and math.isfinite(change):
            text += ": scores follow the length, and what is cached came of a shorter one"
            return warning(text, values, "full passes past that length")
        advice = "position offsets; a base that follows the length; what a scheme keeps a key"
        return broken(text, values, advice)
    return ok(f"cached decoding equals a full pass ({change:.1g})", values)


def length(cell: Cell) -> CheckResult:
    """A text longer than trained, or the limit that a scheme states."""
    model, trained = cell.bench.model, cell.bench.task.seq_len
    limit = model.position.max_length
    wanted = max(cell.longest, trained + 1)
    tried = min(wanted, max(LONG, trained + max(1, trained // 8)))
    values = {"limit": limit, "wanted": wanted, "tried": tried}
    if limit is not None and limit < wanted:
        if limit <= LONG and accepts(model, limit + 1):
            text = f"says that it ends at {limit} tokens, but takes {limit + 1}"
            return broken(text, values, "an error that names the limit")
        text = f"ends at {limit} tokens; evaluation up to {wanted} is undefined beyond"
        return warning(text, values, "a relative scheme, or a longer table")
    if not accepts(model, tried):
        text = f"fails at {tried} tokens, though it states no limit below"
        return broken(text, values, "max_length, or an error that says why")
    times = f"{tried / trained:.3g} train lengths"
    return ok(f"works at {tried} tokens ({times})", values)


def accepts(model: Transformer, length: int) -> bool:
    """Whether a text of that length gives finite logits; false where the scheme refuses it."""
    tokens = torch.arange(length, device=model.embedding.weight.device) % model.shape.vocabulary
    with undisturbed(model), torch.no_grad():
        try:
            return bool(model.eval()(tokens[None]).isfinite().all())
        except UserError:
            return False
