"""One run in its directory, from an empty folder to a finished record."""

import logging
import math
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
import yaml

import ablate
from ablate import labels, record
from ablate.build import Bench, build, build_corpus
from ablate.config import Identity
from ablate.evaluate.extrapolation import extrapolate
from ablate.model.transformer import count_parameters, flops_per_token
from ablate.sweep.lock import hold
from ablate.train.listeners import Listener
from ablate.train.loop import Progress, Settings, Stopped, Trainer

OWN_FILES = ("checkpoint.pt", "curves.jsonl", "record.json", "run.log", "events.out.tfevents.*")


@dataclass(frozen=True)
class Order:
    """What to run and where."""

    config: dict[str, Any]
    identity: Identity
    directory: Path


def execute(
    order: Order, listeners: Callable[[Order], Sequence[Listener]], stop: Callable[[], bool]
) -> dict[str, Any]:
    """Do a run, or the rest of it, and return its record.

    Whatever ends the run ends in the record: a failure is caught, its traceback goes to run.log
    and the record says `failed`. Raises Stopped after recording `interrupted` when `stop` becomes
    true, and lock.Busy where another process has the directory.
    """
    directory = order.directory
    directory.mkdir(parents=True, exist_ok=True)
    with hold(directory), logged(directory) as log:
        if order.config["rerun"]:
            clear(directory)
        result = first_record(order)
        told = Told(listeners(order), log, stop)
        try:
            record.write(directory, result)
            text = yaml.safe_dump(order.config, sort_keys=False, allow_unicode=True)
            (directory / "config.yaml").write_text(text, encoding="utf-8")
            train_and_measure(order, result, told)
        except Stopped:
            finish(result, "interrupted", None)
            raise
        except Exception as error:
            log.exception("the run failed")
            finish(result, "failed", f"{type(error).__name__}: {error}".split("\n")[0])
        finally:
            record.write(directory, result)
            told.finish(result)
        return result


class Told:
    """The listeners of a run, the log and the user's wish to stop, as one."""

    def __init__(
        self, listeners: Sequence[Listener], log: logging.Logger, stop: Callable[[], bool]
    ) -> None:
        self.listeners, self.log, self.stop = listeners, log, stop
        self.started = False

    def start(self, result: dict[str, Any], resumed_at: int) -> None:
        """The first step is next."""
        self.log.info("starting after step %d of %d", resumed_at, result["steps"])
        self.started = True
        for listener in self.listeners:
            listener.start(result, resumed_at)

    def message(self, text: str) -> None:
        """Say what is being done, and raise Stopped where the user wants to stop."""
        if self.stop():
            raise Stopped
        if text:
            self.log.info(text)
            for listener in self.listeners:
                listener.message(text)

    def finish(self, result: dict[str, Any]) -> None:
        """The run is over; listeners that never heard of its start hear nothing."""
        self.log.info("%s", result["status"])
        if self.started:
            for listener in self.listeners:
                listener.finish(result)


def train_and_measure(order: Order, result: dict[str, Any], told: Told) -> None:
    """Build, train and evaluate; fills `result` with whatever was reached."""
    config = order.config
    if config["threads"]:
        torch.set_num_threads(config["threads"])
    corpus = build_corpus(config, progress=told.message)
    bench = build(config, corpus)
    describe(result, bench, config)
    trainer = make_trainer(bench, config, order.directory, told.listeners, told.stop)
    resumed_at = trainer.restore()
    record.write(order.directory, result)
    told.start(result, resumed_at)
    try:
        finite = trainer.train()
    finally:
        trainer.gradient_norms.detach()
        measure_training(result, trainer.progress, config)
    result["extrapolation"] = extrapolate(
        bench.model,
        bench.task,
        multiples=config["evaluate"]["lengths"],
        windows=config["evaluate"]["windows"],
        batch_tokens=config["batch_size"] * config["seq_len"],
        check=told.message,
    )
    diverged = not finite or result["label"] == "diverged"
    finish(result, "diverged" if diverged else "done", None)


