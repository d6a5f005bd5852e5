"""The trainer of a run, from its config and its objects."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ablate.build import Bench, build_instruments, build_optimizer
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
    optimizer, looked_at = bench.optimizer, dict(config)
    if processes.spread.sharded:
        processes.spread.shard(bench.model)
        optimizer = build_optimizer(config, bench.model)  # its parameters are others now
        # Of sharded weights the first process has a share alone.
        looked_at["instruments"] = {**config["instruments"], "weights": False}
    return Trainer(
        bench.model,
        list(bench.model.blocks),
        optimizer,
        bench.schedule,
        bench.task,
        settings,
        directory,
        listeners,
        stop,
        [] if processes.rank else build_instruments(looked_at, bench.model),
        processes,
    )
