"""Where the time goes, as ratios taken in one run: python scripts/bench.py [WHAT ...] [--json].

WHAT is any of: pos, norm, residual, norm_layer, feed_forward (training-step time of every choice
relative to the default), shell (start-up of the commands relative to importing torch), instruments
(log.every steps with all instruments, which are read once, relative to as many without), peers (the
trainer's CPU time relative to a plain GPT's and other libraries', which the extra [bench] brings),
evaluation (its share of a run), launch (CPU time of a sweep's start and of a run beside its steps),
sweep (eight runs against eight of a plain GPT). Machines
drift, so every round times each candidate once, in turn, and a ratio is the median over rounds of
candidate / reference.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np
import torch
import whole_runs
from peers import installed

from ablate.build import build_instruments, build_model
from ablate.config.catalogue import Catalogue
from ablate.config.compose import Composer
from ablate.config.parts import part
from ablate.errors import UserError
from ablate.model.init import initialise
from ablate.model.transformer import token_loss
from ablate.train.instruments import GradientNorms

REFERENCES = {
    "pos": "none",
    "norm": "pre",
    "residual": "on",
    "norm_layer": "layernorm",
    "feed_forward": "gelu",
}
VOCABULARY = 256
WHOLE = ("evaluation", "launch", "sweep")
"""What is told of whole runs, in lines of its own."""


def stepper(overrides: list[str], instruments: bool = False) -> Callable[..., None]:
    """A function that does one training step of a composed run on random tokens."""
    composer = Composer()
    with composer.session():
        config, _ = composer.one(overrides)
    model = build_model(config, VOCABULARY, causal=True)
    initialise(model, part(config, "init")(), 0)
    optimizer = part(config, "optim")().build(model)
    for group in optimizer.param_groups:
        group["lr"] = 1e-3
    shape = (config["batch_size"], config["seq_len"] + 1)
    tokens = torch.from_numpy(np.random.default_rng(0).integers(0, VOCABULARY, shape))
    attached = [*build_instruments(config, model)] if instruments else []
    norms = GradientNorms(model.blocks) if instruments else None

    def step(reads: bool = False) -> None:
        for instrument in attached:
            instrument.active = reads
        if norms:
            norms.active = reads
        optimizer.zero_grad(set_to_none=True)
        token_loss(model(tokens[:, :-1]), tokens[:, 1:]).backward()
        if norms and reads:
            norms.parameters()
            norms.inputs()
        with ExitStack() as around:
            for instrument in attached if reads else []:
                around.enter_context(instrument.around_update())
            optimizer.step()
        for instrument in attached if reads else []:
            instrument.read()

    return step


def several(step: Callable[..., None], steps: int, reads: bool) -> Callable[[], None]:
    """`steps` training steps, of which the first reads the instruments, if there are any."""

    def act() -> None:
        step(reads)
        for _ in range(steps - 1):
            step()

    return act


def ratios(candidates: dict[str, Callable[[], None]], reference: str, rounds: int) -> list[dict]:
    """Time each candidate once a round; its median ratio to the reference of the same round."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in range(rounds + 2):
        for name, act in candidates.items():
            began = time.perf_counter()
            act()
            if turn >= 2:
                times[name].append(time.perf_counter() - began)
    base = times[reference]
    rows = []
    for name, seconds in times.items():
        quotients = [t / b for t, b in zip(seconds, base, strict=True)]
        low, middle, high = np.quantile(quotients, [0.25, 0.5, 0.75]).tolist()
        rows.append(
            {
                "name": name,
                "milliseconds": 1000 * statistics.median(seconds),
                "ratio": middle,
                "quartiles": [low, high],
            }
        )
    return sorted(rows, key=lambda row: row["ratio"])


def group_rows(group: str, extra: list[str], rounds: int) -> list[dict]:
    """Step time of every choice of a group relative to its reference."""
    candidates: dict[str, Callable[[], None]] = {}
    refused = []
    for name in Catalogue().names(group):
        try:
            candidates[name] = stepper([f"{group}={name}", *extra])
        except UserError as error:
            refused.append({"name": name, "refused": str(error)})
    return [*ratios(candidates, REFERENCES[group], rounds), *refused]


