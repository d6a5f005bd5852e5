"""Matplotlib as it is by itself, whatever the environment and a user's files say."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def own_defaults() -> Iterator[None]:
    """Draw and save inside with matplotlib's own defaults; as a decorator too."""
    from matplotlib import rc_context, rcdefaults

    with rc_context():
        rcdefaults()
        yield
