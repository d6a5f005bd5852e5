"""The trainer of a run, from its config and its objects."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ablate.build import Bench, build_instruments
from ablate.train.distributed import Processes
from ablate.train.listeners import Listener
from ablate.train.loop import Settings, Trainer


def make_trainer(
    bench: Bench,
    config: Mapping[str, Any],
    directory: Path,
    listeners: Sequence[Listener],
    stop: Callable[[], bool],
    processes: Processes,
) -> Trainer:
    """The trainer of a run, or of one process's part in it."""
    settings = Settings(
        steps=config["steps"],
        seed=config["seed"],
        clip=config["clip"],
        log_every=config["log"]["every"],
        checkpoint_every=config["checkpoint"]["every"],
        evaluate_every=config["evaluate"]["every"],
        validation_batches=config["evaluate"]["batches"],
        accumulate=config["accumulate"],
        precision=config["precision"],
        compiled=config["compile"],
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
        [] if processes.rank else build_instruments(config, bench.model),
        processes,
    )
