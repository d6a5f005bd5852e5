"""CPU seconds and memory of planning, skipping and reporting: python scripts/scale.py [RUNS ...].

The records are that of one tiny run, with names, settings and losses of each run of a grid, so that
what is measured is what surrounds the runs and not the runs.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ablate.config.compose import Composer
from ablate.run.planned import PlannedRun
from ablate.sweep.arguments import separate
from ablate.sweep.plan import Product

TINY = ("width=16", "heads=2", "seq_len=16", "batch_size=4", "steps=12", "evaluate.windows=4")
SIZES = {1000: (5, 2), 3000: (10, 3), 10_000: (10, 10)}
"""Runs → how many learning rates and depths, beside 5 schemes, 2 norms, 2 warmups and 5 seeds."""


def line(runs: int) -> list[str]:
    """The overrides of a sweep of so many runs."""
    rates, depths = SIZES[runs]
    return [
        *TINY,
        "pos=rope,none,alibi,learned,sinusoidal",
        "norm=pre,post",
        "warmup=none,linear",
        f"lr={','.join(f'{k + 1}e-4' for k in range(rates))}",
        f"depth={','.join(str(k + 1) for k in range(depths))}",
        "seed=0,1,2,3,4",
        "study=many",
    ]


def finish(planned: PlannedRun, template: str) -> None:
    """Write the record of a run that was never done."""
    content = json.loads(template)
    settings = planned.config
    content |= {"name": planned.identity.name, "arm": planned.identity.arm, "study": "many"}
    content |= {"seed": settings["seed"], "config": settings, "choices": planned.identity.choices}
    chance = random.Random(planned.identity.name)
    content["loss"]["validation"] = 3 + 0.1 * (settings["lr"] > 3e-4) + chance.gauss(0, 0.01)
    planned.directory.mkdir(parents=True)
    (planned.directory / "record.json").write_text(json.dumps(content))


def used(words: Sequence[str], folder: Path) -> tuple[float, float]:
    """CPU seconds and largest memory in megabytes of a command, with `python` before it."""
    with (folder / "output").open("w") as output:
        process = subprocess.Popen(
            [sys.executable, *words], cwd=folder, stdout=output, stderr=output
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)[:200]}: {(folder / 'output').read_text()[-2000:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def scale_rows(runs: int, folder: Path) -> list[dict]:
    """What each command takes with so many runs in a folder, which is empty before."""
    ablate = ("-m", "ablate")
    used([*ablate, "run", *TINY, "depth=2", "study=one"], folder)
    (record,) = folder.glob("outputs/one/*/record.json")
    template = record.read_text()
    sweep = [*ablate, "run", "-m", *line(runs)]
    rows = {"run --plan, of which none is done": used([*sweep, "--plan"], folder)}
    os.chdir(folder)
    arguments = separate(["-m", *line(runs)])
    for planned in Product(arguments, Composer()).plan():
        finish(planned, template)
    rows["run, of which all are done"] = used(sweep, folder)
    report = [*ablate, "report", "outputs/many"]
    rows["report"] = used(report, folder)
    rows["report -o page.html"] = used([*report, "-o", "page.html"], folder)
    rows["report --format json"] = used([*report, "--format", "json"], folder)
    page = (folder / "page.html").stat().st_size / 2**20
    return [
        *({"name": name, "seconds": s, "megabytes": mb} for name, (s, mb) in rows.items()),
        {"name": "the page itself", "seconds": 0.0, "megabytes": page},
    ]


if __name__ == "__main__":
    import tempfile

    for number in map(int, sys.argv[1:] or SIZES):
        with tempfile.TemporaryDirectory() as place:
            for row in scale_rows(number, Path(place)):
                numbers = f"{row['seconds']:>8.1f} s{row['megabytes']:>8.0f} MB"
                print(f"{number:>7,} {row['name']:<36}{numbers}", flush=True)
