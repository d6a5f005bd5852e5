"""A small sweep in a folder of its own, with a scheme that breaks on demand; for faults.py."""

import contextlib
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SCHEME = """\
import ctypes, os, signal, sys, time
from pathlib import Path
import torch
from ablate.model.position.base import PositionScheme

def act(kind):
    if kind == "exception": raise RuntimeError("on purpose")
    if kind == "sys_exit": sys.exit(3)
    if kind == "os_exit": os._exit(3)
    if kind == "kill": os.kill(os.getpid(), signal.SIGKILL)
    if kind == "segfault": ctypes.string_at(0)
    if kind == "hang": time.sleep(3600)

class Faulty(PositionScheme):
    def __init__(self, shape, *, kind):
        super().__init__(shape)
        self.kind, self.passes = kind, 0
    def embed(self, x, positions):
        self.passes += self.training and torch.is_grad_enabled()
        if self.passes > 30 and Path("armed").exists():
            act(self.kind)
        return x
"""
SMALL = (
    *("depth=2", "width=16", "heads=2", "seq_len=16", "batch_size=4", "dropout=0.1"),
    *("corpus=text", "corpus.files=words.txt", "evaluate.batches=2", "evaluate.windows=4"),
    *("evaluate.every=1000", "checkpoint.every=20", "jobs=2", "study=faults"),
)
PATIENCE = 300.0  # seconds for whatever is waited for


class Sweep:
    """A folder with a small text, the faulty scheme and the command of a sweep."""

    def __init__(self, folder: Path, *overrides: str) -> None:
        self.folder = folder
        words = ["ba do ki lu me no pra sti ta zu"[i % 29 :] for i in range(2500)]
        (folder / "words.txt").write_text("\n".join(words))
        (folder / "faulty.py").write_text(SCHEME)
        (folder / "mine" / "pos").mkdir(parents=True)
        (folder / "mine" / "pos" / "faulty.yaml").write_text(
            "# Breaks on demand.\n_target_: faulty.Faulty\nkind: none\n"
        )
        self.words = ["run", "-m", "--config-dir", "mine", *SMALL, *overrides]

    def start(self, *more: str, limit: int | None = None) -> subprocess.Popen[str]:
        """Begin the command in a session of its own, with a limit on the size of files."""

        def restrict() -> None:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        environment = {**os.environ, "ABLATE_CACHE": str(self.folder / "cache")}
        return subprocess.Popen(
            [sys.executable, "-m", "ablate", *self.words, *more],
            cwd=self.folder,
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=restrict,
        )

    def run(self, *more: str, limit: int | None = None) -> tuple[int, str]:
        """Run the command to its end; its exit code and stderr."""
        process = self.start(*more, limit=limit)
        _, stderr = process.communicate(timeout=PATIENCE)
        return process.returncode, stderr

    def records(self) -> list[dict[str, Any]]:
        """The records of the sweep's runs, by folder."""
        paths = sorted(self.folder.glob("outputs/faults/*/record.json"))
        return [json.loads(path.read_text()) for path in paths]

    def wait_for_steps(self, runs: int, lines: int = 3) -> list[Path]:
        """Wait until `runs` runs have logged `lines` lines; the folders of all that have."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            curves = self.folder.glob("outputs/faults/*/curves.jsonl")
            under_way = [p.parent for p in curves if p.read_text().count("\n") >= lines]
            if len(under_way) >= runs:
                return under_way
            time.sleep(0.02)
        raise TimeoutError("the runs did not begin")


def processes_of(session: int) -> list[int]:
    """The live processes of a session."""
    pids = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = entry.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                pids.append(int(entry.parent.name))
    return pids


def gone_after(session: int) -> float:
    """Seconds until no process of a session is left."""
    began = time.monotonic()
    while processes_of(session):
        if time.monotonic() - began > PATIENCE:
            raise TimeoutError("processes stay behind")
        time.sleep(0.05)
    return time.monotonic() - began
