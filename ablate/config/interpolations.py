"""References such as `lr=${clip}`: which may stand where, so that equal configs make equal runs."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ablate.config.identity import NOT_IDENTITY
from ablate.config.schema import flatten
from ablate.errors import UserError

REFERENCE = re.compile(r"\$\{\s*\.*([\w.\[\]-]+)\s*\}")


def has_references(tree: Mapping[str, Any]) -> bool:
    """Whether any value of a config holds a reference."""
    return any(any(texts(value)) for value in flatten(tree).values())


def texts(value: Any) -> Iterator[str]:
    """The references in a value, be it a list, with what stands around them.

    >>> list(texts([1, ["${depth}"], "a"]))
    ['${depth}']
    """
    if isinstance(value, str) and "${" in value:
        yield value
    for part in value if isinstance(value, list) else ():
        yield from texts(part)


def check_references(tree: Mapping[str, Any]) -> None:
    """Raise UserError where what makes a run's identity asks for anything but what does so too.

    The time, the environment or a folder would make two configs of one.
    """
    for key, value in flatten(tree).items():
        if key.split(".")[0] in NOT_IDENTITY:
            continue
        for text in texts(value):
            asked = [name.split(".")[0] for name in REFERENCE.findall(text)]
            rest = REFERENCE.sub("", text)
            if "${" in rest or set(asked) & set(NOT_IDENTITY):
                raise UserError(
                    f"{key}={text}: what a run's name and outcome follow from can refer to keys "
                    "that they follow from, as in ${lr}, and to nothing else; write the value"
                )
