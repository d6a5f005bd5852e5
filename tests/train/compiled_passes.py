"""Gradients of plain passes, of compiled ones, and of a look between them, as JSON on stdout."""

import functools
import json

import numpy as np
import torch

from ablate.data.tasks import Batch
from ablate.model.init import initialise
from ablate.model.normalizers import LayerNorm
from ablate.model.placement.rows import Pre
from ablate.model.position.bias import Alibi
from ablate.model.recipes import TorchInit
from ablate.model.residual import ResidualRule
from ablate.model.shape import Shape
from ablate.model.transformer import Parts, Transformer
from ablate.train.block_instruments import StreamInstrument
from ablate.train.distributed import Alone
from ablate.train.gradient import Passes
from ablate.train.instruments import GradientNorms
from ablate.train.precision import Precision

SHAPE = Shape(width=8, depth=2, heads=2, seq_len=8, vocabulary=13)


def main() -> None:
    """Compile, look, and go on with what was compiled."""
    # The graphs of torch.compile without the minute that its C++ compiler takes.
    torch.compile = functools.partial(torch.compile, backend="aot_eager")
    built = Transformer(SHAPE, Parts(Alibi(SHAPE), Pre(LayerNorm), ResidualRule))
    initialise(built, TorchInit(), 0)
    tokens = np.random.default_rng(0).integers(0, SHAPE.vocabulary, (4, 9))
    batch = Batch(tokens[:, :-1], tokens[:, 1:])
    precision = Precision("float32", torch.device("cpu"))
    norms, stream = GradientNorms(built.blocks), StreamInstrument(built)
    losses, inputs, gradients, graphs = [], [], [], []
    for compiled, looks in ((False, [True]), (True, [False, True, False])):
        passes = Passes.of(built, Alone(), precision, accumulate=2, seed=0, compiled=compiled)
        for look in looks:
            norms.active = stream.active = look
            loss, at_inputs = passes.gradient(1, batch, norms, [stream])
            losses.append(loss)
            inputs.append(at_inputs)
            parts = [p.grad.flatten() for p in built.parameters() if p.grad is not None]
            gradients.append(torch.cat(parts).tolist())
            if compiled and not look:
                graphs.append(torch._dynamo.utils.counters["stats"]["unique_graphs"])
            stream.read()
    results = {"losses": losses[:3], "inputs": inputs[:3], "gradients": gradients[:2]}
    print(json.dumps({**results, "graphs": graphs}))


if __name__ == "__main__":
    main()
