"""The current folder: the last place where modules are looked for, here and in processes of ours.

It may hold a random.py, or a checkout of another version. Imports next to nothing, as what it
imports is looked for before it could say where.
"""

import os
import sys

HOME = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))  # noqa: PTH118, PTH120
"""The folder in which this package lies."""


def come_last() -> None:
    """Look for modules in the current folder after all other places, and nowhere by an empty name.

    A checkout from which this very code is run stays first where a place after it has another one:
    processes of ours are to find this one too. Raises OSError where the folder is gone.
    """
    sys.path[:] = [path for path in sys.path if path]
    folder = os.getcwd()  # noqa: PTH109
    others = [path for path in sys.path if os.path.realpath(path) != folder]
    if folder != HOME or not any(os.path.isdir(os.path.join(p, "ablate")) for p in others):  # noqa: PTH112, PTH118
        sys.path[:] = [*others, folder]


def for_children() -> dict[str, str]:
    """The environment with which Python processes look for modules where this one does."""
    return {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
