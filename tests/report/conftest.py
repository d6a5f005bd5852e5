"""Synthetic records: a small factory that writes outputs/<study>/<run>/record.json."""

import json
import math
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ablate.cli import main as ablate
from ablate.record.evaluated import Extrapolation
from ablate.record.parsing import parse
from ablate.record.record import (
    Environment,
    Gradients,
    Loss,
    Record,
    RecordedCorpus,
    ThinnedCurve,
    Timing,
)
from ablate.record.writing import content_of
from ablate.report.runs.collect import Run

LENGTHS = [32, 64, 128, 256, 512]
POSITIONS = {
    "none": {"_target_": "ablate.model.position.base.Position"},
    "learned": {"_target_": "ablate.model.position.additive.Learned", "max_length": 64},
    "rope": {"_target_": "ablate.model.position.rotary.Rope", "base": 10000.0},
    "alibi": {"_target_": "ablate.model.position.bias.Alibi"},
    "sinusoidal": {"_target_": "ablate.model.position.additive.Sinusoidal"},
}
Factory = Callable[..., Path]


def run_report(arguments: list[str]) -> int:
    """The exit code of `ablate report`."""
    return ablate(["report", *arguments])


def make_record(study: str, seed: int, changes: dict[str, Any]) -> Record:
    """A finished run; `changes` are choices, settings or options of choices."""
    choices = {"pos": "rope", "norm": "pre", "warmup": "none", "corpus": "stdlib", "task": "lm"}
    plain = {"depth": 24, "lr": 0.001, "seq_len": 64, "steps": 150, "width": 64}
    options: dict[str, dict[str, Any]] = {"warmup": {}, "norm": {"final": True}}
    for key, value in changes.items():
        group, dot, option = key.partition(".")
        if dot:
            options.setdefault(group, {})[option] = value
        else:
            (choices if key in choices else plain)[key] = value
    name = ",".join(f"{key}={value}" for key, value in changes.items()) or "default"
    depth = plain["depth"]
    return Record(
        run_id=f"{study}/{name},seed={seed}",
        study=study,
        name=f"{name},seed={seed}",
        arm=f"{name}-1f3a9c2e",
        seed=seed,
        status="done",
        label="healthy",
        choices=choices,
        config={
            "pos": POSITIONS[choices["pos"]] | options.get("pos", {}),
            "norm": {"_target_": f"ablate.model.wiring.{choices['norm']}"} | options["norm"],
            "warmup": {"_target_": "ablate.train.schedules.Warmup"} | options["warmup"],
            "corpus": {"_target_": "ablate.data.corpora.Stdlib", "tokenizer": "bytes"},
            "task": {"_target_": "ablate.data.tasks.LanguageModel"},
            **plain,
            "seed": seed,
            "study": study,
            "device": f"cpu:{seed}",
        },
        depth=depth,
        width=plain["width"],
        seq_len=plain["seq_len"],
        batch_size=8,
        steps=plain["steps"],
        steps_done=plain["steps"],
        parameters=1_234_567,
        flops_per_token=7.4e6,
        tokens=76_800,
        corpus=RecordedCorpus(name="stdlib", sha256="ab12", vocabulary=256),
        loss=Loss(
            uniform=math.log(256),
            unigram=3.3,
            first=5.55,
            excess=5.55 - math.log(256),
            final=2.4,
            validation=2.5,
            best=2.5,
        ),
        gradients=Gradients(
            parameters_first=[2.0 ** -(depth - layer) for layer in range(depth)],
            inputs_first=[0.5] * depth,
            parameters_mean=[0.5] * depth,
            inputs_mean=[0.5] * depth,
            clip_fraction=0.0,
        ),
        extrapolation=Extrapolation(
            train_length=64,
            lengths=[*LENGTHS],
            accuracy=[0.4, 0.45, 0.44, 0.41, 0.39],
            nll=[2.2, 2.1, 2.2, 2.3, 2.4],
            retention=[0.9, 1.0, 0.98, 0.9, 0.85],
        ),
        timing=Timing(seconds=42.0, tokens_per_second=1800.0),
        environment=Environment(python="3.11", torch="2.13.0", device="cpu", threads=1),
        curve=ThinnedCurve(steps=[1, 75, 150], loss=[5.55, 3.0, 2.4]),
    )


def make_content(study: str, seed: int, changes: dict[str, Any], **parts: Any) -> dict[str, Any]:
    """The same as JSON; `parts` are keys replaced, maybe by what is no record's.

    `status="failed"`, or `loss__validation=1.5` for a nested one.
    """
    content = content_of(make_record(study, seed, changes))
    for path, value in parts.items():
        group, nested, key = path.partition("__")
        if nested:
            content[group][key] = value
        else:
            content[path] = value
    return content


def make_run(
    changes: dict[str, Any] | None = None, *, study: str = "scout", seed: int = 0, **parts: Any
) -> Run:
    """A run that is on no disk; `parts` as those of `add_run`."""
    record, _ = parse(Record, make_content(study, seed, changes or {}, **parts))
    name = str(record.name)
    return Run(Path(study, name), study, name, record, None, record.label)


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    root = tmp_path / "outputs"
    root.mkdir()
    return root


def write_run(
    outputs: Path,
    changes: dict[str, Any] | None = None,
    *,
    study: str = "scout",
    seed: int = 0,
    **parts: Any,
) -> Path:
    """Write a run below `outputs` and return its folder; `parts` are those of `make_content`."""
    content = make_content(study, seed, changes or {}, **parts)
    directory = outputs / study / re.sub(r"[^\w.,=+-]", "_", content["name"], flags=re.ASCII)
    directory.mkdir(parents=True)
    (directory / "record.json").write_text(json.dumps(content))
    return directory


@pytest.fixture
def add_run(outputs: Path) -> Factory:
    """Write a run into this test's outputs."""
    return partial(write_run, outputs)
