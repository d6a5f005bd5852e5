"""The exception that means that something asked for cannot be done, and any other in a line."""


class UserError(Exception):
    """A mistake in a config, a path or a corpus, told in one or two lines; exit code 2.

    The message names the key, the value, what is allowed and, for a misspelling, the nearest valid
    name. It is shown without a traceback.
    """


class PartError(UserError):
    """A mistake in what a key of the config names, told as "KEY: REASON"."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"{key}: {reason}")
        self.key, self.reason = key, reason


def in_a_line(error: BaseException) -> str:
    """What an exception says first.

    >>> in_a_line(ValueError("too long\\nby far")), in_a_line(MemoryError())
    ('ValueError: too long', 'MemoryError')
    """
    return f"{type(error).__name__}: {error}".split("\n")[0].rstrip(": ")
