"""One run by several processes: what `torchrun ... -m ablate run` starts on each device."""

import os
import threading
import traceback
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch

from ablate.build import build, build_corpus, pick_device
from ablate.config.compose import Composer
from ablate.errors import UserError, in_a_line
from ablate.run.foreground import run_in_foreground
from ablate.run.planned import PlannedRun
from ablate.run.stop import Stop
from ablate.run.trainer import make_trainer
from ablate.shell.stderr import say
from ablate.sweep import command
from ablate.sweep.arguments import separate
from ablate.sweep.outcome import summarise
from ablate.sweep.plan import Product
from ablate.train.distributed import Failed, Meeting, Processes, Several
from ablate.train.loop import Stopped

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
LOCAL = ("LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_USE_AGENT_STORE")
PATIENCE = timedelta(minutes=2)  # for all processes to come, which begin at about the same time
WORTH_SAYING = 5.0  # seconds of waiting


def main(arguments: Sequence[str]) -> int:
    """Take the part of this process in a run; the exit code."""
    meeting = meet()
    return lead(arguments, meeting) if meeting.rank == 0 else follow(meeting)


def meet(patience: timedelta = PATIENCE) -> Meeting:
    """Where the processes of the run meet.

    Raises UserError where there are no others, and says before that that it waits: the variables of
    torchrun may be left over in a shell.
    """
    there = ", ".join(f"{name}={os.environ.get(name, '')}" for name in VARIABLES)
    alone = f"for a run of one process first: unset {' '.join((*VARIABLES, *LOCAL))}"
    words = f"Waiting for the other processes of this run ({there}); {alone}"
    waiting = threading.Timer(WORTH_SAYING, say, [words])
    waiting.daemon = True
    waiting.start()
    try:
        return Meeting.of_environment(patience)
    except (RuntimeError, OSError, ValueError) as error:
        why = f"no other process of this run ({there}): {in_a_line(error)}"
        raise UserError(f"{why}; {alone}") from error
    finally:
        waiting.cancel()


def lead(words: Sequence[str], meeting: Meeting) -> int:
    """Do what `ablate run` does, with the others; they are silent."""
    decision: dict[str, Any] | None = None
    try:
        arguments = separate(words)
        if arguments.help or arguments.asks_hydra:
            return command.main(words)
        product = Product(arguments, Composer(arguments.folders))
        planned = the_run(product, meeting.size)
        if not planned.wanted():
            return command.already_done([planned])
        product.settle([planned])
        take_device(planned.config["device"])
        decision = {"config": planned.config, "directory": str(planned.directory)}
    finally:
        meeting.decide(decision)
    with Stop("Stopping after this step, with a checkpoint.", patient=True) as stop:

        def join(device: torch.device) -> Processes:
            return begin(planned.config, device, meeting, stop)

        try:
            run_in_foreground(planned, stop, join=join)
        except KeyboardInterrupt:
            pass  # its record says so
        finally:
            meeting.fail("it ended")  # releases whoever still waits for it
            meeting.leave()
    return summarise([planned], arguments, {}, interrupted=planned.status() == "interrupted")


def the_run(product: Product, size: int) -> PlannedRun:
    """The one run of a command line; raises UserError where several processes cannot do it."""
    arguments = product.arguments
    if arguments.multirun or arguments.study:
        raise UserError(
            f"{'-m' if arguments.multirun else '--study'}: under torchrun several processes "
            "do one run together; start torchrun for each run, or a sweep without it"
        )
    (planned,) = product.plan()
    config = planned.config
    parts = size * config["accumulate"]
    if config["batch_size"] % parts:
        rows = f"{size} processes" + f" x accumulate={config['accumulate']}" * (parts > size)
        near = max(1, round(config["batch_size"] / parts)) * parts
        raise UserError(
            f"batch_size={config['batch_size']}: must be divisible by {rows}, so that each takes "
            f"equally many rows; the nearest that is is batch_size={near}"
        )
    if config["run"]["timeout"] is not None:
        raise UserError("run.timeout: not heeded under torchrun; use the time limit of its job")
    return planned


def take_device(name: str) -> None:
    """Make the CUDA device of this process the one that `cuda` means; a CPU is shared.

    Raises UserError where the config names one device for all, or there are too few.
    """
    device = pick_device(name)
    if device.type == "mps" or device.index is not None:
        raise UserError(f"device={name}: each process takes its own; use device=cuda or device=cpu")
    if device.type == "cuda":
        here, local = torch.cuda.device_count(), int(os.environ["LOCAL_RANK"])
        wanted = int(os.environ["LOCAL_WORLD_SIZE"])
        if wanted > here:
            raise UserError(f"device={name}: {wanted} processes here, but {here} CUDA devices")
        torch.cuda.set_device(local)


def begin(
    config: Mapping[str, Any], device: torch.device, meeting: Meeting, stop: Stop
) -> Processes:
    """The processes of a run once all are ready; raises Stopped or meeting.Failed."""
    meeting.begin(device, stop.check)
    return Several(device, meeting)


def follow(meeting: Meeting) -> int:
    """Do this process's part of what the first one decides, and say nothing."""
    with Stop("", patient=True) as stop:
        try:
            if decision := meeting.decision(stop.check):
                train_part(decision["config"], Path(decision["directory"]), meeting, stop)
        except (Stopped, Failed, KeyboardInterrupt):
            return 0  # the first process tells of it
        except (Exception, SystemExit) as error:
            heard = meeting.fail(f"{in_a_line(error)}\n{traceback.format_exc()}")
            return 1 if heard else 0
        finally:
            meeting.leave()
    return 0


def train_part(config: Mapping[str, Any], directory: Path, meeting: Meeting, stop: Stop) -> None:
    """Train on this process's rows of every batch."""
    if config["threads"]:
        torch.set_num_threads(config["threads"])
    take_device(config["device"])
    bench = build(config, build_corpus(config))
    device = bench.model.embedding.weight.device
    processes = begin(config, device, meeting, stop)
    trainer = make_trainer(bench, config, directory, [], stop, processes)
    trainer.restore()
    trainer.train()
