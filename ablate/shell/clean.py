"""Texts of strangers (names, records, models) without what would steer a terminal or a page."""

import json
import re
import unicodedata
from typing import Any

from ablate.shell.finite import finite

BREAKS = "\n\r\t\u2028\u2029"


def clean(value: str) -> str:
    """Replace what is not printable: control codes, direction marks, lone surrogates.

    >>> clean("pos=\\x1b[31mrope\\n")
    'pos=�[31mrope '
    """
    if value.isascii() and value.isprintable():
        return value
    return "".join(
        " " if char in BREAKS else "�" if unicodedata.category(char)[0] == "C" else char
        for char in value
    )


def clean_lines(text: str) -> str:
    """The same of a text of several lines, which stay lines.

    >>> clean_lines("a\\tb\\n\\x1b[2Jc")
    'a b\\n�[2Jc'
    """
    return "\n".join(map(clean, text.split("\n")))


def as_json(data: Any, *, ascii_only: bool = False) -> str:
    """Plain data as JSON that a terminal can show; numbers that JSON does not have become null.

    >>> print(as_json(["ü", "\\u202e", float("nan")]).replace("\\n", ""))
    [  "ü",  "\\u202e",  null]
    """
    text = json.dumps(finite(data), indent=2, ensure_ascii=ascii_only, allow_nan=False)
    return re.sub(r"[^\n -~]", lambda sign: _spelled(sign[0]), text)


def _spelled(sign: str) -> str:
    """A sign of JSON, as an escape where it is not printable."""
    if clean(sign) == sign:
        return sign
    return "\\u007f" if sign == "\x7f" else json.dumps(sign).strip('"')
