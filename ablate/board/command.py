"""`ablate board`: TensorBoard on the runs of a study, or on all of them, on this machine."""

import argparse
import contextlib
import errno
import io
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from ablate.errors import UserError
from ablate.shell.parser import Parser

PORT = 6006
EVENTS = "events.out.tfevents.*"


def main(arguments: Sequence[str]) -> int:
    """Serve TensorBoard until Ctrl-C; the exit code. UserError: no such folder, no runs, no port.

    The address goes to stdout, the rest to stderr.
    """
    options = _parser().parse(arguments)
    paths = [Path(path) for path in options.paths or [options.outputs]]
    count = sum(count_runs(path) for path in paths)
    if count == 0:
        named = ", ".join(str(path) for path in paths)
        raise UserError(f"no runs with TensorBoard events in {named}; `ablate run` makes one")
    with one_folder(paths) as folder:
        address = serve(folder, options.host, options.port)
        # TensorBoard's smoothing is off at first: it would bend the accuracy over context lengths.
        print(f"{address}?smoothing=0", flush=True)
        print(f"TensorBoard shows {count} run{'s' * (count > 1)}; Ctrl-C ends it", file=sys.stderr)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
    return 0


def count_runs(path: Path) -> int:
    """Count the run directories at or under `path`. UserError: it is not a folder."""
    if not path.is_dir():
        raise UserError(
            f"{path} is not a folder; give a run, a study or the outputs folder, "
            "which `ablate run` makes"
        )
    return len({events.parent for events in path.rglob(EVENTS)})


@contextlib.contextmanager
def one_folder(paths: Sequence[Path]) -> Iterator[Path]:
    """Give one folder that shows all `paths`: the path itself, or a folder of links to several."""
    if len(paths) == 1:
        yield paths[0]
        return
    # TensorBoard's own list of folders splits at commas, which run names have.
    with tempfile.TemporaryDirectory(prefix="ablate-board-") as folder:
        for name, path in link_names(paths).items():
            (Path(folder) / name).symlink_to(path, target_is_directory=True)
        yield Path(folder)


def link_names(paths: Sequence[Path]) -> dict[str, Path]:
    """Name folders by as many of their last parts as tell them apart."""
    folders = {path.resolve() for path in paths}
    for parts in range(1, max(len(path.parts) for path in folders) + 1):
        names = {"_".join(path.parts[-parts:]).strip("/"): path for path in sorted(folders)}
        if len(names) == len(folders):
            return names
    raise UserError("these folders cannot be told apart by name; show one at a time")


def serve(folder: Path, host: str, port: int | None) -> str:
    """Start TensorBoard in a thread of this process and return its address.

    In this process and not in one of its own, so that nothing outlives it, however it ends. With no
    `port`, 6006 or the next free one is taken. UserError: the port is taken or the host unknown.
    """
    if port is None:
        port = free_port(host, PORT)
        if port != PORT:
            print(f"port {PORT} is taken; using {port}", file=sys.stderr)
    elif port != 0 and not is_free(host, port):
        raise UserError(f"port={port} is taken on {host}; free: --port {free_port(host, port)}")
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()) as noise:
        warnings.simplefilter("ignore")
        from tensorboard import program

        board = program.TensorBoard()
        board.configure(
            logdir=str(folder), host=host, port=port, window_title="ablate", reload_interval=5.0
        )
        try:
            return board.launch()
        except (program.TensorBoardServerException, SystemExit) as error:
            reason = str(error) or noise.getvalue().strip()
            raise UserError(f"TensorBoard does not start: {reason}") from error


def is_free(host: str, port: int) -> bool:
    """Whether a server can listen there. UserError: the host is not one of this machine's."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )[0]
    except OSError as error:
        raise UserError(f"host={host} is unknown; 127.0.0.1 serves this machine alone") from error
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise UserError(f"host={host} is not an address of this machine") from error
            return False
    return True


def free_port(host: str, start: int) -> int:
    """Find the first free port from `start` on. UserError: none among the next hundred."""
    for port in range(start, min(start + 100, 65536)):
        if is_free(host, port):
            return port
    raise UserError(f"no free port between {start} and {start + 99} on {host}")


def _parser() -> Parser:
    parser = Parser("ablate board", "Show the curves of runs in TensorBoard, on this machine.")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="runs, studies or their folder")
    parser.add_argument("--outputs", default="outputs", help="the folder shown without a PATH")
    parser.add_argument("--port", type=_port, help=f"default: {PORT}, or the next free one")
    parser.add_argument("--host", default="127.0.0.1", help="default: %(default)s")
    return parser


def _port(text: str) -> int:
    if not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, a number from 0 to 65535")
    return int(text)
