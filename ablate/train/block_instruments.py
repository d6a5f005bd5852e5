"""Instruments on named modules: what happens inside a block, read at logged steps.

Each attaches by hooks from outside while it is `active`. A reading is a list
over blocks, in depth order, of a number or of a list over heads; that of the model's head is one
number.
"""

import math
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
from ablate.train.instruments import Attached, States, tensors_in

Reading = dict[str, Any]


class Instrument(Attached):
    """The base of instruments; the loop sets `active` for one step, then reads."""

    def __init__(self) -> None:
        super().__init__()
        self._measured: dict[str, list[Tensor]] = {}

    def read(self) -> Reading:
        """What was measured in this step, by quantity; called after the optimiser's step."""
        # One transfer a quantity: fetching each number from a GPU would wait for it each time.
        reading = {name: torch.stack(values).tolist() for name, values in self._measured.items()}
        self._measured = {}
        return reading

    def _add(self, name: str, value: Tensor) -> None:
        self._measured.setdefault(name, []).append(value)

    @contextmanager
    def around_update(self) -> Iterator[None]:
        """Encloses the optimiser's step of an active instrument."""
        yield


def blocks_of(model: Transformer) -> list[Block]:
    """The blocks in depth order."""
    return [block for block in model.blocks if isinstance(block, Block)]


