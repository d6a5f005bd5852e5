"""Kill a run at random moments and go on, until it is done: python scripts/kill_and_resume.py.

In each round a small run is killed with SIGKILL, again and again, and begun again; in the end its
curves, weights and record must be those of a run that was never stopped, bit by bit. Half of the
kills come at a random time, and half around a write: halfway through a checkpoint, or just before
or after a file is flushed to disk or put into its place. Prints how many kills were survived.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import torch

from ablate.config.compose import Composer
from ablate.run.execute import execute
from ablate.run.planned import PlannedRun, stamp
from ablate.sweep.pool.launch import warm_up
from ablate.train.listeners import Curves

CHANCE = ("seconds", "tokens_per_second", "busy", "timing", "git")  # the time, and who commits
RUN = (
    *("depth=2", "width=16", "heads=2", "seq_len=16", "batch_size=4", "steps=40", "dropout=0.1"),
    *("corpus=text", "evaluate.batches=1", "evaluate.windows=2", "evaluate.lengths=[1]"),
    *("log.every=1", "checkpoint.every=5", "evaluate.every=15", "instruments.attention=false"),
)
OFTEN = 6  # kills of one run at most; then it may end


def train(planned: PlannedRun, crash: int | None) -> None:
    """Do the run in this process, up to the `crash`-th moment around a write."""
    torch.set_num_threads(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    if crash is not None:
        arm(crash)
    execute(planned, [Curves(planned.directory)], lambda: False)


def arm(crash: int) -> None:
    """Let this process kill itself at the `crash`-th moment around a write."""
    moments = itertools.count(1)

    def moment() -> None:
        if next(moments) == crash:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(act: Callable[..., Any]) -> Callable[..., Any]:
        def acts(*arguments: Any) -> Any:
            moment()
            result = act(*arguments)
            moment()
            return result

        return acts

    save = torch.save

    def save_in_halves(state: Any, file: Any) -> None:
        buffer = BytesIO()
        save(state, buffer)
        content = buffer.getvalue()
        file.write(content[: len(content) // 2])
        file.flush()
        moment()
        file.write(content[len(content) // 2 :])

    torch.save = save_in_halves
    os.fsync = around(os.fsync)
    Path.replace = around(Path.replace)  # type: ignore[method-assign]


def attempt(planned: PlannedRun, crash: int | None, patience: float | None) -> int:
    """One process on the run, killed after `patience` seconds at the latest; its exit code."""
    process = multiprocessing.get_context("forkserver").Process(target=train, args=(planned, crash))
    process.start()
    process.join(patience)
    process.kill()
    process.join()
    return process.exitcode or 0


def remains(directory: Path) -> dict[str, Any]:
    """What a run leaves in its folder, without what may depend on when it was killed."""

    def timeless(tree: Any) -> Any:
        if isinstance(tree, dict):
            return {k: timeless(v) for k, v in tree.items() if k not in CHANCE}
        if isinstance(tree, list | tuple):
            return [timeless(v) for v in tree]
        return tree.numpy().tobytes() if isinstance(tree, torch.Tensor) else tree

    curves = (directory / "curves.jsonl").read_text().splitlines()
    return {
        "curves": [timeless(json.loads(line)) for line in curves],
        "record": timeless(json.loads((directory / "record.json").read_text())),
        "checkpoint": timeless(torch.load(directory / "checkpoint.pt", weights_only=True)),
        "files": sorted(path.name for path in directory.iterdir()),
    }


def differences(a: Any, b: Any, path: str = "") -> list[str]:
    """Where two trees differ."""
    if isinstance(a, dict) and isinstance(b, dict) and set(a) == set(b):
        return [line for key in a for line in differences(a[key], b[key], f"{path}/{key}")]
    return [] if a == b else [path]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=20, help="runs brought to their end")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warm_up()
    draw = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        os.environ["ABLATE_CACHE"] = str(folder / "cache")
        text = "\n".join("".join(draw.choices("abcdefgh ", k=40)) for _ in range(500))
        (folder / "words.txt").write_text(text)
        composer = Composer()
        with composer.session():
            config, identity = composer.one([*RUN, f"corpus.files={folder / 'words.txt'}"])

        def run(name: str) -> PlannedRun:
            return PlannedRun(config, identity, folder / name, stamp=stamp(folder / name))

        attempt(run("first"), None, None)  # fills the token cache
        began = time.monotonic()
        attempt(run("whole"), None, None)
        usual = time.monotonic() - began
        expected = remains(folder / "whole")
        assert expected["record"]["status"] == "done", expected["record"]
        kills = {"at a random time": 0, "around a write": 0}
        for round_ in range(options.rounds):
            name = f"round {round_}"
            for _ in range(OFTEN):
                if draw.random() < 0.5:
                    code, how = attempt(run(name), None, draw.uniform(0, usual)), 0
                else:
                    code, how = attempt(run(name), draw.randint(1, 30), None), 1
                if code == 0:
                    break
                assert code == -signal.SIGKILL, code
                kills[list(kills)[how]] += 1
            else:
                attempt(run(name), None, None)
            different = differences(expected, remains(folder / name))
            assert not different, f"{name}, seed {options.seed}: {different[:5]} differ"
    words = ", ".join(f"{count} {how}" for how, count in kills.items())
    print(
        f"{options.rounds} runs, killed {sum(kills.values())} times ({words}): all ended the same"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
