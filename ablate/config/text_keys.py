"""Which keys hold text, and so keep what was typed: study=2024_10_01 is no number."""

import inspect
import typing
from typing import Any

from ablate.config.catalogue import COMPONENTS, Catalogue
from ablate.config.parts import locate
from ablate.config.schema import RunConfig


def is_text(key: str, catalogue: Catalogue) -> bool:
    """Whether a key, or an option of a choice that has it, holds text or a list of it."""
    group, _, option = key.partition(".")
    if group in COMPONENTS:
        choices = (catalogue.choice(group, name) for name in catalogue.names(group))
        having = [choice for choice in choices if choice and option in choice.options]
        return any(takes_text(c.options[option], c.target, option) for c in having)
    hint: Any = RunConfig
    for part in key.split("."):
        hint = typing.get_type_hints(hint).get(part) if inspect.isclass(hint) else None
    return holds_text(hint)


def takes_text(usual: Any, target: str, option: str) -> bool:
    """Whether an option is text: its usual value says so or, where that is null, its class."""
    if usual is None and target:
        maker = locate(target, option)
        constructor = maker.__init__ if inspect.isclass(maker) else maker
        return holds_text(typing.get_type_hints(constructor).get(option))
    return isinstance(usual[0] if usual and isinstance(usual, list) else usual, str)


def holds_text(hint: Any) -> bool:
    """Whether a type is text, or made of it.

    >>> holds_text(str | None), holds_text(list[str]), holds_text(dict[str, int]), holds_text(int)
    (True, True, False, False)
    """
    if typing.get_origin(hint) is dict:
        return False
    return hint is str or any(map(holds_text, typing.get_args(hint)))