def peer_rows(extra: list[str], rounds: int) -> list[dict]:
    """CPU time of the trainer's step relative to that of each peer and, by scheme, of the GPT."""
    pairs = [("plain GPT", pos) for pos in ("none", "alibi", "rope")]
    pairs += [(name, "none") for name in installed() if name != "plain GPT"]
    rows = []
    for name, pos in pairs:
        times = whole_runs.versus(name, [f"pos={pos}", *extra], rounds)
        quotients = [a / b for a, b in zip(times["ours"], times["peer"], strict=True)]
        low, middle, high = statistics.quantiles(quotients, n=4)
        rows.append(
            {
                "name": f"pos={pos} / {name}",
                "milliseconds": 100 * statistics.median(times["ours"]),
                "ratio": middle,
                "quartiles": [low, high],
            }
        )
    return rows


def cost_lines(what: str, extra: list[str]) -> list[str]:
    """What whole runs cost, a line each."""
    if what == "launch":
        return [f"{k:<24}{v:>8.2f} CPU s" for k, v in whole_runs.launch(extra).items()]
    if what == "sweep":
        rows = whole_runs.sweep(extra).items()
        return [f"{k:<24}{cpu:>8.1f} CPU s{wall:>8.1f} s" for k, (cpu, wall) in rows]
    spent = whole_runs.evaluation(extra)
    share = spent["evaluation"] / sum(spent.values())
    lines = [f"{k:<24}{v:>8.2f} CPU s" for k, v in spent.items()]
    return [*lines, f"{'share of both':<24}{share:>8.2f}"]


def reason(group: str, row: dict) -> str:
    """Why a choice takes more than 1.3 times the reference, as its file says."""
    if group not in REFERENCES or row["ratio"] <= 1.3:
        return ""
    choice = Catalogue().choice(group, row["name"])
    return f"   {choice.facts.get('slower', 'no reason known')}" if choice else ""


def shell_rows(rounds: int) -> list[dict]:
    """Start-up time of commands relative to importing torch."""

    def command(*words: str) -> Callable[[], None]:
        return lambda: (subprocess.run(words, check=True, capture_output=True), None)[1]

    python, module = sys.executable, ["-m", "ablate"]
    return ratios(
        {
            "import torch": command(python, "-c", "import torch"),
            "ablate --help": command(python, *module, "--help"),
            "ablate run --help": command(python, *module, "run", "--help"),
            "ablate list": command(python, *module, "list"),
            "ablate report --help": command(python, *module, "report", "--help"),
        },
        "import torch",
        rounds,
    )


def main() -> None:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", default=["pos", "norm"])
    parser.add_argument("--set", nargs="*", default=["depth=4"], help="overrides for all")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    tables: dict[str, list[dict]] = {}
    for what in options.what:
        if what in REFERENCES:
            tables[what] = group_rows(what, options.set, options.rounds)
        elif what == "shell":
            tables[what] = shell_rows(min(options.rounds, 7))
        elif what == "instruments":
            every = Catalogue().defaults()["log"]["every"]
            pair = {
                "without": several(stepper(options.set), every, reads=False),
                "with": several(stepper(options.set, instruments=True), every, reads=True),
            }
            tables[what] = ratios(pair, "without", options.rounds)
        elif what == "peers":
            tables[what] = peer_rows(options.set, options.rounds)
        elif what in WHOLE:
            print("\n".join([f"\n{what}", *cost_lines(what, options.set)]))
        else:
            more = ("shell", "instruments", "peers", *WHOLE)
            parser.error(f"{what}: choose from {', '.join((*REFERENCES, *more))}")
    if options.json:
        print(json.dumps(tables, indent=2))
        return
    for what, rows in tables.items():
        print(f"\n{what:<40}{'ms':>8}{'ratio':>8}   quartiles")
        for row in rows:
            if "refused" in row:
                print(f"{row['name']:<40}{row['refused']}")
                continue
            low, high = row["quartiles"]
            numbers = f"{row['milliseconds']:>8.1f}{row['ratio']:>8.2f}"
            print(f"{row['name']:<40}{numbers}   {low:.2f} to {high:.2f}{reason(what, row)}")


if __name__ == "__main__":
    main()
