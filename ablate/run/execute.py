"""One run in its directory, from an empty folder to a finished record."""

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

import torch
import yaml

import ablate
from ablate.build import build, build_corpus
from ablate.check.checks import unread, warnings
from ablate.errors import UserError, in_a_line
from ablate.evaluate.learned import measure_learning
from ablate.evaluate.trained import measure_trained
from ablate.judge.diagnosis import diagnose
from ablate.record import disk, run_files
from ablate.record.lock import hold
from ablate.record.record import Record
from ablate.record.replaced import replace_file
from ablate.run.planned import PlannedRun, ended_since
from ablate.run.recording import (
    describe,
    finish,
    first_record,
    judge_training,
    measure_training,
)
from ablate.run.trainer import make_trainer
from ablate.train import checkpoints
from ablate.train.distributed import Processes, alone
from ablate.train.gradient import split_warnings
from ablate.train.listeners import Listener
from ablate.train.loop import Stopped
from ablate.train.precision import no_gain

OWN_FILES = ("checkpoint.pt", "curves.jsonl", "record.json", "events.out.tfevents.*")
HALF_WRITTEN = (
    *(".checkpoint.pt.*", ".record.json.*", ".curves.jsonl.*", ".config.yaml.*"),
    ".hydra/.*",
)
"""What a process that was killed while it wrote leaves behind."""


def execute(
    planned: PlannedRun,
    listeners: Sequence[Listener],
    stop: Callable[[], bool],
    join: Callable[[torch.device], Processes] = alone,
) -> Record:
    """Do a run, or the rest of it, and return its record.

    Whatever ends the run ends in the record: a failure is caught, its traceback goes to run.log
    and the record says `failed`. Raises Stopped after recording `interrupted` when `stop` becomes
    true, and lock.Busy where another process has the directory. What another process has ended
    since the run was planned is not done again. `join` brings in the processes that do it together.
    """
    directory = planned.directory
    directory.mkdir(parents=True, exist_ok=True)
    with hold(directory), logged(directory) as log:
        before, _ = disk.read(directory)
        if before and ended_since(directory, planned.stamp):
            return before
        planned.write_hydra_files()
        clear(directory, HALF_WRITTEN)
        if planned.config["rerun"]:
            clear(directory, OWN_FILES)
            before = None
        result = first_record(planned.config, planned.identity)
        if before:
            if before.corpus.sha256:
                result.corpus = before.corpus
            # What is there took its time, and this goes on from it.
            result.timing.total_seconds = before.timing.total_seconds
            result.evaluations = before.evaluations
        audience = Audience(listeners, log, stop)
        try:
            disk.write(directory, result)
            text = yaml.safe_dump(planned.config, sort_keys=False, allow_unicode=True)
            replace_file(directory / "config.yaml", text)
            train_and_measure(planned, result, audience, join)
        except (Stopped, KeyboardInterrupt):
            finish(result, "interrupted", None, audience.seconds())
            raise
        except (Exception, SystemExit) as error:  # a scheme may call sys.exit; the sweep goes on
            log.exception("the run failed")
            finish(result, "failed", in_a_line(error), audience.seconds())
        finally:
            try:
                disk.write(directory, result)
            finally:
                audience.finish(result)
        return result


class Audience:
    """The listeners of a run, the log, the user's wish to stop and a clock, as one."""

    def __init__(
        self, listeners: Sequence[Listener], log: logging.Logger, stop: Callable[[], bool]
    ) -> None:
        self.listeners, self.log, self.stop = listeners, log, stop
        self.started, self.began = False, time.monotonic()

    def start(self, result: Record, resumed_at: int) -> None:
        """The first step is next."""
        self.log.info("starting after step %d of %d", resumed_at, result.steps)
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

    def seconds(self) -> float:
        """For how long this process has been at it."""
        return time.monotonic() - self.began

    def warn(self, texts: Sequence[str]) -> None:
        """Say what looks wrong before the first step."""
        for text in texts:
            self.log.warning(text)
            for listener in self.listeners:
                listener.warn(text)

    def finish(self, result: Record) -> None:
        """The run is over; listeners that never heard of its start hear nothing."""
        self.log.info("%s", result.status)
        if self.started:
            for listener in self.listeners:
                listener.finish(result)


def train_and_measure(
    planned: PlannedRun,
    result: Record,
    audience: Audience,
    join: Callable[[torch.device], Processes],
) -> None:
    """Build, train and evaluate; fills `result` with whatever was reached."""
    config = planned.config
    if config["threads"]:
        torch.set_num_threads(config["threads"])
    corpus = build_corpus(config, progress=audience.message)
    bench = build(config, corpus)
    source = bench.task.source
    begun_with = result.corpus.sha256 or source.sha256
    if begun_with != source.sha256 and (planned.directory / checkpoints.NAME).exists():
        raise UserError(
            f"{source.name} is no longer what this run began with; "
            "bring it back, or rerun=true begins anew"
        )
    describe(result, bench, config)
    suspicions = [] if (planned.directory / checkpoints.NAME).exists() else warnings(bench)
    processes = join(bench.model.embedding.weight.device)
    result.environment.processes = processes.size
    trainer = make_trainer(
        bench, config, planned.directory, audience.listeners, audience.stop, processes
    )
    resumed_at = trainer.restore()
    disk.write(planned.directory, result)
    audience.start(result, resumed_at)
    if not resumed_at:
        audience.warn(suspicions)
        audience.warn(unread(bench, planned.identity.choices))
        audience.warn(
            no_gain(
                bench.model.embedding.weight.device,
                precision=config["precision"],
                compiled=config["compile"],
                steps=config["steps"],
            )
        )
        audience.warn(split_warnings(bench.model, processes.size * config["accumulate"]))
    try:
        trainer.train()
    except RuntimeError as error:
        if failure := processes.failure(error):
            raise RuntimeError(failure) from error
        raise
    finally:
        trainer.detach()
        measure_training(result, trainer.progress, config)
    measured = measure_trained(bench, config, audience.message)
    result.extrapolation = measured.extrapolation
    result.learning = measure_learning(
        bench, config["evaluate"]["batches"], measured.extrapolation, audience.message
    )
    judge_training(result, trainer.progress, bench.schedule.warmup_steps)
    result.position_probe, result.shuffle = measured.position_probe, measured.shuffle
    status = "diverged" if result.label == "diverged" else "done"
    finish(result, status, None, audience.seconds())
    result.diagnosis = diagnose(result)


def clear(directory: Path, patterns: Sequence[str]) -> None:
    """Remove what an earlier process left under these names, and nothing else."""
    for pattern in patterns:
        for path in directory.glob(pattern):
            path.unlink()


class LogFile(logging.StreamHandler[TextIO]):
    """A log that loses a line when the disk is full, and says so to nobody: the run will."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Nothing: logging's own would print a traceback."""


@contextmanager
def logged(directory: Path) -> Iterator[logging.Logger]:
    """A logger that writes run.log in a run's directory."""
    logger = logging.getLogger(f"ablate.run.{directory.name}")
    file = run_files.append(directory / "run.log")
    handler = LogFile(file)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(handler)
    logger.info("ablate %s: %s", ablate.__version__, " ".join(sys.argv))
    try:
        yield logger
    finally:
        logger.removeHandler(handler)
        with suppress(OSError):
            file.close()