class StreamInstrument(Instrument):
    """The residual stream after each block, and what the block's branches add to it.

    stream_rms and stream_max: root mean square and largest absolute entry after the block.
    attention_rms, attention_output_max, feed_forward_rms, feed_forward_output_max: the same of the
    branch's output; attention_ratio, feed_forward_ratio: its rms over that of the block's input.
    block_cosine: mean cosine of a token before and after the block. token_cosine: mean cosine
    between two tokens of a sequence, 1 when rank collapses. All are of the first `rows` sequences.
    """

    def __init__(self, model: Transformer, rows: int = 4) -> None:
        super().__init__()
        self.rows, self.blocks = rows, blocks_of(model)

    def attach(self) -> list[RemovableHandle]:
        handles: list[RemovableHandle] = []
        for block in self.blocks:
            state: dict[str, States] = {}
            handles += [
                block.register_forward_pre_hook(self._enter(state)),
                block.attention.register_forward_hook(self._branch("attention", state)),
                block.feed_forward.register_forward_hook(self._branch("feed_forward", state)),
                block.register_forward_hook(self._leave(state)),
            ]
        return handles

    def read(self) -> Reading:
        reading = super().read()
        before = reading.pop("input_rms", [])
        for name in ("attention", "feed_forward") if reading else ():
            pairs = zip(reading[f"{name}_rms"], before, strict=True)
            reading[f"{name}_ratio"] = [size / rms if rms else math.nan for size, rms in pairs]
        return reading

    def _states(self, state: Any) -> States:
        # Several streams may be one tensor, with the batch after them.
        return States([t.detach()[..., : self.rows, :, :] for t in tensors_in(state)])

    def _enter(self, state: dict[str, States]) -> Any:
        def hook(block: nn.Module, inputs: tuple[Any, ...]) -> None:
            state["input"] = self._states(inputs[0])
            self._add("input_rms", state["input"].rms())

        return hook

    def _branch(self, name: str, state: dict[str, States]) -> Any:
        def hook(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
            added = self._states(output)
            self._add(f"{name}_rms", added.rms())
            self._add(f"{name}_output_max", added.largest())

        return hook

    def _leave(self, state: dict[str, States]) -> Any:
        def hook(block: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
            after = self._states(output)
            self._add("stream_rms", after.rms())
            self._add("stream_max", after.largest())
            self._add("block_cosine", after.cosine(state.pop("input")))
            self._add("token_cosine", after.likeness())

        return hook


class AttentionInstrument(Instrument):
    """Where each head looks: entropy, largest logit and mean distance, for every head.

    attention_entropy in nats and attention_distance in positions are means over queries,
    attention_max the largest scaled score that may be seen; of the first `rows` sequences.
    """

    def __init__(self, model: Transformer, rows: int = 1) -> None:
        super().__init__()
        self.rows, self.blocks = rows, blocks_of(model)

    def attach(self) -> list[RemovableHandle]:
        return [block.attention.register_forward_pre_hook(self._look) for block in self.blocks]

    @torch.no_grad()
    def _look(self, attention: Attention, inputs: tuple[Any, ...]) -> None:
        x, scheme, positions = inputs[:3]
        if positions.visible is not None:
            mask = positions.visible
            positions = replace(positions, visible=mask[: self.rows] if mask.dim() > 2 else mask)
        # In evaluation mode a second pass leaves the running statistics of a norm alone.
        training = attention.training
        scores = attention.eval().scores(x.detach()[: self.rows], scheme, positions).float()
        attention.train(training)
        weights = scores.softmax(-1)
        entropy = -torch.xlogy(weights, weights).sum(-1)
        distance = (weights * positions.distance().abs()).sum(-1)
        self._add("attention_entropy", entropy.mean((0, 2)))
        self._add("attention_max", scores.amax((0, 2, 3)))
        self._add("attention_distance", distance.mean((0, 2)))


class LogitInstrument(Instrument):
    """The size of the head's output.

    logit_scale: standard deviation of a token's logits over the vocabulary, as a root mean square
    over tokens. Small logits of scale s at random cost ln V + s²/2. logit_max: largest |logit|.
    Both are of the first `rows` sequences.
    """

    def __init__(self, model: Transformer, rows: int = 4) -> None:
        super().__init__()
        self.rows, self.head = rows, model.head

    def attach(self) -> list[RemovableHandle]:
        return [self.head.register_forward_hook(self._look)]

    def _look(self, head: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        logits = output.detach()[: self.rows].float()
        self._add("logit_scale", logits.var(-1, correction=0).mean().sqrt())
        self._add("logit_max", logits.abs().amax())

    def read(self) -> Reading:
        return {name: value for name, (value,) in super().read().items()}


class WeightInstrument(Instrument):
    """How far an optimiser step moves each block, and which part of it gets the gradient.

    update_ratio: L2 norm of the step over that of the block's parameters. gradient_query_key,
    gradient_value_output, gradient_feed_forward: gradient norms over those maps.
    """

    PARTS = (
        ("query_key", ("attention.query", "attention.key")),
        ("value_output", ("attention.value", "attention.output")),
        ("feed_forward", ("feed_forward",)),
    )

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        blocks = blocks_of(model)
        self.parameters = [list(block.parameters()) for block in blocks]
        self.parts = {
            name: [
                [p for path in paths for p in block.get_submodule(path).parameters()]
                for block in blocks
            ]
            for name, paths in self.PARTS
        }

    def attach(self) -> list[RemovableHandle]:
        return []  # it looks at weights, not at passes

    @contextmanager
    def around_update(self) -> Iterator[None]:
        for name, parts in self.parts.items():
            gradients = [[p.grad for p in part if p.grad is not None] for part in parts]
            self._measured[f"gradient_{name}"] = norms_of(gradients)
        before = [[p.detach().clone() for p in part] for part in self.parameters]
        yield
        moved = [
            torch._foreach_sub([p.detach() for p in now], old)
            for now, old in zip(self.parameters, before, strict=True)
        ]
        pairs = zip(norms_of(moved), norms_of(before), strict=True)
        self._measured["update_ratio"] = [step / size for step, size in pairs]


def norms_of(groups: Sequence[Sequence[Tensor]]) -> list[Tensor]:
    """The L2 norm over all entries of each group of tensors; 0 of an empty one."""
    tensors = [t for group in groups for t in group]
    if not tensors:
        return [torch.zeros(())] * len(groups)
    norms = torch.stack(torch._foreach_norm(tensors))
    return [torch.linalg.vector_norm(part) for part in norms.split([len(g) for g in groups])]
