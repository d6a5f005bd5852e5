"""Where in a model the absolute position of a token can be read: a probe at every layer.

From the frozen residual stream at a token, ridge regression and a small network predict the token's
place in its sequence. Fit, choice of settings and test are on different sequences. The control is
the same with the places of each sequence shuffled: what it predicts is not about position.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ablate.data.tasks import Task
from ablate.evaluate.regression import Fit, Samples, Splits, network, ridge
from ablate.evaluate.windows import Check
from ablate.model.transformer import Transformer
from ablate.record.evaluated import PositionProbe, ProbeFit
from ablate.train.batches import predict
from ablate.train.instruments import tensors_in

SEQUENCES, FEWEST = 96, 8
PLACES = 64
"""Tokens taken from each sequence at most, at random."""
WHERE = "layer 0 is the input of the first block, layer l the output of block l"


@dataclass(frozen=True)
class LayerStates:
    """The stream at some tokens, float64 [tokens, width] by layer, with their places in their
    sequences, those places shuffled, and the numbers of the sequences, [tokens] each.
    """

    layers: list[Tensor]
    places: Tensor
    shuffled: Tensor
    sequences: Tensor

    def splits(self, layer: int, labels: Tensor) -> Splits:
        """Of every four sequences two are to fit on, one to choose by and one to test on."""
        part = self.sequences % 4
        x = self.layers[layer]
        masks = [part < 2, part == 2, part == 3]
        return Splits(*(Samples(x[mask], labels[mask]) for mask in masks))


def probe_positions(
    model: Transformer, task: Task, check: Check = lambda doing: None
) -> PositionProbe:
    """R² and mean absolute error in tokens by layer, of both probes and of their controls.

    Empty where there are fewer than 8 held-out sequences; None at a layer without finite numbers.
    """
    check("reading the states of every layer")
    states = read_states(model, task)
    if states is None:
        return PositionProbe()
    kinds: dict[str, tuple[Callable[[Splits], Fit], Tensor]] = {
        "ridge": (ridge, states.places),
        "ridge_control": (ridge, states.shuffled),
        "network": (network, states.places),
        "network_control": (network, states.shuffled),
    }
    probes: dict[str, ProbeFit] = {}
    for name, (kind, labels) in kinds.items():
        fits: list[Fit | None] = []
        for layer, x in enumerate(states.layers):
            check("")
            finite = bool(x.isfinite().all())
            fits.append(kind(states.splits(layer, labels)) if finite else None)
        probes[name] = ProbeFit(
            r2=[None if fit is None else fit.r2 for fit in fits],
            mae=[None if fit is None else fit.mae for fit in fits],
        )
    return PositionProbe(
        where=WHERE,
        length=task.seq_len,
        sequences=int(states.sequences.max()) + 1,
        mae_of_mean=(states.places - states.places.mean()).abs().mean().item(),
        **probes,
    )


@torch.no_grad()
def read_states(model: Transformer, task: Task) -> LayerStates | None:
    """LayerStates of up to 96 held-out sequences; None where there are fewer than 8."""
    random = np.random.default_rng(0)
    layers: list[list[Tensor]] = [[] for _ in range(len(model.blocks) + 1)]
    labels: list[np.ndarray] = []
    sequences = 0
    model.eval()
    for batch in task.validation(-(-SEQUENCES // task.batch_size)):
        with watched(model) as states:
            predict(model, batch, model.embedding.weight.device)
        for row in range(min(len(batch.inputs), SEQUENCES - sequences)):
            length = batch.inputs.shape[1]
            real = length if batch.padding is None else length - int(batch.padding[row].sum())
            places = np.sort(random.permutation(real)[:PLACES])
            shuffled = random.permutation(places)
            labels.append(np.stack([places, shuffled, np.full(len(places), sequences)]))
            for layer, state in zip(layers, states, strict=True):
                layer.append(state[row, places].double().cpu())
            sequences += 1
    model.train()
    if sequences < FEWEST:
        return None
    places, shuffled, numbers = torch.from_numpy(np.concatenate(labels, axis=1))
    by_layer = [torch.cat(layer) for layer in layers]
    return LayerStates(by_layer, places.double(), shuffled.double(), numbers)


@contextmanager
def watched(model: Transformer) -> Iterator[list[Tensor]]:
    """The stream at each block's input and after the last, [batch, length, width] each.

    Several streams stand side by side in the last axis.
    """
    states: list[Tensor] = []

    def see(state: Any) -> None:
        parts = [s for t in tensors_in(state) for s in t.reshape(-1, *t.shape[-3:])]
        states.append(torch.cat(parts, dim=-1))

    blocks = list(model.blocks)
    handles = [
        block.register_forward_pre_hook(lambda _, inputs: see(inputs[0])) for block in blocks
    ]
    handles.append(blocks[-1].register_forward_hook(lambda _, inputs, state: see(state)))
    try:
        yield states
    finally:
        for handle in handles:
            handle.remove()
