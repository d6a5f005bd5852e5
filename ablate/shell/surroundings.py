"""What surrounds a command and shall not decide what it does: variables, folder, cores."""

import contextlib
import logging
import os
from collections.abc import Iterator

from ablate.errors import UserError
from ablate.shell import folder
from ablate.shell.cores import quota


def settle_variables() -> None:
    """Set what libraries read from the environment when they are loaded."""
    # How long a thread spins before it sleeps, read when torch loads OpenMP. The default of 300,000
    # rounds makes a step dozens of times slower as soon as another program wants a core; so few
    # cost a few percent on an idle machine.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    # A notebook's has no place to draw in; and what matplotlib has to say of a user's own settings,
    # which do not count here, concerns nobody.
    os.environ["MPLBACKEND"] = "agg"
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    if cores := quota():
        os.environ.setdefault("OMP_NUM_THREADS", str(cores))


@contextlib.contextmanager
def own_code() -> Iterator[None]:
    """Let this process and all that it begins take modules from the current folder last.

    There a user's own classes may be. Raises UserError where there is no such folder any more.
    """
    try:
        folder.come_last()
    except OSError as error:
        raise UserError(f"the current folder: {error.strerror}; go to another one") from error
    own = folder.for_children()
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    try:
        yield
    finally:
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value
