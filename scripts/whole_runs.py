"""What whole runs cost: their evaluation, what stands around the steps, and eight of them."""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from peers import plain_loop

from ablate.build import build, build_corpus
from ablate.config.compose import Composer
from ablate.evaluate.learned import measure_learning
from ablate.evaluate.trained import measure_trained
from ablate.run.trainer import make_trainer
from ablate.train.distributed import Alone
from ablate.train.listeners import Listener

NOTHING_TO_MEASURE = (
    "steps=1",
    "evaluate.windows=1",
    "evaluate.batches=1",
    "evaluate.lengths=[1]",
    "evaluate.protocols=[]",
)


def composed(overrides: Sequence[str]) -> dict[str, Any]:
    composer = Composer()
    with composer.session():
        config, _ = composer.one(list(overrides))
    return config


class Enough(Exception):
    pass


def versus(name: str, overrides: Sequence[str], rounds: int) -> dict[str, list[float]]:
    """CPU seconds of ten steps of the trainer and of ten of a peer, in turn; {side: [rounds]}.

    The trainer asks between two steps whether it is to stop: there the peer gets its turn. Both
    train on the same batches; the trainer reads all instruments at one step in ten.
    """
    never = 10**9
    settings = ["steps", "checkpoint.every", "evaluate.every"]
    config = composed(["clip=1", *(f"{key}={never}" for key in settings), *overrides])
    bench = build(config, build_corpus(config))
    peer = plain_loop(name, bench.task, config)
    times: dict[str, list[float]] = {"ours": [], "peer": []}
    calls, began = 0, time.process_time()

    def between() -> bool:
        nonlocal calls, began
        calls += 1
        if calls % 10 == 1:
            now = time.process_time()
            times["ours"].append(now - began)
            for _ in range(10):
                peer()
            began = time.process_time()
            times["peer"].append(began - now)
            if len(times["ours"]) > rounds + 2:
                raise Enough
        return False

    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(bench, config, Path(folder), [], between, Alone())
        with suppress(Enough):
            trainer.train()
    # The first of ours is no ten steps, and the first turns are slow.
    return {"ours": times["ours"][3:], "peer": times["peer"][2:-1]}


def evaluation(overrides: Sequence[str]) -> dict[str, float]:
    """CPU seconds of a run's training, and of what is measured once it is trained."""
    config = composed(overrides)
    bench = build(config, build_corpus(config))
    marks = [time.process_time()]
    with tempfile.TemporaryDirectory() as folder:
        make_trainer(bench, config, Path(folder), [Listener()], bool, Alone()).train()
    marks.append(time.process_time())
    measured = measure_trained(bench, config, lambda doing: None)
    batches = config["evaluate"]["batches"]
    measure_learning(bench, batches, measured.extrapolation, lambda doing: None)
    marks.append(time.process_time())
    return {"training": marks[1] - marks[0], "evaluation": marks[2] - marks[1]}


def spent(words: Sequence[str]) -> tuple[float, float]:
    """CPU seconds and seconds of a command and all its processes, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run(words, check=True, capture_output=True, cwd=folder)
        seconds = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return user + system, seconds


def launch(overrides: Sequence[str]) -> dict[str, float]:
    """CPU seconds that a sweep takes at its start, and each of its runs beside its steps."""
    command = [sys.executable, "-m", "ablate", "run", "-m", *NOTHING_TO_MEASURE, *overrides]
    few, many = (spent([*command, f"seed=range(0,{runs})"])[0] for runs in (2, 10))
    each = (many - few) / 8
    return {"a sweep": few - 2 * each, "each run": each}


def sweep(overrides: Sequence[str]) -> dict[str, tuple[float, float]]:
    """CPU seconds and seconds of eight runs, and of a plain GPT trained eight times."""
    command = [sys.executable, "-m", "ablate", "run", "-m", "seed=range(0,8)", *overrides]
    plain = [sys.executable, __file__, *overrides]
    one_by_one = [spent(plain) for _ in range(8)]
    return {
        "ablate, jobs=1": spent([*command, "jobs=1"]),
        "ablate, jobs=2": spent([*command, "jobs=2"]),
        "plain GPT, one by one": (sum(c for c, _ in one_by_one), sum(s for _, s in one_by_one)),
    }


def main() -> None:
    """Train the plain GPT as a run of these overrides would be trained, and do nothing else."""
    config = {**composed(sys.argv[1:]), "clip": 1.0}
    bench = build(config, build_corpus(config))
    torch.set_num_threads(config["threads"] or torch.get_num_threads())
    step = plain_loop("plain GPT", bench.task, config)
    for _ in range(config["steps"]):
        step()


if __name__ == "__main__":
    main()