def make_trainer(
    bench: Bench,
    config: Mapping[str, Any],
    directory: Path,
    listeners: Sequence[Listener],
    stop: Callable[[], bool],
) -> Trainer:
    """The trainer of a run."""
    settings = Settings(
        steps=config["steps"],
        seed=config["seed"],
        clip=config["clip"],
        log_every=config["log"]["every"],
        checkpoint_every=config["checkpoint"]["every"],
        evaluate_every=config["evaluate"]["every"],
        validation_batches=config["evaluate"]["batches"],
    )
    return Trainer(
        bench.model,
        list(bench.model.blocks),
        bench.optimizer,
        bench.schedule,
        bench.task,
        settings,
        directory,
        listeners,
        stop,
    )


def first_record(order: Order) -> dict[str, Any]:
    """A record that has every key of schema 1 before anything is known."""
    config, identity = order.config, order.identity
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
            ("uniform", "unigram", "first", "excess", "final", "validation", "best")
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
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "finished": None,
        },
        "environment": environment(config),
    }


def describe(result: dict[str, Any], bench: Bench, config: Mapping[str, Any]) -> None:
    """Fill in what is known once the objects are built."""
    corpus = bench.corpus
    result["parameters"] = count_parameters(bench.model)
    result["flops_per_token"] = flops_per_token(bench.model)
    result["corpus"] = {
        "name": corpus.name,
        "sha256": corpus.sha256,
        "tokens_train": len(corpus.train),
        "tokens_validation": len(corpus.validation),
        "vocabulary": corpus.vocabulary,
    }
    result["loss"]["uniform"] = bench.task.uniform
    result["loss"]["unigram"] = bench.task.unigram()
    device = bench.model.embedding.weight.device
    result["environment"]["device"] = (
        torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    )


def measure_training(result: dict[str, Any], progress: Progress, config: Mapping[str, Any]) -> None:
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
    result["label"] = labels.label(losses, uniform=loss["uniform"], unigram=loss["unigram"])
    stride = -(-len(losses) // 200)
    result["curve"] = {
        "steps": list(range(1, len(losses) + 1, stride)),
        "loss": losses[::stride],
    }
    profiles = max(progress.profiles, 1)
    result["gradients"] = {
        "parameters_first": progress.parameters_first,
        "inputs_first": progress.inputs_first,
        "parameters_mean": [v / profiles for v in progress.parameters_sum],
        "inputs_mean": [v / profiles for v in progress.inputs_sum],
        "clip_fraction": progress.clipped / progress.step,
    }


def finish(result: dict[str, Any], status: str, error: str | None) -> None:
    """Note how the run ended."""
    result["status"], result["error"] = status, error
    result["timing"]["finished"] = datetime.now(UTC).isoformat(timespec="seconds")


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


def git_version() -> str | None:
    """The commit of a checkout of ablate, with "+" when files differ from it; else None."""
    home = Path(ablate.__file__).resolve().parent.parent
    if not (home / ".git").exists():
        return None
    command = ["git", "-C", str(home), "describe", "--always", "--dirty=+", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def clear(directory: Path) -> None:
    """Remove what an earlier run left, and nothing else."""
    for pattern in OWN_FILES:
        for path in directory.glob(pattern):
            path.unlink()


class logged:  # noqa: N801
    """Context: a logger that writes run.log in a run's directory."""

    def __init__(self, directory: Path) -> None:
        self.logger = logging.getLogger(f"ablate.run.{directory.name}")
        self.handler = logging.FileHandler(directory / "run.log", encoding="utf-8")

    def __enter__(self) -> logging.Logger:
        form = logging.Formatter("%(asctime)s %(levelname)s %(message)s")
        self.handler.setFormatter(form)
        self.logger.setLevel(logging.INFO)
        self.logger.propagate = False
        self.logger.addHandler(self.handler)
        self.logger.info("ablate %s: %s", ablate.__version__, " ".join(sys.argv))
        return self.logger

    def __exit__(self, *exception: object) -> None:
        self.logger.removeHandler(self.handler)
        self.handler.close()
