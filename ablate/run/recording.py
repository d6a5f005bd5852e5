"""What a run knows about itself, put into its record piece by piece."""

import math
import platform
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

import ablate
from ablate.build import Bench, facts, text_files
from ablate.config.identity import Identity
from ablate.data.tasks import IGNORED
from ablate.evaluate.learned import frequencies_loss
from ablate.judge import labels, spikes
from ablate.judge.first_loss import collision
from ablate.judge.learning import LearningWord, has_learning
from ablate.model.transformer import count_parameters, flops_per_token
from ablate.record import disk, run_files
from ablate.record.curves import read_lines
from ablate.record.record import (
    DepthProfile,
    Environment,
    Gradients,
    Record,
    RecordedCorpus,
    ThinnedCurve,
    Timing,
)
from ablate.record.version import git_version
from ablate.train.instruments import slope
from ablate.train.memory import TrainingMemory


def first_record(config: Mapping[str, Any], identity: Identity) -> Record:
    """The record of a run before anything is known but what it is."""
    return Record(
        run_id=f"{config['study']}/{identity.name}",
        study=config["study"],
        name=identity.name,
        arm=identity.arm,
        seed=config["seed"],
        status="running",
        choices=identity.choices,
        config=dict(config),
        depth=config["depth"],
        width=config["width"],
        heads=config["heads"],
        seq_len=config["seq_len"],
        batch_size=config["batch_size"],
        steps=config["steps"],
        steps_done=0,
        tokens=0,
        timing=Timing(started=datetime.now(UTC).isoformat(timespec="seconds")),
        environment=environment(config),
    )


def describe(record: Record, bench: Bench, config: Mapping[str, Any]) -> None:
    """Fill in what is known once the objects are built."""
    record.facts = facts(config, bench.model.position)
    record.parameters = count_parameters(bench.model)
    record.flops_per_token = flops_per_token(bench.model)
    record.corpus = RecordedCorpus(**asdict(bench.task.source), files=text_files(config))
    record.loss.uniform = bench.task.uniform
    record.loss.unigram = bench.task.unigram()
    record.loss.unigram_train = bench.task.unigram_train()
    record.loss.unigram_windows = frequencies_loss(bench.task, config["evaluate"]["batches"])
    targets = bench.task.batch(1).targets
    counts = np.unique(targets[targets != IGNORED], return_counts=True)[1]
    record.loss.targets = int(counts.sum())
    record.loss.repeats = collision(counts.tolist())
    device = bench.model.embedding.weight.device
    record.environment.device = (
        torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    )


def measure_training(record: Record, progress: TrainingMemory, config: Mapping[str, Any]) -> None:
    """Fill in what the training curve says; non-finite numbers become null when written."""
    losses, loss = progress.losses, record.loss
    record.steps_done = progress.step
    record.tokens = progress.step * config["batch_size"] * config["seq_len"]
    record.timing.seconds = progress.seconds
    record.timing.tokens_per_second = record.tokens / max(progress.busy, 1e-9)
    if not losses or loss.uniform is None or loss.unigram_train is None:
        return
    tail = losses[-max(1, len(losses) // 10) :]
    loss.first = losses[0]
    loss.excess = losses[0] - loss.uniform
    loss.final = math.fsum(tail) / len(tail)
    loss.validation, loss.best = progress.validation, progress.best
    loss.spike_score, loss.spike_max = spikes.spike_score(losses, loss.targets)
    stride = -(-len(losses) // 200)
    record.curve = ThinnedCurve(
        steps=list(range(1, len(losses) + 1, stride)), loss=[*losses[::stride]]
    )
    record.gradients = gradients(progress)
    record.instruments = {name: depth_profile(kept) for name, kept in progress.instruments.items()}


def judge_training(record: Record, progress: TrainingMemory, warmup_steps: int) -> None:
    """Fill in the label of a run that ended: at its last step, or where it diverged."""
    if not progress.finite:
        record.label = "diverged"
        return
    steps = record.steps or 0
    ended = has_learning(steps_done=progress.step, steps=steps, warmup_steps=warmup_steps)
    word = cast("LearningWord | None", record.learning.word)
    record.label = labels.label(
        progress.losses,
        uniform=record.loss.uniform or 0.0,
        learning=word if ended else None,
        targets=record.loss.targets,
    )


def gradients(progress: TrainingMemory) -> Gradients:
    """Gradient norms by block, and how many gradients were clipped."""
    profiles = max(progress.profiles, 1)
    return Gradients(
        parameters_first=[*progress.parameters_first],
        parameters_mean=[value / profiles for value in progress.parameters_sum],
        parameters_last=[*progress.parameters_last],
        parameters_slope_first=slope(progress.parameters_first),
        parameters_slope_last=slope(progress.parameters_last),
        inputs_first=[*progress.inputs_first],
        inputs_mean=[value / profiles for value in progress.inputs_sum],
        inputs_last=[*progress.inputs_last],
        inputs_slope_first=slope(progress.inputs_first),
        inputs_slope_last=slope(progress.inputs_last),
        clip_fraction=progress.clipped / progress.step,
    )


def depth_profile(kept: Mapping[str, Any]) -> DepthProfile:
    """A quantity, by block but of the head, at the first logged step, on average and at the last.

    Where a block has one number, also the slopes of its logarithm over depth, a block.
    """
    profile = DepthProfile(kept["first"], mean(kept["sum"], kept["count"]), kept["last"])
    if isinstance(kept["first"], list) and not isinstance(kept["first"][0], list):
        profile.slope_first = slope(kept["first"])
        profile.slope_last = slope(kept["last"])
    return profile


def mean(total: Any, count: int) -> Any:
    """Nested lists of sums, each divided by `count`."""
    return [mean(t, count) for t in total] if isinstance(total, list) else total / count


def finish(record: Record, status: str, error: str | None, seconds: float | None) -> None:
    """Note how the run ended, and how long it was at work, if known, with all but training too.

    `seconds` are of a monotonic clock: the times of day in the record may have been set meanwhile.
    """
    record.status, record.error = status, error
    if record.timing.finished is None and seconds is not None:
        record.timing.total_seconds = (record.timing.total_seconds or 0.0) + seconds
    record.timing.finished = datetime.now(UTC).isoformat(timespec="seconds")


def close_record(
    config: Mapping[str, Any],
    identity: Identity,
    directory: Path,
    status: str,
    why: str,
    seconds: float | None = None,
) -> None:
    """Note in the record and the log of a run that its process died, and why, after `seconds`.

    What the record does not know yet is taken from the curves. Raises OSError.
    """
    record, _ = disk.read(directory)
    record = record or first_record(config, identity)
    lines = read_lines(directory)
    if lines:
        last = lines[-1]
        record.steps_done, record.tokens = last["step"], last.get("tokens")
        record.timing.seconds = last.get("seconds")
        if lines[0]["step"] == 1:
            record.loss.first = lines[0].get("loss")
    finish(record, status, why if status == "failed" else None, seconds)
    disk.write(directory, record)
    with run_files.append(directory / "run.log") as file:
        file.write(f"{datetime.now():%Y-%m-%d %H:%M:%S} ERROR {why}\n")


def environment(config: Mapping[str, Any]) -> Environment:
    """Versions and machine, as far as numbers may depend on them."""
    return Environment(
        python=platform.python_version(),
        torch=torch.__version__,
        device=config["device"],
        threads=config["threads"] or torch.get_num_threads(),
        git=git_version(),
        ablate=ablate.__version__,
    )
