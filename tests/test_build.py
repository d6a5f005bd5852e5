"""Every key and every option reaches what it names: what comes out changes with it.

Choices, options and keys are found by globbing, so a newcomer is taken in by itself. An option
whose other value cannot be guessed from its kind says one in `OTHER`.
"""

import copy
import dataclasses
import hashlib
from collections.abc import Callable
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from ablate.build import Bench
from ablate.config.catalogue import COMPONENTS
from ablate.config.compose import Composition
from ablate.config.identity import Chosen, Identity, named
from ablate.config.parts import part
from ablate.config.schema import flatten
from ablate.data.generated.generated_task import GeneratedTask
from ablate.data.tasks import Batch
from ablate.evaluate.learned import measure_learning
from ablate.evaluate.trained import measure_trained
from ablate.record.evaluated import Evaluation
from ablate.run.planned import PlannedRun, is_wanted
from ablate.sweep.pool.launch import job, shared_out
from tests.made_up_bench import CATALOGUE, Heard, bench, choice, config, trainer

INSTRUMENTS = ("stream", "attention", "weights", "logits")
SHORT = {"steps": 4, **{f"instruments.{kind}": False for kind in INSTRUMENTS}}
MODEL = ("pos", "norm", "norm_layer", "residual", "feed_forward", "init")
OTHER: dict[str, Any] = {
    "layout": "half_split",
    "p2c_index": "released_code",
    "embedding_norm": "before",
    "evaluation": "drawn",
    "when": "evaluation",
    "pattern": "ab",
    "terms": ["c2c", "p2c"],
    "attention_factor": 0.5,
    "beta_fast": 3.0,
    "beta_slow": 0.1,
    "gate_scale": 0.9,
    "positions": 4,
    "buckets": 6,
    "max_distance": 5,
    "rows": 17,
    "maximum": 700,
    "t5.max_distance": 24,
    "fraction": 0.5,
    "steps": 3,
    "p": 0.25,
    "share": 0.5,
    "pairs": 2,
    "start": 0.4,
    "momentum": 0.5,
    "beta1": 0.5,
    "beta2": 0.3,
    "eps": 0.1,
    "weight_decay": 5.0,
    "threshold": 9.0,
    "scale_base": 4.0,
    "original_length": 4,
    "factor": 2.0,
    "omega": 3.0,
    "alpha": 0.7,
    "beta": 0.3,
    "init_gain": 3.0,
    "base_width": 4,
    "tokenizer": "characters",
    "files": "another",
    "dataset": "another",
    "revision": "another",
    "folder": "another",
    "subset": "another",
    "validation": "another",
    "vocabulary": 301,
    "document_start": "another",
}


def other(key: str, value: Any) -> Any:
    """Another value for an option, by its name or else by its kind."""
    for name in (key, key.rsplit(".", 1)[-1]):
        if name in OTHER:
            return OTHER[name]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value / 2 if value else 0.3
    return "another" if isinstance(value, str) else 1


def options_of(group: str, name: str) -> list[str]:
    chosen = choice(group, name)
    return [key for key, value in chosen.items() if key != "_target_" and type(value) is not dict]


OPTIONS = [
    (group, name, option)
    for group in COMPONENTS
    for name in CATALOGUE.names(group)
    for option in options_of(group, name)
]


def numbers(value: Any) -> Any:
    """Arrays and tensors as bytes, so that outcomes can be compared."""
    if isinstance(value, torch.Tensor):
        return value.detach().float().numpy().tobytes()
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: numbers(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: numbers(item) for key, item in value.items()}
    return [numbers(item) for item in value] if isinstance(value, list | tuple) else value


