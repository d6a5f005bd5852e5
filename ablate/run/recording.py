"""What a run knows about itself, put into its record piece by piece."""

import math
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ablate
from ablate.build import Bench, facts
from ablate.config.identity import Identity
from ablate.data.tasks import IGNORED
from ablate.judge import labels
from ablate.model.transformer import count_parameters, flops_per_token
from ablate.record import record
from ablate.record.version import git_version
from ablate.train.listeners import read_curves
from ablate.train.measures import slope
from ablate.train.memory import TrainingMemory


def first_record(config: Mapping[str, Any], identity: Identity) -> dict[str, Any]:
    """A record that has every key of schema 1 before anything is known."""
    sizes = ("depth", "width", "heads", "seq_len", "batch_size", "steps")
    return {
        "schema": record.SCHEMA,
        "run_id": f"{config['study']}/{identity.name}",
        "study": config["study"],
        "name": identity.name,
        "arm": identity.arm,
        "seed": config["seed"],
        "status": "running",
        "label": None,
        "error": None,
        "choices": identity.choices,
        "config": config,
        **{key: config[key] for key in sizes},
        "steps_done": 0,
        "parameters": None,
        "flops_per_token": None,
        "tokens": 0,
        "corpus": None,
        "loss": dict.fromkeys(
            (
                "uniform",
                "unigram",
                "unigram_train",
                "targets",
                "repeats",
                "first",
                "excess",
                "final",
                "validation",
                "best",
                "spike_score",
                "spike_max",
            )
        ),
        "gradients": {
            "parameters_first": None,
            "inputs_first": None,
            "parameters_mean": None,
            "inputs_mean": None,
            "clip_fraction": None,
        },
        "extrapolation": None,
        "timing": {
            "seconds": None,
            "tokens_per_second": None,
            "total_seconds": None,
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "finished": None,
        },
        "environment": environment(config),
    }


def describe(result: dict[str, Any], bench: Bench, config: Mapping[str, Any]) -> None:
    """Fill in what is known once the objects are built."""
    result["facts"] = facts(config, bench.model.position)
    result["parameters"] = count_parameters(bench.model)
    result["flops_per_token"] = flops_per_token(bench.model)
    result["corpus"] = asdict(bench.task.source)
    result["loss"]["uniform"] = bench.task.uniform
    result["loss"]["unigram"] = bench.task.unigram()
    result["loss"]["unigram_train"] = bench.task.unigram_train()
    targets = bench.task.batch(1).targets
    counts = np.unique(targets[targets != IGNORED], return_counts=True)[1]
    result["loss"]["targets"] = int(counts.sum())
    result["loss"]["repeats"] = float(np.square(counts / counts.sum()).sum())
    device = bench.model.embedding.weight.device
    result["environment"]["device"] = (
        torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    )


def measure_training(
    result: dict[str, Any], progress: TrainingMemory, config: Mapping[str, Any]
) -> None:
    """Fill in what the training curve says; non-finite numbers become null when written."""
    losses, loss = progress.losses, result["loss"]
    result["steps_done"] = progress.step
    result["tokens"] = progress.step * config["batch_size"] * config["seq_len"]
    result["timing"]["seconds"] = progress.seconds
    result["timing"]["tokens_per_second"] = result["tokens"] / max(progress.busy, 1e-9)
    if not losses:
        return
    tail = losses[-max(1, len(losses) // 10) :]
    loss["first"] = losses[0]
    loss["excess"] = losses[0] - loss["uniform"]
    loss["final"] = math.fsum(tail) / len(tail)
    loss["validation"], loss["best"] = progress.validation, progress.best
    result["label"] = labels.label(
        losses,
        uniform=loss["uniform"],
        unigram=loss["unigram_train"],
        targets=loss["targets"],
    )
    loss["spike_score"], loss["spike_max"] = labels.spike_score(losses, loss["targets"])
    stride = -(-len(losses) // 200)
    result["curve"] = {
        "steps": list(range(1, len(losses) + 1, stride)),
        "loss": losses[::stride],
    }
    result["gradients"] = {
        **gradient_profiles(progress),
        "clip_fraction": progress.clipped / progress.step,
    }
    result["instruments"] = {
        name: depth_profile(kept) for name, kept in progress.instruments.items()
    }


def gradient_profiles(progress: TrainingMemory) -> dict[str, Any]:
    """Gradient norms by block at the first logged step, on average and at the last, with slopes.

    A slope is that of the logarithm over depth, a block.
    """
    found: dict[str, Any] = {}
    profiles = max(progress.profiles, 1)
    for name, first, total, last in (
        (
            "parameters",
            progress.parameters_first,
            progress.parameters_sum,
            progress.parameters_last,
        ),
        ("inputs", progress.inputs_first, progress.inputs_sum, progress.inputs_last),
    ):
        found[f"{name}_first"] = first
        found[f"{name}_mean"] = [value / profiles for value in total]
        found[f"{name}_last"] = last
        found[f"{name}_slope_first"], found[f"{name}_slope_last"] = slope(first), slope(last)
    return found


def depth_profile(kept: Mapping[str, Any]) -> dict[str, Any]:
    """A quantity, by block but of the head, at the first logged step, on average and at the last.

    Where a block has one number, also the slopes of its logarithm over depth, a block.
    """
    profile = {"first": kept["first"], "mean": mean(kept["sum"], kept["count"])}
    profile["last"] = kept["last"]
    if isinstance(kept["first"], list) and not isinstance(kept["first"][0], list):
        profile["slope_first"] = slope(kept["first"])
        profile["slope_last"] = slope(kept["last"])
    return profile


def mean(total: Any, count: int) -> Any:
    """Nested lists of sums, each divided by `count`."""
    return [mean(t, count) for t in total] if isinstance(total, list) else total / count


def finish(result: dict[str, Any], status: str, error: str | None) -> None:
    """Note how the run ended, and how long it took with all that is not training."""
    result["status"], result["error"] = status, error
    timing, now = result["timing"], datetime.now(UTC)
    if timing.get("finished") is None:
        with suppress(TypeError, ValueError):  # of a record that someone changed
            spent = (now - datetime.fromisoformat(timing.get("started"))).total_seconds()
            timing["total_seconds"] = (timing.get("total_seconds") or 0.0) + spent
    timing["finished"] = now.isoformat(timespec="seconds")


def close_record(
    config: Mapping[str, Any], identity: Identity, directory: Path, status: str, why: str
) -> None:
    """Note in the record and the log of a run that its process died, and why.

    What the record does not know yet is taken from the curves. Raises OSError.
    """
    found, _ = record.read(directory)
    result = found or first_record(config, identity)
    lines = read_curves(directory / "curves.jsonl")
    if lines:
        last = lines[-1]
        result["steps_done"], result["tokens"] = last["step"], last.get("tokens")
        result["timing"]["seconds"] = last.get("seconds")
        if lines[0]["step"] == 1:
            result["loss"]["first"] = lines[0].get("loss")
    finish(result, status, why if status == "failed" else None)
    record.write(directory, result)
    with (directory / "run.log").open("a", encoding="utf-8") as file:
        file.write(f"{datetime.now():%Y-%m-%d %H:%M:%S} ERROR {why}\n")


def environment(config: Mapping[str, Any]) -> dict[str, Any]:
    """Versions and machine, as far as numbers may depend on them."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "device": config["device"],
        "threads": config["threads"] or torch.get_num_threads(),
        "git": git_version(),
        "ablate": ablate.__version__,
    }
