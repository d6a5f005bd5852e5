"""What stands for signs that a stream of another encoding cannot show: none is lost."""

import codecs
import unicodedata

PLAIN = {
    "✓": "+",
    "✗": "x",
    "→": "->",
    "←": "<-",
    "−": "-",
    "–": "-",
    "±": "+-",
    "≤": "<=",
    "∝": "~",
    "·": "*",
    "⊙": "*",
    "×": "x",
    "÷": "/",
    "½": "1/2",
    "¼": "1/4",
    "√": "sqrt",
    "⌊": "floor(",
    "⌋": ")",
    "‖": "||",
    "…": "...",
    "═": "=",
    "─": "-",
    "�": "?",
    "“": '"',
    "”": '"',
    "’": "'",
    **{bar: str(height) for height, bar in enumerate("▁▂▃▄▅▆▇█", 1)},
}
RAISED = {"<super>": "^", "<sub>": "_"}


def stand_in(sign: str) -> str:
    """ASCII for one sign; a Greek letter by its name, any other that has none as Python writes it.

    >>> [stand_in(sign) for sign in "−²θ"], stand_in("字") == ascii("字").strip("'")
    (['-', '^2', 'theta'], True)
    """
    if sign.isascii():
        return sign
    if sign in PLAIN:
        return PLAIN[sign]
    kind, *codes = unicodedata.decomposition(sign).split() or [""]
    if kind in RAISED:
        return RAISED[kind] + "".join(stand_in(chr(int(code, 16))) for code in codes)
    name = unicodedata.name(sign, "")
    if name.startswith("GREEK") and " LETTER " in name and " WITH " not in name:
        word = name.rpartition(" ")[2]
        return word.capitalize() if "CAPITAL" in name else word.lower()
    return ascii(sign).strip("'")


def in_place(error: UnicodeError) -> tuple[str, int]:
    """The error handler SHOWN of our streams: what is written in place of what they cannot show."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(stand_in, error.object[error.start : error.end])), error.end


SHOWN = "ablate.shown"
codecs.register_error(SHOWN, in_place)