def function_of(objects: Bench) -> Any:
    """What the model does: in training, and in evaluation beyond the train length."""
    model, task = objects.model, objects.task
    with torch.no_grad():  # to a generic point: many parameters start at 0
        for number, parameter in enumerate(model.parameters()):
            noise = torch.Generator().manual_seed(number)
            parameter += 0.3 * torch.randn(parameter.shape, generator=noise)
    random = np.random.default_rng(0)
    limit = model.position.max_length or 8 * task.seq_len
    rows = torch.from_numpy(random.integers(0, task.vocabulary, (3, task.seq_len)))
    more = torch.from_numpy(random.integers(0, task.vocabulary, (1, min(limit, 40))))
    outcomes = [list(model.state_dict())]
    with torch.no_grad():
        torch.manual_seed(0)
        outcomes.append(model.train()(rows))
        outcomes.append(model.eval()(more))  # a running statistic of the first pass shows here
    model.train()
    return numbers(outcomes)


def training_of(objects: Bench, made: dict[str, Any], directory: Path) -> Any:
    """All that the listeners hear of a training, but for the clock, and the weights at its end."""
    heard = Heard()
    trained = trainer(objects, made, directory, heard)
    trained.train()
    trained.detach()
    clocks = ("seconds", "tokens_per_second")
    lines = [{k: v for k, v in line.items() if k not in clocks} for line in heard.lines]
    return numbers([heard.losses, lines, [*objects.model.parameters()]])


def batches_of(objects: Bench) -> Any:
    task = objects.task
    batches: list[Batch | None] = [task.batch(1), task.batch(2), *task.validation(2)]
    if isinstance(task, GeneratedTask):
        batches.append(task.examples_at(4 * task.seq_len, 5, 0))
    return numbers([task.vocabulary, batches])


def base_of(group: str, name: str, option: str) -> dict[str, Any]:
    """What else a choice needs for its options to show."""
    if group == "pos":
        # With this init sinusoids scale the embedding; YaRN's range wants a long train length.
        sizes: dict[str, Any] = {"width": 32, "seq_len": 64 if name == "yarn" else 16}
        if (name, option) == ("rope_dynamic_ntk", "when"):
            sizes |= {"pos.factor": 2.0, "pos.original_length": 4}
        return sizes | {"init": choice("init", "xavier")}
    if group == "corpus":
        files = {"corpus.dataset": "owner/name"} if name == "hub" else {}
        files |= {"corpus.files": str(Path(__file__))} if name == "text" else {}
        of_bpe = {"corpus.tokenizer": "bpe", "corpus.vocabulary": 300}
        return files | (of_bpe if option == "vocabulary" else {})
    if group == "task":
        return {"seq_len": 20}
    return SHORT if group not in MODEL else {}


known: dict[str, str] = {}


def outcome(group: str, made: dict[str, Any]) -> str:
    """A digest of what the choices of a group are there for, computed once for a config."""
    key = f"{group} {made}"
    if key not in known:
        known[key] = hashlib.sha256(repr(computed(group, made)).encode()).hexdigest()
    return known[key]


def computed(group: str, made: dict[str, Any]) -> Any:
    if group == "corpus":
        return vars(part(made, "corpus")())
    objects = bench(made)
    if group in MODEL:
        return function_of(objects)
    if group == "task":
        return batches_of(objects)
    return training_of(objects, made, Path())


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch, "compile", lambda forward, **_: partial(forward))


@pytest.mark.parametrize(("group", "name", "option"), OPTIONS)
def test_every_option_of_every_choice_changes_what_comes_out(
    group: str, name: str, option: str
) -> None:
    usual = config(base_of(group, name, option), **{group: name})
    changed = copy.deepcopy(usual)
    changed[group][option] = other(f"{name}.{option}", usual[group][option])
    assert outcome(group, changed) != outcome(group, usual)
    plain = config({}, {}, **{group: name})
    before = identity(plain, {group: name})
    plain[group][option] = changed[group][option]
    after = identity(plain, {group: name})
    assert (after.name != before.name, after.arm != before.arm) == (True, True)
    assert f"{group}.{option}=" in after.name


