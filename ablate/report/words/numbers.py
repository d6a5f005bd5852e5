"""Numbers as they are written in sentences and in the page's tables, and lists of names."""

import math
from collections.abc import Iterable, Sequence


def amount(value: float, signed: bool = False) -> str:
    """Return a difference with three decimals, with more where it would read as zero.

    >>> amount(0.4201), amount(-0.4201, signed=True), amount(0.00042), amount(0.0)
    ('0.420', '−0.420', '0.00042', '0.000')
    >>> amount(123456.7)
    '1.235e+05'
    """
    small, large = 0 < abs(value) < 0.0005, abs(value) >= 1e5
    digits = f"{abs(value):.2g}" if small else f"{abs(value):.{'4g' if large else '3f'}}"
    if float(digits) == 0:
        return digits
    return ("−" if value < 0 else "+" if signed else "") + digits


def spread(low: float, high: float) -> str:
    """Return an interval, with signs where it reaches below zero."""
    signed = low < 0 or high < 0
    return f"[{amount(low, signed)}, {amount(high, signed)}]"


def decimals(value: float) -> str:
    """Return a signed number with three decimals, for a column of them.

    >>> decimals(0.25), decimals(-0.25)
    ('+0.250', '−0.250')
    """
    return f"{'−' if math.copysign(1, value) < 0 else '+'}{abs(value):.3f}"


def p_text(p: float | None) -> str:
    """Return a p value with two digits.

    >>> p_text(0.0312), p_text(1e-9), p_text(None)
    ('p = 0.031', 'p < 0.0001', 'no p')
    """
    if p is None:
        return "no p"
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"


def p_decimals(p: float) -> str:
    """Return a p value with three decimals, for a column of them.

    >>> p_decimals(0.0314), p_decimals(0.00001)
    ('0.031', '< 0.001')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count_of(1, "seed"), count_of(2, "seed")
    ('1 seed', '2 seeds')
    """
    return f"{number} {noun}" + ("" if number == 1 else "s")


def some(names: Sequence[str], most: int = 3) -> str:
    """Return the first of some names, and how many more there are.

    >>> some(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def first_of(arms: Sequence[str], of: int = 0) -> str:
    """Return how many arms these are, by the first; `of` is how many there are.

    >>> first_of(["a", "b"]), first_of(["a"]), first_of(["a", "b"], of=2)
    ('2 arms, a first', 'a', 'all arms')
    """
    if len(arms) == of:
        return "all arms"
    return arms[0] if len(arms) == 1 else f"{len(arms)} arms, {arms[0]} first"


def enumerated(names: Iterable[str], most: int = 6) -> str:
    """Return names with commas, the rest as dots.

    >>> enumerated("abc", 2)
    'a, b, ...'
    """
    names = list(names)
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def together(names: Sequence[str]) -> str:
    """Return names as a list that ends with "and".

    >>> together(["a"]), together(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
