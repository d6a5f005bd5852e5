"""Word order is learned by what knows positions, and by no means by a bag of words."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from ablate.build import Bench, build
from ablate.config.catalogue import config_folder
from ablate.config.compose import Composer
from ablate.data.generated.generated_task import OWN
from ablate.data.generated.sentences import NOUNS
from tests.conftest import TINY, Command, later_wins


@cache
def usual() -> dict[str, Any]:
    composer = Composer()
    with composer.session():
        (job,) = composer.jobs([*TINY, "task=word_order"], sweep=False)
        config, _ = composer.one(job)
    return config


def bench(pos: str, depth: int) -> Bench:
    text = (config_folder() / "pos" / f"{pos}.yaml").read_text(encoding="utf-8")
    return build({**usual(), "pos": yaml.safe_load(text), "depth": depth}, None)


@pytest.mark.parametrize(
    ("pos", "depth", "told_apart"), [("none", 1, False), ("none", 2, True), ("rope", 1, True)]
)
def test_a_causal_layer_without_positions_is_a_bag_of_words(
    pos: str, depth: int, told_apart: bool
) -> None:
    """Two causal layers are none: what a word sees before it tells the second where it stands."""
    built = bench(pos, depth)
    batch = built.task.batch(1)
    nouns = (batch.inputs >= OWN) & (batch.inputs < OWN + len(NOUNS))
    swapped = batch.inputs.copy()
    for row, is_noun in zip(swapped, nouns, strict=True):
        row[is_noun] = row[is_noun][::-1]
    assert (swapped != batch.inputs).any(axis=1).all()
    answers = torch.from_numpy(batch.targets >= 0)
    model = built.model.eval().double()
    with torch.no_grad():
        one, other = (model(torch.from_numpy(x))[answers] for x in (batch.inputs, swapped))
    assert ((one - other).abs().max().item() > 1e-6) == told_apart


@pytest.mark.slow
def test_rope_learns_word_order_and_a_bag_of_words_does_not(
    ablate: Command, tmp_path: Path
) -> None:
    sizes = ("width=32", "batch_size=32", "steps=300", "lr=3e-3", "evaluate.lengths=[1]")
    for choice in (("pos=rope", "depth=2"), ("pos=none", "depth=1")):
        line = later_wins(*TINY, *sizes, "task=word_order", "instruments.stream=false", *choice)
        done = ablate("run", *line)
        assert done.returncode == 0, done.stderr
    records = {
        record["choices"]["pos"]: record
        for path in tmp_path.glob("outputs/default/*/record.json")
        for record in [json.loads(path.read_text())]
    }
    assert records["rope"]["extrapolation"]["exact"][0] > 0.9
    assert records["none"]["extrapolation"]["exact"][0] == pytest.approx(0.5, abs=0.1)
    assert records["none"]["label"] == "stuck"