def identity(made: dict[str, Any], choices: dict[str, str]) -> Identity:
    usual_names = {g: str(n) for g, n in CATALOGUE.default_choices().items() if g in COMPONENTS}
    return named(made, Chosen(usual_names | choices, {}), CATALOGUE)


class Done:
    """A run of a config, trained and measured, as far as a test looks at it."""

    def __init__(self, made: dict[str, Any]) -> None:
        self.made, self.heard, self.saved = made, Heard(), list[int]()
        self.objects = bench(made)
        self.model = self.objects.model
        self.trainer = trainer(self.objects, made, Path(), self.heard)

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        self.trainer.save = lambda: self.saved.append(self.trainer.progress.step)
        self.trainer.train()
        return self.heard.lines

    @cached_property
    def measured(self) -> Evaluation:
        return measure_trained(self.objects, self.made, lambda doing: None)

    @property
    def planned(self) -> PlannedRun:
        return PlannedRun.of(Composition(self.made, identity(self.made, {}), {}))

    def every(self, kind: str) -> int:
        """The first step that has it, beside the first of all."""
        return next(line["step"] for line in self.lines if kind in line and line["step"] > 1)

    def wanted(self) -> list[bool]:
        return [is_wanted(status, self.made) for status in ("done", "failed", None)]

    def shared_out(self) -> tuple[int, int]:
        return shared_out(self.made, 24, cores=8, gpus=0, most=8)

    def instrument(self, quantity: str) -> bool:
        return quantity in self.lines[0].get("instruments", {})


