"""The command line of a verb: its flags in any order, its mistakes in a line."""

import argparse
import difflib
import re
from collections.abc import Iterable, Sequence
from typing import NoReturn

from ablate.errors import UserError


class Parser(argparse.ArgumentParser):
    """argparse with flags and words in any order, that raises UserError for a mistake."""

    def __init__(self, prog: str, description: str, epilog: str | None = None) -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Raise UserError with argparse's message."""
        raise UserError(f"{message} (see {self.prog} --help)")

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The arguments; raises UserError, which names the nearest flag for an unknown one."""
        known = [name for action in self._actions for name in action.option_strings]
        for word in arguments:
            if word == "--":
                break
            flag = word.partition("=")[0]
            attached = flag[:2] in known and not flag.startswith("--")  # as in -oreport.html
            number = re.match(r"-\.?\d", flag)
            if flag.startswith("-") and flag not in known and not attached and not number:
                raise no_such_flag(flag, known)
        return self.parse_intermixed_args(list(arguments))


def no_such_flag(flag: str, known: Iterable[str]) -> UserError:
    """The error for an unknown flag, with those that there are and the nearest of them.

    >>> no_such_flag("--jsn", ["-h", "--help", "--json"])
    UserError('--jsn: no such flag; flags are -h, --help, --json. Did you mean --json?')
    """
    flags = list(known)
    near = difflib.get_close_matches(flag, flags, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return UserError(f"{flag}: no such flag; flags are {', '.join(flags)}.{hint}")
