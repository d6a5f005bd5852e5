"""Instruments on named modules: what happens inside a block, read at logged steps.

Each attaches by hooks from outside and looks only while it is `active`. A reading is a list with a
number for each block, in depth order, or for each block a list over its heads; of the head it is
one number.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from ablate.model.attention import Attention
from ablate.model.block import Block
from ablate.model.transformer import Transformer
from ablate.train.instruments import norm_of, tensors_in
from ablate.train.measures import cosine, largest, likeness, rms

Reading = dict[str, Any]


class Instrument:
    """The base of instruments; the loop sets `active` for one step, then reads."""

    def __init__(self) -> None:
        self.active = False
        self.handles: list[RemovableHandle] = []
        self._seen: Reading = {}

    def read(self) -> Reading:
        """What was seen in this step, by quantity; asked after the optimiser's step."""
        seen, self._seen = self._seen, {}
        return seen

    @contextmanager
    def around_update(self) -> Iterator[None]:
        """Encloses the optimiser's step of an active instrument."""
        yield

    def detach(self) -> None:
        """Remove every hook."""
        for handle in self.handles:
            handle.remove()


def blocks_of(model: Transformer) -> list[Block]:
    """The blocks in depth order."""
    return [block for block in model.blocks if isinstance(block, Block)]


class StreamInstrument(Instrument):
    """The residual stream after each block, and what the block's branches add to it.

    stream_rms and stream_max: root mean square and largest absolute entry after the block.
    attention_rms, feed_forward_rms: of the branch's output; attention_ratio, feed_forward_ratio:
    that over the rms of the block's input. block_cosine: mean cosine of a token before and after
    the block. token_cosine: mean cosine between two tokens of a sequence, 1 when rank collapses.
    """

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        for block in blocks_of(model):
            state: dict[str, Any] = {}
            self.handles += [
                block.register_forward_pre_hook(self._enter(state)),
                block.attention.register_forward_hook(self._branch("attention", state)),
                block.feed_forward.register_forward_hook(self._branch("feed_forward", state)),
                block.register_forward_hook(self._leave(state)),
            ]

    def _add(self, name: str, value: float) -> None:
        self._seen.setdefault(name, []).append(value)

    def _enter(self, state: dict[str, Any]) -> Any:
        def hook(block: nn.Module, given: tuple[Any, ...]) -> None:
            if self.active:
                state["input"] = [t.detach().float() for t in tensors_in(given[0])]
                state["rms"] = rms(state["input"])

        return hook

    def _branch(self, name: str, state: dict[str, Any]) -> Any:
        def hook(module: nn.Module, given: tuple[Any, ...], output: Tensor) -> None:
            if self.active:
                size = rms([output.detach()])
                self._add(f"{name}_rms", size)
                self._add(f"{name}_ratio", size / state["rms"] if state["rms"] else float("nan"))

        return hook

    def _leave(self, state: dict[str, Any]) -> Any:
        def hook(block: nn.Module, given: tuple[Any, ...], output: Any) -> None:
            if self.active:
                after = [t.detach().float() for t in tensors_in(output)]
                self._add("stream_rms", rms(after))
                self._add("stream_max", largest(after))
                self._add("block_cosine", cosine(state.pop("input"), after))
                self._add("token_cosine", sum(map(likeness, after)) / len(after))

        return hook


class AttentionInstrument(Instrument):
    """Where each head looks: entropy, largest logit and mean distance, for every head.

    attention_entropy in nats and attention_distance in positions are means over queries,
    attention_max the largest scaled score that may be seen; of the first `rows` sequences.
    """

    def __init__(self, model: Transformer, rows: int = 2) -> None:
        super().__init__()
        self.rows = rows
        self.handles = [
            block.attention.register_forward_pre_hook(self._look) for block in blocks_of(model)
        ]

    @torch.no_grad()
    def _look(self, attention: Attention, given: tuple[Any, ...]) -> None:
        if not self.active:
            return
        x, scheme, positions = given[:3]
        if positions.visible is not None:
            shown = positions.visible
            positions = replace(positions, visible=shown[: self.rows] if shown.dim() > 2 else shown)
        # In evaluation mode a second look leaves the running statistics of a norm alone.
        training = attention.training
        scores = attention.eval().scores(x.detach()[: self.rows], scheme, positions).float()
        attention.train(training)
        weights = scores.softmax(-1)
        entropy = -torch.xlogy(weights, weights).sum(-1)
        distance = (weights * positions.distance().abs()).sum(-1)
        for name, values in (
            ("attention_entropy", entropy.mean((0, 2))),
            ("attention_max", scores.amax((0, 2, 3))),
            ("attention_distance", distance.mean((0, 2))),
        ):
            self._seen.setdefault(name, []).append(values.tolist())


class LogitInstrument(Instrument):
    """The size of the head's output.

    logit_scale: standard deviation of a token's logits over the vocabulary, as a root mean square
    over tokens. Small logits of scale s at random cost ln V + s²/2. logit_max: largest |logit|.
    """

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.handles = [model.head.register_forward_hook(self._look)]

    def _look(self, head: nn.Module, given: tuple[Any, ...], output: Tensor) -> None:
        if self.active:
            logits = output.detach().float()
            variance = logits.var(-1, correction=0).mean()
            self._seen["logit_scale"] = variance.sqrt().item()
            self._seen["logit_max"] = largest([logits])


class WeightInstrument(Instrument):
    """How far an optimiser step moves each block, and which part of it gets the gradient.

    update_ratio: L2 norm of the step over that of the block's parameters. gradient_query_key,
    gradient_value_output, gradient_feed_forward: gradient norms over those maps.
    """

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.blocks = blocks_of(model)

    @contextmanager
    def around_update(self) -> Iterator[None]:
        before = [[p.detach().clone() for p in block.parameters()] for block in self.blocks]
        for name, modules in (
            ("query_key", ("attention.query", "attention.key")),
            ("value_output", ("attention.value", "attention.output")),
            ("feed_forward", ("feed_forward",)),
        ):
            norms = [self._gradient(block, modules) for block in self.blocks]
            self._seen[f"gradient_{name}"] = torch.stack(norms).tolist()
        yield
        ratios = []
        for old, block in zip(before, self.blocks, strict=True):
            moved = norm_of(p.detach() - o for o, p in zip(old, block.parameters(), strict=True))
            size = norm_of(old)
            ratios.append((moved / size).item() if size else float("nan"))
        self._seen["update_ratio"] = ratios

    @staticmethod
    def _gradient(block: nn.Module, names: Sequence[str]) -> Tensor:
        parts = (p for name in names for p in block.get_submodule(name).parameters())
        norm = norm_of(p.grad for p in parts if p.grad is not None)
        return norm.to(next(block.parameters()).device)
