"""Padded batches of unequal lengths, from the task to the loss."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from ablate.build import build_model, build_task
from ablate.config.catalogue import config_folder
from ablate.config.compose import Composer
from ablate.data.tasks import IGNORED, Batch
from ablate.model.transformer import token_loss
from ablate.train.batches import goal, joined, predict, scored_logits
from tests.conftest import TINY, Command
from tests.data.test_tasks import corpus

CPU = torch.device("cpu")


@cache
def usual() -> dict[str, Any]:
    composer = Composer()
    with composer.session():
        (job,) = composer.jobs([*TINY, "task=mlm", "task.padding=0.5"], sweep=False)
        config, _ = composer.one(job)
    return config


def loss_with(fill: int, norm_layer: str) -> float:
    """The loss in training mode of the first batch with `fill` in its padded places."""
    text = (config_folder() / "norm_layer" / f"{norm_layer}.yaml").read_text(encoding="utf-8")
    config = {**usual(), "norm_layer": yaml.safe_load(text)}
    task = build_task(config, corpus())
    torch.manual_seed(0)
    model = build_model(config, task.vocabulary, causal=False).train()
    batch = task.batch(1)
    assert batch.padding is not None
    filled = Batch(np.where(batch.padding, fill, batch.inputs), batch.targets, batch.padding)
    return token_loss(predict(model, filled, CPU), goal(filled, CPU)).item()


@pytest.mark.parametrize("norm_layer", ["layernorm", "masked_batchnorm"])
def test_what_stands_in_padding_changes_no_loss(norm_layer: str) -> None:
    assert loss_with(3, norm_layer) == pytest.approx(loss_with(7, norm_layer), abs=1e-6)


def test_a_plain_batch_norm_sees_padding() -> None:
    assert loss_with(3, "batchnorm") != pytest.approx(loss_with(7, "batchnorm"), abs=1e-4)


def test_the_head_reads_scored_positions_alone_of_batches_that_are_joined() -> None:
    config = usual()
    task = build_task(config, corpus())
    model = build_model(config, task.vocabulary, causal=False).eval()
    seen: list[int] = []
    model.head.register_forward_hook(lambda head, inputs, out: seen.append(out[..., 0].numel()))
    batches = [task.batch(step) for step in (1, 2, 3)]
    size = batches[0].inputs.size
    for at_once, passes in ((3 * size, 1), (2 * size, 2), (1, 3)):
        seen.clear()
        pairs = [scored_logits(model, b, CPU) for b in joined(batches, at_once)]
        assert len(pairs) == passes
        logits, targets = (torch.cat(parts) for parts in zip(*pairs, strict=True))
        assert sum(seen) == len(targets) == sum((b.targets != IGNORED).sum() for b in batches)
        whole = torch.cat([predict(model, b, CPU)[goal(b, CPU) != IGNORED] for b in batches])
        torch.testing.assert_close(logits, whole)
        assert (
            targets == torch.cat([goal(b, CPU)[goal(b, CPU) != IGNORED] for b in batches])
        ).all()


@pytest.mark.slow
def test_a_padded_encoder_without_position_does_not_mind_the_order(
    ablate: Command, tmp_path: Path, words: Path
) -> None:
    line = (*TINY, "corpus=text", f"corpus.files={words}", "task=mlm", "task.padding=0.5")
    done = ablate("run", *line, "norm_layer=masked_batchnorm", "pos=none", "evaluate.shuffle=true")
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "outputs" / "default").glob("*seed=*")
    record = json.loads((folder / "record.json").read_text())
    assert record["loss"]["final"] < record["loss"]["first"]
    assert record["shuffle"]["change"] == pytest.approx(0, abs=1e-5)
