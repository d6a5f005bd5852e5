"""The composition root: from a config to objects. The only module that sees both sides."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from ablate.config.parts import Config, locate, part
from ablate.data.store import TokenizedCorpus, noted, prepare
from ablate.data.tasks import Task
from ablate.errors import UserError
from ablate.model.init import InitRecipe, initialise
from ablate.model.normalizers import RunningStatistics
from ablate.model.placement.rule import Placement
from ablate.model.position.base import PositionScheme
from ablate.model.residual import ResidualRule
from ablate.model.shape import Shape
from ablate.model.transformer import Parts, Transformer, count_parameters
from ablate.train.block_instruments import (
    AttentionInstrument,
    Instrument,
    LogitInstrument,
    StreamInstrument,
    WeightInstrument,
)
from ablate.train.optimizers import OptimizerRecipe
from ablate.train.precision import check_compiler, check_precision
from ablate.train.schedules import Schedule, Warmup


@dataclass(frozen=True)
class Bench:
    """Everything that one run needs, on its device."""

    model: Transformer
    optimizer: torch.optim.Optimizer
    schedule: Schedule
    task: Task
    corpus: TokenizedCorpus | None  # None where the task makes up its own examples


def build(config: Config, corpus: TokenizedCorpus | None) -> Bench:
    """Build the objects of a run; the model is drawn from the seed on the CPU, then moved."""
    task = build_task(config, corpus)
    model = build_model(config, task.vocabulary, causal=task.causal)
    recipe: InitRecipe = part(config, "init")()
    initialise(model, recipe, config["seed"])
    model.to(pick_device(config["device"]))
    return Bench(
        model=model,
        optimizer=build_optimizer(config, model),
        schedule=build_schedule(config),
        task=task,
        corpus=corpus,
    )


def check(config: Config, corpus: TokenizedCorpus | None) -> Task:
    """Raise UserError where a run of this config could not be built; the model takes no memory.

    The task is returned, so that what is asked of it can be checked too.
    """
    device = pick_device(config["device"])
    check_precision(config["precision"], device)
    if config["compile"]:
        check_compiler(device)
    task = build_task(config, corpus)
    build_schedule(config)
    part(config, "init")()
    part(config, "optim")()
    with torch.device("meta"):
        model = build_model(config, task.vocabulary, causal=task.causal)
    size, room = sum(p.numel() * p.element_size() for p in model.parameters()), memory(device)
    if size > room:
        raise UserError(
            f"the model has {count_parameters(model):,} parameters, {size / 2**30:,.0f} GiB, which "
            f"is more than the {room / 2**30:,.0f} GiB of this machine"
        )
    return task


def memory(device: torch.device) -> int:
    """Bytes that a device has in all."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def needs_corpus(config: Config) -> bool:
    """Whether the task learns from a corpus; a function, whatever it makes, is given one."""
    part(config, "task")  # raises for a file that names no class
    target = locate(config["task"]["_target_"], "task")
    own = isinstance(target, type) and issubclass(target, Task)
    return target.needs_corpus if own else True


def build_corpus(
    config: Config, cache: Path | None = None, progress: Callable[[str], None] | None = None
) -> TokenizedCorpus | None:
    """Read the corpus, or its tokens from the cache; None where the task needs none."""
    if not needs_corpus(config):
        return None
    corpus = part(config, "corpus")()
    return prepare(corpus, cache, progress)


def known_text(config: Config) -> str | None:
    """The sha256 of the corpus if this machine has read it as it is now; no text is read."""
    return noted(part(config, "corpus")()) if needs_corpus(config) else None


def text_files(config: Config) -> list[str]:
    """Whole paths of the files and folders that the corpus was asked for; [] for any other."""
    files = config["corpus"].get("files") if needs_corpus(config) else None
    patterns = [files] if isinstance(files, str) else files or []
    return [str(Path(pattern).expanduser().absolute()) for pattern in patterns]


def corpus_key(config: Config) -> str:
    """Equal for configs whose runs share what `build_corpus` gives."""
    return repr(config["corpus"]) if needs_corpus(config) else ""


def build_task(config: Config, corpus: TokenizedCorpus | None) -> Task:
    """The task, on a corpus if it needs one; raises UserError where that is too small for it."""
    task = part(config, "task")
    corpora = [] if corpus is None else [corpus]
    return task(
        *corpora,
        seq_len=config["seq_len"],
        batch_size=config["batch_size"],
        seed=config["seed"],
    )


def build_optimizer(config: Config, model: torch.nn.Module) -> torch.optim.Optimizer:
    """The optimiser over the parameters that a model has now."""
    recipe: OptimizerRecipe = part(config, "optim")()
    return recipe.build(model)


def build_schedule(config: Config) -> Schedule:
    """The learning rate of every step."""
    warmup, decay = part(config, "warmup")(), part(config, "decay")()
    return Schedule(config["lr"], config["steps"], warmup, decay)


def build_model(config: Config, vocabulary: int, *, causal: bool) -> Transformer:
    """The model before its parameters are drawn."""
    recipe: InitRecipe = part(config, "init")()
    shape = Shape(
        width=config["width"],
        depth=config["depth"],
        heads=config["heads"],
        seq_len=config["seq_len"],
        vocabulary=vocabulary,
        causal=causal,
        embedding_std=recipe.embedding_std(config["width"]),
    )
    parts = Parts(
        position=part(config, "pos")(shape),
        placement=part(config, "norm")(part(config, "norm_layer")),
        residual=part(config, "residual"),
        feed_forward=part(config, "feed_forward"),
    )
    return Transformer(
        shape,
        parts,
        tied=config["tied"],
        dropout=config["dropout"],
        bias=config["bias"],
        kv_heads=config["kv_heads"],
    )


STATING = (PositionScheme, Placement, ResidualRule, RunningStatistics, Warmup, Task)
"""The bases whose classes state facts of themselves."""


def facts(config: Config, position: PositionScheme) -> dict[str, list[str]]:
    """What the chosen classes state of themselves, by group, for the diagnosis of the run.

    A group whose class states nothing is left out. Whether a scheme is `relative` may depend on its
    options, so the one that was built is asked.
    """
    chosen = {
        group: locate(choice["_target_"], group)
        for group, choice in config.items()
        if isinstance(choice, dict) and "_target_" in choice
    }
    stated = {
        group: target.facts
        for group, target in chosen.items()
        if isinstance(target, type) and issubclass(target, STATING)
    }
    if position.relative:
        stated["pos"] = position.facts | {"relative"}
    return {group: sorted(words) for group, words in stated.items() if words}


def build_instruments(config: Config, model: Transformer) -> list[Instrument]:
    """The instruments that are switched on, attached to the model."""
    kinds: dict[str, Callable[[Transformer], Instrument]] = {
        "stream": StreamInstrument,
        "attention": AttentionInstrument,
        "weights": WeightInstrument,
        "logits": LogitInstrument,
    }
    return [kind(model) for name, kind in kinds.items() if config["instruments"][name]]


def pick_device(name: str) -> torch.device:
    """The device that a config names; "auto" takes CUDA where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise UserError(f"device={name}: this torch sees no CUDA device; use device=cpu")
    if name == "mps" and not torch.backends.mps.is_available():
        raise UserError("device=mps: not available here; use device=cpu")
    return torch.device(name)
