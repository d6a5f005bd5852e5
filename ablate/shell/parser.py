"""The command-line parser of the small verbs."""

import argparse
import difflib
from collections.abc import Sequence
from typing import NoReturn

from ablate.errors import UserError


class Parser(argparse.ArgumentParser):
    """argparse with flags and words in any order, whose mistakes are told in a line."""

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
            flag = word.partition("=")[0]
            if flag.startswith("-") and flag not in known:
                near = difflib.get_close_matches(flag, known, n=1)
                hint = f" Did you mean {near[0]}?" if near else ""
                raise UserError(f"{flag}: no such flag; flags are {', '.join(known)}.{hint}")
        return self.parse_intermixed_args(list(arguments))
