"""The one printer of a setting's value, and its reader, in the grammar of Hydra's command line."""

import re
from collections.abc import Mapping
from typing import Any

from ablate.errors import UserError

DIGITS = r"(?:0|[1-9](?:_?\d)*)"
POINT = rf"(?:{DIGITS}\.|{DIGITS}?\.\d(?:_?\d)*)"
NUMBER = re.compile(
    rf"[+-]?(?:(?:{DIGITS}|{POINT})(?:[eE][+-]?\d(?:_?\d)*)?|inf|nan)", re.ASCII | re.IGNORECASE
)
WORDS = ("null", "true", "false")
BARE = re.compile(r"[A-Za-z0-9_/+.%*@?|:-]+")
"""Text that Hydra takes for a string as it stands, unless it is a number or one of WORDS."""

FOREIGN = rf"{BARE.pattern[:-1]}*[^\x00-\x7f](?:{BARE.pattern[:-1]}|[^\x00-\x7f])*"
"""Bare text with letters beyond ASCII, which Hydra wants in quotes."""

MEMBER = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|"""
    rf"(?:^|(?<=[\[,(]))\s*((?:{NUMBER.pattern})|true|false|{FOREIGN})\s*(?=$|[\],)])",
    re.ASCII | re.IGNORECASE,
)
"""A quoted text, or a value that Hydra takes for a number or a truth value, or not at all."""
FUNCTION = re.compile(r"\s*(?!choice\b)\w+\(")

IN_A_KEY = re.compile(r"[A-Za-z0-9_/+.$%*@?|\\()\[\]{}:=, \t-]+")
"""Text that a mapping's key can hold, some of it behind backslashes: keys know no quotes."""


def write(value: Any) -> str:
    """A value as one would type it after `KEY=`; `read` makes the same value of it again.

    The exception is a mapping's key that Hydra cannot spell, such as "ü" or "1": it stands in
    quotes, which `read` refuses.

    >>> print(write(None), write(True), write(1e-05), write(2.0), write([0.5, "c2p"]))
    null true 1e-05 2.0 [0.5,c2p]
    >>> print(write("null"), write("my book.txt"), write({"a": {"b": 1}}))
    'null' 'my book.txt' {a:{b:1}}
    """
    if isinstance(value, float):
        short = f"{value:g}"  # 1e-05 and not 0.00001
        exact = float(short) == value and not re.fullmatch(r"[+-]?\d+", short)
        return short if exact else repr(value)
    return _written(value, write)


def brief(value: Any) -> str:
    """A value for a name or a table: no two values that differ look alike, equal ones may.

    A whole float loses its .0, and a string that nothing else looks like its quotes.

    >>> print(brief(2.0), brief(0.00123456789), brief("my book.txt"), brief("null"))
    2 0.00123456789 my book.txt 'null'
    """
    if isinstance(value, str):
        return value if value and value[0] not in "[{'\"" and not _is_plain(value) else write(value)
    return _brief(value)


def read(text: str) -> Any:
    """What the command line makes of `text` after `KEY=`.

    Raises UserError where it cannot be read, is several values or asks for those of other keys.

    >>> read("1e-3"), read("'1'"), read("[a,{b:null}]")
    (0.001, '1', ['a', {'b': None}])
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        override = OverridesParser.create().parse_override(f"key={text}")
        if override.is_sweep_override():
            raise UserError(f"{text}: several values where one is needed")
        value = override.value()
        if "${" in text:
            resolved = OmegaConf.to_container(OmegaConf.create({"key": value}), resolve=True)
            assert isinstance(resolved, dict)
            return resolved["key"]
        return value
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(f"{text}: cannot be read as a value") from error


def plain_value(text: str) -> Any:
    """What the command line makes of one bare word.

    >>> plain_value("1_0"), plain_value("1e3"), plain_value("010"), plain_value("on")
    (10, 1000.0, '010', 'on')
    """
    if not _is_plain(text):
        return text
    if text.lower() in WORDS:
        return {"null": None, "true": True, "false": False}[text.lower()]
    return int(text) if re.fullmatch(rf"[+-]?{DIGITS}", text, re.ASCII) else float(text)


def as_text(text: str) -> str:
    """A value, or several, in quotes where Hydra would not read the text that it is.

    >>> as_text("2024_10_01,on,[1e3,'5',café]"), as_text("range(1,3)")
    ("'2024_10_01',on,['1e3','5','café']", 'range(1,3)')
    """
    if FUNCTION.match(text):
        return text
    return MEMBER.sub(lambda match: f"'{match[1]}'" if match[1] else match[0], text)


def _brief(value: Any) -> str:
    """A value as part of another: strings keep their quotes."""
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return _written(value, _brief)


def _written(value: Any, part: Any) -> str:
    """A value that is no float; `part` writes what it is made of."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list | tuple):
        return f"[{','.join(map(part, value))}]"
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{_key(key)}:{part(item)}' for key, item in value.items())}}}"
    text = str(value)
    return text if BARE.fullmatch(text) and not _is_plain(text) else _quoted(text)


def _is_plain(text: str) -> bool:
    """Whether Hydra takes bare `text` for a number, a truth value or null."""
    return bool(NUMBER.fullmatch(text)) or text.lower() in WORDS


def _key(key: Any) -> str:
    """A key of a mapping: special signs behind backslashes."""
    if not isinstance(key, str):
        return write(key)
    if not IN_A_KEY.fullmatch(key) or _is_plain(key):
        return _quoted(key)
    return re.sub(r"([\\()\[\]{}:=, \t])", r"\\\1", key)


def _quoted(text: str) -> str:
    """`text` in quotes, with a backslash before what OmegaConf would take for another key's value.

    A backslash is doubled where it stands before such a sign, a quote or the end; elsewhere it is
    itself.
    """
    text = re.sub(r"(\\*)\$\{", r"\1\1\\${", text)
    mark = '"' if "'" in text and '"' not in text else "'"
    text = re.sub(rf"(\\*){mark}", rf"\1\1\\{mark}", text)
    return mark + re.sub(r"(\\+)$", r"\1\1", text) + mark
