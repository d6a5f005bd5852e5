"""From a choice's YAML to its class with the options bound; mistakes raise UserError."""

import collections.abc
import functools
import importlib
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from ablate.config.catalogue import nearest
from ablate.config.values import brief
from ablate.errors import PartError, UserError, in_a_line

Config = Mapping[str, Any]

MOST = 10**9
"""The largest whole number that an option takes, as `steps` does."""


def part(config: Config, group: str) -> Callable[..., Any]:
    """The class that a group's choice names, with its options bound.

    Calling it builds the object; a UserError then says which group it comes from.
    """
    return _part(config[group], group)


def _part(choice: Mapping[str, Any], key: str) -> Callable[..., Any]:
    """The class of a choice at `key`, and those of the choices among its options."""
    if "_target_" not in choice:
        raise PartError(key, "its file names no class; it needs a line _target_: module.Class")
    name = choice["_target_"]
    target = locate(name, key)
    if not callable(target):
        raise PartError(key, f"{name} is no class and no function")
    options = {
        k: _part(v, f"{key}.{k}") if isinstance(v, Mapping) and "_target_" in v else v
        for k, v in choice.items()
        if k != "_target_"
    }
    check_options(target, options, key)

    @functools.wraps(target, updated=())
    def build_it(*arguments: Any, **more: Any) -> Any:
        try:
            return target(*arguments, **options, **more)
        except UserError as error:
            text = str(error)
            if text.startswith(f"{key}."):
                raise
            raise PartError(key, text) from error
        except (Exception, SystemExit) as error:  # of a user's class; ours raise UserError
            raise PartError(key, f"{name} cannot be made: {in_a_line(error)}") from error

    return build_it


def locate(name: str, key: str) -> Any:
    """The class at a dotted path; UserError says which part of the path is not there."""
    module_name, _, attribute = name.rpartition(".")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise PartError(
            key, f"{name}: no module {error.name} in the current folder or on the Python path"
        ) from error
    except (Exception, SystemExit) as error:
        raise PartError(key, f"importing {module_name} fails: {in_a_line(error)}") from error
    if attribute not in vars(module):
        hint = nearest(attribute, vars(module))
        raise PartError(key, f"{module_name} has no {attribute}.{hint}")
    return vars(module)[attribute]


def check_options(target: Callable[..., Any], options: Mapping[str, Any], key: str) -> None:
    """Raise UserError for an option that the constructor lacks or that has another type."""
    constructor = target.__init__ if inspect.isclass(target) else target
    parameters = inspect.signature(constructor).parameters
    hints = typing.get_type_hints(constructor)
    allowed = [n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY]
    for option, value in options.items():
        if option not in allowed:
            raise UserError(
                f"{key}.{option}: no such option; it has {', '.join(allowed) or 'none'}."
                f"{nearest(option, allowed)}"
            )
        if option in hints and takes_choice(hints[option]) and not callable(value):
            raise UserError(
                f"{key}.{option}={brief(value)}: a choice of its own; write "
                f"{key}@{key}.{option}={brief(value)}"
            )
        if isinstance(value, int) and abs(value) > MOST:
            raise UserError(f"{key}.{option}={brief(value)}: must be from {-MOST} to {MOST}")
        if option in hints and not fits(value, hints[option]):
            raise UserError(f"{key}.{option}={brief(value)}: must be {in_words(hints[option])}")


def takes_choice(hint: Any) -> bool:
    """Whether an option is itself a part to be built."""
    return typing.get_origin(hint) is collections.abc.Callable


def fits(value: Any, hint: Any) -> bool:
    """Whether a plain value may stand where a constructor asks for `hint`.

    >>> fits(1, float), fits(True, int), fits(None, int | None), fits("a", list[str])
    (True, False, True, False)
    """
    origin = typing.get_origin(hint)
    if hint is Any or origin is collections.abc.Callable:
        return True
    if origin in (types.UnionType, typing.Union):
        return any(fits(value, member) for member in typing.get_args(hint))
    if origin is typing.Literal:
        return value in typing.get_args(hint)
    if hint is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and abs(value) <= sys.float_info.max
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint in (None, type(None)):
        return value is None
    return isinstance(value, origin or hint)


def in_words(hint: Any) -> str:
    """A type hint for a reader who knows no Python.

    >>> in_words(int | None)
    'a whole number or null'
    """
    words = {int: "a whole number", float: "a finite number", bool: "true or false", str: "a word"}
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return " or ".join(map(in_words, typing.get_args(hint)))
    if typing.get_origin(hint) is typing.Literal:
        return f"one of {', '.join(map(str, typing.get_args(hint)))}"
    if hint in (None, type(None)):
        return "null"
    return words.get(hint, "a list" if typing.get_origin(hint) is list else str(hint))
