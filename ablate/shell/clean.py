"""Texts of strangers (names, records) without what would steer a terminal."""

import unicodedata


def clean(value: str) -> str:
    """Replace what is not printable: control codes, direction marks, lone surrogates.

    >>> clean("pos=\\x1b[31mrope\\n")
    'pos=�[31mrope '
    """
    if value.isascii() and value.isprintable():
        return value
    return "".join(
        " " if char in "\n\r\t" else "�" if unicodedata.category(char)[0] == "C" else char
        for char in value
    )
