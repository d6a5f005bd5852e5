"""How much faster a sweep is when its runs go side by side: python scripts/throughput.py [--json].

The same runs are done with jobs=1, then with one job a core, and for comparison one after another
by Hydra's own launcher in one process; each in a fresh folder, start-up of the command included.
The machine should have nothing else to do: the load before each is printed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUN = ("depth=4", "width=64", "seq_len=64", "batch_size=16", "evaluate.windows=32")


def seconds(overrides: list[str], folder: Path) -> float:
    """Seconds that a command takes; raises where it fails."""
    began = time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "ablate", "run", "-m", *overrides],
        cwd=folder,
        check=True,
        stderr=subprocess.DEVNULL,
    )
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    each = [*RUN, f"steps={options.steps}", f"seed=range(0,{options.runs})"]
    ways = {
        "one after another: jobs=1": ["jobs=1"],
        "one after another, 1 thread: jobs=1 threads=1": ["jobs=1", "threads=1"],
        "in one process: hydra/launcher=basic": ["hydra/launcher=basic"],
        f"side by side: jobs={cores}": [f"jobs={cores}"],
    }
    rows = []
    for name, more in ways.items():
        load = os.getloadavg()[0]
        with tempfile.TemporaryDirectory() as folder:
            rows.append({"way": name, "seconds": seconds([*each, *more], Path(folder))})
        rows[-1] |= {"load before": load, "runs a minute": 60 * options.runs / rows[-1]["seconds"]}
    for row in rows:
        row["ratio"] = row["seconds"] / rows[-1]["seconds"]
    if options.json:
        print(json.dumps({"cores": cores, **vars(options), "ways": rows}, indent=2))
        return
    print(
        f"{options.runs} runs of {options.steps} steps on {cores} cores; ratio: this / side by side"
    )
    for row in rows:
        print(
            f"{row['way']:<48}{row['seconds']:>7.0f} s{row['runs a minute']:>7.1f} runs/min"
            f"{row['ratio']:>7.2f}   (load before {row['load before']:.1f})"
        )


if __name__ == "__main__":
    main()
