"""The command line: verbs, and nothing heavy imported before a verb needs it."""

import atexit
import difflib
import errno
import importlib
import os
import shlex
import signal
import sys
from collections.abc import Sequence

import ablate
from ablate.errors import UserError
from ablate.shell.stderr import drop_unwritten, say, settle_streams
from ablate.shell.surroundings import own_code, settle_variables

HELP = """\
Controlled ablations of small transformers: position schemes, norm placements, depth, warmup.

usage: ablate VERB ...

  run       train a model, or with -m a sweep      ablate run pos=rope norm=pre depth=24
  check     is a cell sane, before it is trained   ablate check norm=pre norm.final=false
  report    tables of what came out                ablate report
  diff      two runs or arms side by side          ablate diff pos=rope pos=alibi
  list      what there is to ablate                ablate list pos
  board     TensorBoard on the outputs             ablate board
  evaluate  a trained run at other lengths         ablate evaluate RUN pos=yarn
  sample    let a trained run continue a text      ablate sample RUN --prompt "def "

  ablate VERB --help explains a verb; ablate --version tells the version."""


VERBS = {
    "run": "sweep",
    "check": "check",
    "report": "report",
    "diff": "diff",
    "list": "listing",
    "board": "board",
    "evaluate": "evaluate",
    "sample": "sample",
}
"""Verb → the room whose command.py has its `main`."""


def call(verb: str, words: Sequence[str]) -> int:
    """Import what a verb needs and do what its words say; the exit code. Raises UserError."""
    if verb not in VERBS:
        close = difflib.get_close_matches(verb, VERBS, n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise UserError(f"{verb}: no such verb; verbs are {', '.join(VERBS)}.{hint}")
    module = f"ablate.{VERBS[verb]}.command"
    if verb == "run" and under_torchrun():
        # Of what DDP's C++ side has to say, only errors concern the user.
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
        module = "ablate.sweep.together"
    with own_code():
        exit_code: int = importlib.import_module(module).main(words)
    return exit_code


def under_torchrun() -> bool:
    """Whether this process is one of several of one run."""
    names = {"RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
    return names <= os.environ.keys() and os.environ.get("WORLD_SIZE", "1") != "1"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code: 0, 1 a run failed, 2 a mistake, 130 interrupted."""
    if arguments is None:
        sys.argv[0] = "ablate"  # as run.log tells the command
    words = list(sys.argv[1:] if arguments is None else arguments)
    settle_streams()
    settle_variables()
    try:
        if not words or words[0] in ("-h", "--help", "help"):
            print(HELP)
            return 0
        if words[0] in ("-V", "--version"):
            print(f"ablate {ablate.__version__}")
            return 0
        exit_code = call(words[0], words[1:])
        sys.stdout.flush()
        return exit_code
    except UserError as error:
        say(f"ablate: {error}")
        return 2
    except BrokenPipeError:
        return 0  # the reader of our output is gone (`ablate list | head`)
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        say(f"ablate: {error.strerror or error}{place}")
        return 1 if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO) else 2  # of the command
    except KeyboardInterrupt:
        again = f"; to begin again: ablate {shlex.join(words)}"
        say(f"ablate: interrupted{again if words[:1] == ['run'] else ''}")
        # An interrupt that Python met inside an exec of text, as dataclasses do on import, makes it
        # end by SIGINT after all, unless it has met such a text since.
        exec("")
        return 130
    finally:
        drop_unwritten()
        atexit.register(ignore_signals)


def ignore_signals() -> None:
    """Let Ctrl-C come too late: while Python ends, it could only raise a traceback."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
