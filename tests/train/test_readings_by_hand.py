"""All that the instruments read at a step of a real training, by hand and in float64."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from ablate.build import build_instruments
from tests.made_up_bench import Heard, bench, config, trainer

SIZES = {"depth": 3, "width": 16, "heads": 2, "seq_len": 8, "batch_size": 6, "steps": 1, "lr": 0.01}
SLOPES = (2.0**-4, 2.0**-8)
"""ALiBi's, of two heads."""


def rms(x: Tensor) -> float:
    return x.square().mean().sqrt().item()


def mean_cosine(a: Tensor, b: Tensor) -> float:
    return torch.nn.functional.cosine_similarity(a, b, dim=-1).mean().item()


def likeness(x: Tensor) -> float:
    """Mean cosine of two different tokens of one sequence."""
    pairs = [(i, j) for i in range(x.shape[1]) for j in range(x.shape[1]) if i != j]
    return float(np.mean([mean_cosine(x[:, i], x[:, j]) for i, j in pairs]))


def heads(attention: Any, x: Tensor) -> list[dict[str, float]]:
    """Of each head in the first sequence: entropy and distance over queries, the largest score."""
    told = []
    q, k = attention.query(x)[0], attention.key(x)[0]
    for head, slope in enumerate(SLOPES):
        part = slice(8 * head, 8 * head + 8)
        entropies, distances, scores = [], [], []
        for i in range(x.shape[1]):
            row = [
                (q[i, part] @ k[j, part]).item() / math.sqrt(8) - slope * (i - j)
                for j in range(i + 1)
            ]
            weights = np.exp(row) / np.exp(row).sum()
            entropies.append(-(weights * np.log(weights)).sum())
            distances.append(sum(w * (i - j) for j, w in enumerate(weights)))
            scores += row
        told.append(
            {
                "entropy": np.mean(entropies),
                "distance": np.mean(distances),
                "max": max(scores),
            }
        )
    return told


def test_every_reading_of_a_step_by_hand(tmp_path: Path) -> None:
    made = config(SIZES | {"optim.weight_decay": 0.5}, pos="alibi")
    objects, heard = bench(made), Heard()
    trained = trainer(objects, made, tmp_path, heard)
    trained.train()
    told = heard.lines[0]["instruments"]
    by_hand = bench(made)
    model, batch = by_hand.model.double(), by_hand.task.batch(1)
    streams: list[tuple[Tensor, Tensor]] = []
    branches: dict[str, list[Tensor]] = {"attention": [], "feed_forward": []}
    looks: list[Any] = []
    for block in model.blocks:
        block.register_forward_hook(lambda _, x, y: streams.append((x[0].detach(), y.detach())))
        for name, outputs in branches.items():
            module = getattr(block, name)
            module.register_forward_hook(lambda _, x, y, to=outputs: to.append(y.detach()))
        block.attention.register_forward_hook(
            lambda module, x, y: looks.append((module, x[0].detach()))
        )
    logits = model(torch.from_numpy(batch.inputs))
    targets = torch.from_numpy(batch.targets)
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()).backward()
    expected: dict[str, list[Any]] = {}

    def add(**readings: Any) -> None:
        for name, value in readings.items():
            expected.setdefault(name, []).append(value)

    for layer, (before, after) in enumerate(streams):
        x, y = before[:4], after[:4]  # the first four sequences of six
        add(stream_rms=rms(y), stream_max=y.abs().max().item())
        add(block_cosine=mean_cosine(x, y), token_cosine=likeness(y))
        for name, outputs in branches.items():
            out = outputs[layer][:4]
            add(**{f"{name}_rms": rms(out), f"{name}_output_max": out.abs().max().item()})
            add(**{f"{name}_ratio": rms(out) / rms(x)})
        with torch.no_grad():
            of_heads = heads(*looks[layer])
        for kind in ("entropy", "distance", "max"):
            add(**{f"attention_{kind}": [one[kind] for one in of_heads]})
        block, now = model.blocks[layer], objects.model.blocks[layer]
        moved = [(a.double() - b).norm() for a, b in zip(now.parameters(), block.parameters())]  # noqa: B905
        size = [p.norm() for p in block.parameters()]
        add(update_ratio=torch.stack(moved).norm().item() / torch.stack(size).norm().item())
        for name, modules in (
            ("query_key", (block.attention.query, block.attention.key)),
            ("value_output", (block.attention.value, block.attention.output)),
            ("feed_forward", (block.feed_forward,)),
        ):
            norms = [p.grad.norm() for module in modules for p in module.parameters()]
            add(**{f"gradient_{name}": torch.stack(norms).norm().item()})
    table = logits[:4].detach()
    spread = table.var(-1, correction=0).mean().sqrt().item()
    assert told.pop("logit_scale") == pytest.approx(spread, rel=1e-4)
    assert told.pop("logit_max") == pytest.approx(table.abs().max().item(), rel=1e-4)
    assert set(told) == set(expected)
    for name, values in expected.items():
        for one, other in zip(told[name], values, strict=True):
            assert one == pytest.approx(other, rel=2e-3, abs=1e-5), name


@pytest.mark.parametrize("training", [True, False])
def test_looking_leaves_the_mode_of_a_model_as_it_is(training: bool) -> None:
    objects = bench(config())
    model = objects.model.train(training)
    for instrument in build_instruments(config(), model):
        instrument.active = True
    model(torch.zeros(2, 8, dtype=torch.long))
    assert {module.training for module in model.modules()} == {training}