FOUND: dict[str, tuple[Any, Callable[[Done], Any]]] = {
    "depth": (3, lambda run: len(run.model.blocks)),
    "width": (24, lambda run: run.model.embedding.embedding_dim),
    "heads": (8, lambda run: 16 // run.model.blocks[0].attention.shape.head_width),
    "kv_heads": (1, lambda run: run.model.blocks[1].attention.key.out_features % 16 // 8 or None),
    "seq_len": (16, lambda run: run.objects.task.batch(1).inputs.shape[1]),
    "batch_size": (6, lambda run: run.objects.task.batch(1).targets.shape[0]),
    "accumulate": (2, lambda run: run.trainer.passes.accumulate),
    "steps": (5, lambda run: run.lines[-1]["step"]),
    "lr": (0.3, lambda run: run.lines[0]["lr"]),
    "clip": (0.01, lambda run: run.trainer.settings.clip),
    "dropout": (0.25, lambda run: dropped(run.model)),
    "tied": (True, lambda run: run.model.head.weight is run.model.embedding.weight),
    "bias": (False, lambda run: all(has_bias(block) for block in run.model.blocks)),
    "precision": ("bf16", lambda run: run.trainer.passes.precision.name),
    "seed": (7, lambda run: run.objects.task.seed),
    "study": ("other", lambda run: run.planned.directory.parent.name),
    "outputs": ("elsewhere", lambda run: str(run.planned.directory.parents[1])),
    "device": ("meta", lambda run: run.model.embedding.weight.device.type),
    "threads": (3, lambda run: run.shared_out()[1] if run.made["threads"] else None),
    "compile": (True, lambda run: run.trainer.passes.compiled is not run.trainer.passes.forward),
    "parallel": ("ddp", lambda run: "ddp"),  # the only way there is
    "jobs": (2, lambda run: run.shared_out()[0] if run.made["jobs"] else None),
    "rerun": (True, lambda run: run.wanted() == [True, True, True]),
    "retry": (False, lambda run: run.wanted() == [False, True, True]),
    "run.timeout": (9.0, lambda run: job(run.planned, 1).timeout),
    "log.every": (4, lambda run: run.every("gradients")),
    "checkpoint.every": (2, lambda run: run.lines and run.saved[0]),
    "evaluate.every": (2, lambda run: run.every("validation")),
    "evaluate.batches": (2, lambda run: validated(run)),
    "evaluate.windows": (7, lambda run: run.measured.extrapolation.documents.windows),
    "evaluate.lengths": ([1, 3.0], lambda run: [n / 8 for n in run.measured.extrapolation.lengths]),
    "evaluate.protocols": (
        ["sliding-window"],
        lambda run: list(run.measured.extrapolation.protocols or {}),
    ),
    "evaluate.position_probe": (True, lambda run: run.measured.position_probe is not None),
    "evaluate.shuffle": (True, lambda run: run.measured.shuffle is not None),
    "instruments.stream": (False, lambda run: run.instrument("token_cosine")),
    "instruments.attention": (False, lambda run: run.instrument("attention_entropy")),
    "instruments.weights": (False, lambda run: run.instrument("update_ratio")),
    "instruments.logits": (False, lambda run: run.instrument("logit_scale")),
}
"""Another value of each plain key, and where the value is found once it is built and run."""

UNNAMED = {
    *("study", "outputs", "device", "threads", "compile", "parallel", "jobs", "rerun", "retry"),
    *("run.timeout", "checkpoint.every", *(f"instruments.{kind}" for kind in INSTRUMENTS)),
}
"""Keys that change nothing of what comes out, and so no name."""


def dropped(model: nn.Module) -> float:
    """The one probability of all dropout there is, 0 without any."""
    (probability,) = {m.p for m in model.modules() if isinstance(m, nn.Dropout)} or {0.0}
    return probability


def has_bias(block: nn.Module) -> bool:
    return all(m.bias is not None for m in block.modules() if isinstance(m, nn.Linear))


def validated(run: Done) -> int:
    """How many batches a validation takes, and shuffling, and what is judged to be learned."""
    asked: list[int] = []
    task, made = run.objects.task, copy.deepcopy(run.made)
    made["evaluate"]["shuffle"] = True
    validation = task.validation
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task, "validation", lambda count: asked.append(count) or validation(count))
        run.trainer.validate()
        measure_trained(run.objects, made, lambda doing: None)
        batches, lengths = made["evaluate"]["batches"], run.measured.extrapolation
        measure_learning(run.objects, batches, lengths, lambda doing: None)
    (count,) = set(asked)
    assert len(asked) == 3
    return count


@cache
def usual_run() -> Done:
    return Done(config())


def test_every_plain_key_has_a_place_where_it_is_found() -> None:
    assert set(FOUND) == set(flatten(CATALOGUE.defaults()))


@pytest.mark.parametrize("key", FOUND)
def test_every_plain_key_is_found_in_what_is_built_and_run(key: str) -> None:
    value, find = FOUND[key]
    run = Done(config({key: value}))
    assert find(usual_run()) == flatten(usual_run().made)[key]
    assert find(run) == value
    before, names = (identity(config(changes, {}), {}) for changes in ({}, {key: value}))
    if key in UNNAMED:
        assert names == before
    else:
        assert names.name != before.name
        assert (names.arm == before.arm) == (key == "seed")
        assert f"{key}=" in names.name


def test_the_seed_reaches_weights_batches_and_dropout_each_on_its_own() -> None:
    made, reseeded = (config({"seed": seed, "dropout": 0.5}) for seed in (1, 2))
    first, second = bench(made), bench(reseeded)
    for name, weight in first.model.named_parameters():
        if weight.dim() == 2:
            assert not torch.equal(weight, second.model.get_parameter(name)), name
    assert not np.array_equal(first.task.batch(1).inputs, second.task.batch(1).inputs)
    for one, other in zip(first.task.validation(3), second.task.validation(3), strict=True):
        assert np.array_equal(one.inputs, other.inputs)
    losses = []
    for settings in (made, reseeded, made):
        heard = Heard()
        trainer(bench(made), settings, Path(), heard).train()
        losses.append(heard.losses)
    assert losses[0] == losses[2]
    assert losses[0][0] != losses[1][0]
