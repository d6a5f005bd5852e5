"""A run that nobody trained: its record and the lines that a training loop would send."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ablate.record.evaluated import Extrapolation
from ablate.record.record import Environment, Gradients, Loss, Record, Timing
from ablate.train.listeners import Listener

UNIFORM = math.log(256)
UNIGRAM = 3.31


def record(**changes: Any) -> Record:
    """A run that has just begun; `changes` are attributes of the record."""
    name = "pos=rope,norm=pre,depth=3,seed=0-1f3a9c2e"
    made = Record(
        run_id=f"first/{name}",
        study="first",
        name=name,
        status="running",
        choices={"pos": "rope", "norm": "pre", "warmup": "none"},
        config={
            "pos": {"_target_": "somewhere.Rotary", "base": 10000.0},
            "norm": {"_target_": "somewhere.Pre", "final": True},
            "warmup": {"_target_": "somewhere.NoWarmup"},
            "depth": 3,
            "lr": 1e-3,
            "clip": None,
            "tied": False,
            "seed": 0,
            "study": "first",
            "outputs": "outputs",
            "device": "auto",
            "log": {"every": 10},
        },
        depth=3,
        seq_len=64,
        batch_size=16,
        steps=40,
        steps_done=0,
        parameters=1_219_840,
        loss=Loss(uniform=UNIFORM, unigram=UNIGRAM, unigram_train=UNIGRAM),
        environment=Environment(device="cpu"),
    )
    return replace(made, **changes)


def finished(**changes: Any) -> Record:
    """The same run at its end."""
    done: dict[str, Any] = {
        "status": "done",
        "label": "healthy",
        "steps_done": 40,
        "loss": Loss(
            uniform=UNIFORM,
            unigram=UNIGRAM,
            unigram_train=UNIGRAM,
            first=5.68,
            excess=5.68 - UNIFORM,
            final=2.251,
            validation=2.312,
            spike_score=0.025,
        ),
        "gradients": Gradients(parameters_first=[0.2, 0.3, 0.4], inputs_first=[0.01, 0.02, 0.04]),
        "extrapolation": Extrapolation(
            train_length=64,
            lengths=[32, 64, 128, 256, 512],
            accuracy=[0.31, 0.33, 0.25, None, None],
            nll=[2.4, 2.3, 3.0, None, None],
            retention=[0.9, 1.0, 0.6, None, None],
        ),
        "timing": Timing(seconds=61.2, tokens_per_second=12300.0, total_seconds=90.0),
    }
    return record(**done | changes)


def loss_at(step: int) -> float:
    return 2.3 + 3.38 * math.exp(-(step - 1) / 10)


def line(step: int, depth: int = 3, **changes: Any) -> dict[str, Any]:
    norms = [0.1 * block + 0.001 * step for block in range(1, depth + 1)]
    made = {
        "step": step,
        "loss": loss_at(step),
        "lr": 1e-3,
        "tokens": step * 1024,
        "grad_norm": 1.5,
        "clipped": False,
        "gradients": {"parameters": norms, "inputs": [norm / 10 for norm in norms]},
        "instruments": {
            "stream_rms": [1.0 + block for block in range(depth)],
            "token_cosine": [0.5] * depth,
            "attention_max": [[3.0, 4.0 + block] for block in range(depth)],
            "attention_entropy": [[1.0, 2.0]] * depth,
            "update_ratio": [0.01] * depth,
            "logit_scale": 0.55,
            "logit_max": 2.5,
        },
        "seconds": 0.1 * step,
        "tokens_per_second": 10240.0,
    }
    return made | changes


def train(listeners: Sequence[Listener], first: int, last: int) -> None:
    """Send what a loop sends for the steps first..last, a line every tenth step."""
    for step in range(first, last + 1):
        for listener in listeners:
            listener.step(step, loss_at(step))
        if step == 1 or step % 10 == 0:
            for listener in listeners:
                listener.validate(step, loss_at(step) + 0.1)
                listener.log(line(step))
