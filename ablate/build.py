"""The composition root: from a config to objects. The only module that sees both sides."""

import collections.abc
import functools
import importlib
import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ablate.catalogue import nearest
from ablate.config import shown
from ablate.data.store import TokenizedCorpus, prepare
from ablate.data.tasks import Task
from ablate.errors import UserError
from ablate.model.init import InitRecipe, initialise
from ablate.model.shape import Shape
from ablate.model.transformer import Parts, Transformer
from ablate.train.optimizers import OptimizerRecipe
from ablate.train.precision import check_compiler, check_precision
from ablate.train.probes import (
    AttentionInstrument,
    Instrument,
    LogitInstrument,
    StreamInstrument,
    WeightInstrument,
)
from ablate.train.schedules import Schedule

Config = Mapping[str, Any]


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
        build_model(config, task.vocabulary, causal=task.causal)
    return task


def needs_corpus(config: Config) -> bool:
    """Whether the task learns from a corpus; a function, whatever it makes, is given one."""
    part(config, "task")  # raises for a file that names no class
    target = locate(config["task"]["_target_"], "task")
    own = inspect.isclass(target) and issubclass(target, Task)
    return target.needs_corpus if own else True


def build_corpus(
    config: Config, cache: Path | None = None, progress: Callable[[str], None] | None = None
) -> TokenizedCorpus | None:
    """Read the corpus, or its tokens from the cache; None where the task needs none."""
    if not needs_corpus(config):
        return None
    corpus = part(config, "corpus")()
    return prepare(corpus, cache, progress)


def corpus_key(config: Config) -> str:
    """Equal for configs whose runs share what `build_corpus` gives."""
    return repr(config["corpus"]) if needs_corpus(config) else ""


def build_task(config: Config, corpus: TokenizedCorpus | None) -> Task:
    """The task, on a corpus if it needs one; raises UserError where that is too small for it."""
    task = part(config, "task")
    given = [] if corpus is None else [corpus]
    return task(
        *given,
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


def part(config: Config, group: str) -> Callable[..., Any]:
    """The class that a group's choice names, with its options bound.

    Calling it builds the object; a UserError then says which group it comes from.
    """
    return _part(config[group], group)


def _part(choice: Mapping[str, Any], key: str) -> Callable[..., Any]:
    if "_target_" not in choice:
        raise UserError(f"{key}: its file names no class; it needs a line _target_: module.Class")
    name = choice["_target_"]
    target = locate(name, key)
    if not callable(target):
        raise UserError(f"{key}: {name} is no class and no function")
    options = {
        k: _part(v, f"{key}.{k}") if isinstance(v, Mapping) and "_target_" in v else v
        for k, v in choice.items()
        if k != "_target_"
    }
    check_options(target, options, key)

    @functools.wraps(target, updated=())
    def build_it(*arguments: Any, **more: Any) -> Any:
        try:
            return target(*arguments, **options, **more)
        except UserError as error:
            text = str(error)
            raise UserError(text if text.startswith(f"{key}.") else f"{key}: {text}") from error
        except (Exception, SystemExit) as error:  # of a user's class; ours raise UserError
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            raise UserError(f"{key}: {name} cannot be made: {reason}") from error

    return build_it


def locate(name: str, key: str) -> Any:
    """The class at a dotted path; UserError says which part of the path is not there."""
    module_name, _, attribute = name.rpartition(".")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise UserError(
            f"{key}: {name}: no module {error.name} in the current folder or on the Python path"
        ) from error
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UserError(f"{key}: importing {module_name} fails: {reason}") from error
    if attribute not in vars(module):
        hint = nearest(attribute, vars(module))
        raise UserError(f"{key}: {module_name} has no {attribute}.{hint}")
    return vars(module)[attribute]


def check_options(target: Callable[..., Any], options: Mapping[str, Any], key: str) -> None:
    """Raise UserError for an option that the constructor lacks or that has another type."""
    constructor = target.__init__ if inspect.isclass(target) else target
    parameters = inspect.signature(constructor).parameters
    hints = typing.get_type_hints(constructor)
    allowed = [n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY]
    for option, value in options.items():
        if option not in allowed:
            raise UserError(
                f"{key}.{option}: no such option; it has {', '.join(allowed) or 'none'}."
                f"{nearest(option, allowed)}"
            )
        if option in hints and takes_choice(hints[option]) and not callable(value):
            raise UserError(
                f"{key}.{option}={shown(value)}: a choice of its own; write "
                f"{key}@{key}.{option}={shown(value)}"
            )
        if option in hints and not fits(value, hints[option]):
            raise UserError(f"{key}.{option}={shown(value)}: must be {in_words(hints[option])}")


def takes_choice(hint: Any) -> bool:
    """Whether an option is itself a part to be built."""
    return typing.get_origin(hint) is collections.abc.Callable


def fits(value: Any, hint: Any) -> bool:
    """Whether a plain value may stand where a constructor asks for `hint`.

    >>> fits(1, float), fits(True, int), fits(None, int | None), fits("a", list[str])
    (True, False, True, False)
    """
    origin = typing.get_origin(hint)
    if hint is Any or origin is collections.abc.Callable:
        return True
    if origin in (types.UnionType, typing.Union):
        return any(fits(value, one) for one in typing.get_args(hint))
    if origin is typing.Literal:
        return value in typing.get_args(hint)
    if hint is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and math.isfinite(value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint in (None, type(None)):
        return value is None
    return isinstance(value, origin or hint)


def in_words(hint: Any) -> str:
    """A type hint for a reader who knows no Python.

    >>> in_words(int | None)
    'a whole number or null'
    """
    words = {int: "a whole number", float: "a finite number", bool: "true or false", str: "a word"}
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return " or ".join(in_words(one) for one in typing.get_args(hint))
    if typing.get_origin(hint) is typing.Literal:
        return f"one of {', '.join(map(str, typing.get_args(hint)))}"
    if hint in (None, type(None)):
        return "null"
    return words.get(hint, "a list" if typing.get_origin(hint) is list else str(hint))
