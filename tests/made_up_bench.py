"""Configs without Hydra, a text whose structure hides nothing, and the objects that follow."""

import copy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ablate.build import Bench, build
from ablate.config.catalogue import COMPONENTS, Catalogue
from ablate.data.entry import TokenizedCorpus
from ablate.data.tokenizers import Bytes
from ablate.run.trainer import make_trainer
from ablate.train.distributed import Alone
from ablate.train.listeners import Listener
from ablate.train.loop import Trainer

CATALOGUE = Catalogue()
VOCABULARY = 23
SMALL: dict[str, Any] = {
    "depth": 2,
    "width": 16,
    "heads": 2,
    "seq_len": 8,
    "batch_size": 4,
    "steps": 6,
    "lr": 0.01,
    "device": "cpu",
    "log.every": 2,
    "checkpoint.every": 3,
    "evaluate.every": 3,
    "evaluate.batches": 3,
    "evaluate.windows": 12,
    "evaluate.lengths": [0.5, 1, 2],
}


def choice(group: str, name: str) -> dict[str, Any]:
    """A choice as a config holds it, with the choices inside it."""
    return copy.deepcopy(read(group, name))


@cache
def read(group: str, name: str) -> dict[str, Any]:
    path = CATALOGUE.path(group, name)
    assert path is not None, f"{group}={name}"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    for entry in content.pop("defaults", []):
        if isinstance(entry, dict):
            ((key, inner),) = entry.items()
            content[key.split("@")[1]] = choice(group, inner)
    return content


def config(
    changes: dict[str, Any] | None = None, sizes: dict[str, Any] = SMALL, **choices: str
) -> dict[str, Any]:
    """The default config made small, with other choices, and values at dotted keys."""
    usual = {g: n for g, n in CATALOGUE.default_choices().items() if g in COMPONENTS and n}
    made = copy.deepcopy(CATALOGUE.defaults())
    made |= {group: choice(group, name) for group, name in (usual | choices).items()}
    for key, value in (sizes | (changes or {})).items():
        place, *inner = key.split(".")
        within = made
        while inner:
            within, place, *inner = within[place], *inner
        within[place] = value
    return made


@cache
def corpus(train: int = 3000, validation: int = 900) -> TokenizedCorpus:
    """Two unlike splits of uneven frequencies, each token likelier after its neighbour."""
    splits = []
    for seed, length in ((1, train), (2, validation)):
        random = np.random.default_rng(seed)
        shares = random.dirichlet(np.full(VOCABULARY, 0.7))
        tokens = random.choice(VOCABULARY, length, p=shares)
        follows = random.random(length) < 0.5
        for place in range(1, length):
            if follows[place]:
                tokens[place] = (tokens[place - 1] + 1) % VOCABULARY
        splits.append(tokens.astype(np.uint8))
    counts = np.bincount(splits[0], minlength=VOCABULARY)
    starts = [np.arange(0, length, 37) for length in (train, validation)]
    return TokenizedCorpus("made-up", "0" * 64, VOCABULARY, *splits, *starts, counts, Bytes())


def bench(made: dict[str, Any]) -> Bench:
    """The objects of a config, on the made-up text where its task needs one."""
    return build(made, corpus() if "generated" not in made["task"]["_target_"] else None)


class Heard(Listener):
    """Keeps the lines and the losses of all steps."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.losses: list[float] = []

    def step(self, step: int, loss: float) -> None:
        self.losses.append(loss)

    def log(self, line: dict[str, Any]) -> None:
        self.lines.append(line)


def trainer(
    objects: Bench, made: dict[str, Any], directory: Path, heard: Heard | None = None
) -> Trainer:
    """The trainer that a run of this config has."""
    listeners = [heard] if heard else []
    return make_trainer(objects, made, directory, listeners, lambda: False, Alone())
