"""Which faults a sweep survives: python scripts/faults.py [FAULT ...] [--times N] [--json].

Each fault is done to a sweep of small runs in a fresh folder. Then the same command is given again,
and a run is lost if it does not end as done. Prints a table of fault, times tried and runs lost.
"""

import argparse
import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from faulty_sweep import PATIENCE, Sweep, gone_after, processes_of

KINDS = ("exception", "sys_exit", "os_exit", "kill", "segfault")


@dataclass
class Result:
    """How a sweep came out of one fault: of `runs`, `lost` did not end as done."""

    fault: str
    runs: int
    lost: int
    notes: str


def run_again(fault: str, sweep: Sweep, runs: int, notes: str) -> Result:
    """Give the same command again, without the fault, and count the runs that are not done."""
    (sweep.folder / "armed").unlink(missing_ok=True)
    code, stderr = sweep.run()
    done = sum(record["status"] == "done" for record in sweep.records())
    if code != 0:
        notes += f"; exit code {code}: {stderr[-300:]}"
    return Result(fault, runs, runs - done, notes)


def inner(kind: str, folder: Path) -> Result:
    """A fault inside two of four runs: the other two must be done at once."""
    sweep = Sweep(folder, "pos=faulty", f"pos.kind={kind},none", "seed=0,1", "steps=60")
    (folder / "armed").touch()
    limit = ["run.timeout=20"] if kind == "hang" else []
    code, stderr = sweep.run(*limit)
    records = sweep.records()
    failed = [r for r in records if r["status"] == "failed"]
    done = [r for r in records if r["status"] == "done"]
    assert (code, len(failed), len(done)) == (1, 2, 2), stderr
    return run_again(kind, sweep, 4, failed[0]["error"])


def outer(fault: str, folder: Path, act: Callable[[subprocess.Popen[str], Sweep], str]) -> Result:
    """A fault from outside, while two of four runs are in training."""
    sweep = Sweep(folder, "pos=none,alibi", "seed=0,1", "steps=400")
    process = sweep.start()
    sweep.wait_for_steps(2)
    notes = act(process, sweep)
    after = gone_after(process.pid)
    process.communicate(timeout=PATIENCE)
    notes += f"exit code {process.returncode}, no process left after {after:.1f} s"
    return run_again(fault, sweep, 4, notes)


def interrupt(process: subprocess.Popen[str], sweep: Sweep) -> str:
    """Ctrl-C, as a terminal sends it: to the whole group."""
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    process.wait(PATIENCE)
    statuses = sorted(r["status"] for r in sweep.records())
    assert process.returncode == 130, process.returncode
    assert "running" not in statuses, statuses
    return f"{statuses.count('interrupted')} interrupted in {time.monotonic() - began:.1f} s, "


def interrupt_twice(process: subprocess.Popen[str], sweep: Sweep) -> str:
    """Ctrl-C two times."""
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(0.5)  # two at once would count as one
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    return ""


def kill_parent(process: subprocess.Popen[str], sweep: Sweep) -> str:
    """kill -9 of the command itself."""
    process.kill()
    return ""


def kill_run(process: subprocess.Popen[str], sweep: Sweep) -> str:
    """kill -9 of the process of one run."""
    for folder in sweep.wait_for_steps(1):
        status = json.loads((folder / "record.json").read_text())["status"]
        pid = int((folder / ".lock").read_text())
        if status == "running" and pid in processes_of(process.pid):
            os.kill(pid, signal.SIGKILL)
            break
    process.wait(PATIENCE)
    return f"{[r['error'] for r in sweep.records() if r['status'] == 'failed']}, "


def kill_server(process: subprocess.Popen[str], sweep: Sweep) -> str:
    """kill -9 of the process that the others are forked from."""
    for pid in processes_of(process.pid):
        if b"forkserver import main" in Path(f"/proc/{pid}/cmdline").read_bytes():
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
            if children.strip():
                os.kill(pid, signal.SIGKILL)
                break
    return ""


def full_disk(folder: Path) -> Result:
    """No file may grow beyond 60 kB: checkpoints cannot be written."""
    sweep = Sweep(folder, "pos=none,alibi", "seed=0,1", "steps=60")
    code, stderr = sweep.run(limit=60_000)
    assert code == 1, stderr
    assert "Traceback" not in stderr, stderr
    errors = {r["error"] for r in sweep.records()}
    return run_again("full disk", sweep, 4, " ".join(sorted(map(str, errors))))


def unwritable(folder: Path) -> Result:
    """The outputs folder cannot be made."""
    sweep = Sweep(folder, "pos=none,alibi", "seed=0,1", "steps=60")
    (folder / "outputs").write_text("a file, not a folder")
    code, stderr = sweep.run()
    assert code == 1, stderr
    assert "Traceback" not in stderr, stderr
    (folder / "outputs").unlink()
    return run_again("unwritable folder", sweep, 4, stderr.strip().splitlines()[-1])


FAULTS: dict[str, Callable[[Path], Result]] = {
    **{kind: partial(inner, kind) for kind in (*KINDS, "hang")},
    "kill-run": lambda folder: outer("kill -9 of a run", folder, kill_run),
    "ctrl-c": lambda folder: outer("Ctrl-C", folder, interrupt),
    "ctrl-c-twice": lambda folder: outer("Ctrl-C twice", folder, interrupt_twice),
    "kill-parent": lambda folder: outer("kill -9 of the command", folder, kill_parent),
    "kill-server": lambda folder: outer("kill -9 of the fork server", folder, kill_server),
    "full-disk": full_disk,
    "unwritable": unwritable,
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("faults", nargs="*", metavar="FAULT", help=", ".join(FAULTS))
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.faults if name not in FAULTS]:
        parser.error(f"{shlex.join(unknown)}: choose from {', '.join(FAULTS)}")
    results: dict[str, list[Result]] = {}
    for name in options.faults or FAULTS:
        for _ in range(options.times):
            with tempfile.TemporaryDirectory(prefix="faults é ") as folder:
                results.setdefault(name, []).append(FAULTS[name](Path(folder)))
        last = results[name][-1]
        if not options.json:
            lost = sum(r.lost for r in results[name])
            print(
                f"{last.fault:<28}{options.times:>3} times {lost:>3} lost   {last.notes}",
                flush=True,
            )
    if options.json:
        print(json.dumps({k: [vars(r) for r in v] for k, v in results.items()}, indent=2))
    return int(any(r.lost for rs in results.values() for r in rs))


if __name__ == "__main__":
    sys.exit(main())
