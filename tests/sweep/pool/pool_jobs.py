"""What a process of the pool does in tests: a word says what. Imports nothing heavy."""

import os
import signal
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

import ablate


def act(order: tuple[str, Path], seat: int, pipe: Connection) -> None:
    """Leave a file that says when it began and where it sat, then do as told."""
    word, folder = order
    began = time.monotonic()
    pipe.send(("seat", seat))
    if word == "raise":
        raise RuntimeError("on purpose")
    if word == "exit":
        sys.exit(3)
    if word == "os._exit":
        os._exit(4)
    if word == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "segfault":
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGSEGV)
    if word == "hang":

        def tell(*signal_and_frame: object) -> None:
            (folder / "asked").touch()
            os._exit(0)

        signal.signal(signal.SIGUSR1, tell)
        pipe.send("ready")
        time.sleep(60)
    if word == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        pipe.send("ready")
        time.sleep(60)
    if word == "polite":
        asked: list[int] = []
        signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
        pipe.send("ready")
        while not asked:
            time.sleep(0.02)
        pipe.send("saved")
    if word == "modules":
        import random

        pipe.send({"random": random.__file__, "ablate": ablate.__file__, "last": sys.path[-1]})
    if word == "work":
        time.sleep(0.15)
    pipe.send(("span", began, time.monotonic()))
