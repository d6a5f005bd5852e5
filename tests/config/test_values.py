"""What is written for a value is read as that value, by Hydra's own parser."""

import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ablate.config.values import brief, read, write
from ablate.errors import UserError

TRICKY = [
    *("", " ", "null", "True", "inf", "-nan", "+1", "1_0", "1e5", ".5", "5.", "007", "1-2"),
    *(
        "${x}",
        "\\${",
        "$",
        "'",
        '"',
        "'\"",
        "\\",
        "\\'",
        "a\\",
        "\\'\"",
        "a\\\\'b",
        "a:b",
        "a=b",
        "a,b",
    ),
    *("[a]", "{a:1}", "f(x)", "a b", " a", "a ", "#a", "~", "ü", "\n", "???"),
]
signs = st.sampled_from(list("ab10.-+eE_ \t,=:'\"\\(){}[]$/%*@?|~#&üß漢\n"))
strings = st.one_of(
    st.text(signs, max_size=8),
    st.sampled_from(TRICKY),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), strings)
keys = st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_ ,:=()\\.-]*[A-Za-z0-9]\Z").filter(
    lambda key: key.lower() not in ("null", "true", "false", "inf", "nan")
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)


def alike(one: Any, other: Any) -> bool:
    """Equal with equal types all the way down; nan is like nan."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(map(alike, one.values(), other.values()))
    return bool(one == other) or (isinstance(one, float) and math.isnan(one) and math.isnan(other))


@pytest.mark.parametrize("text", TRICKY)
def test_a_string_is_read_as_itself_alone_and_inside_another_value(text: str) -> None:
    for value in (text, [text, text], {"a": text, "b": [text]}):
        assert alike(read(write(value)), value)


@given(value=values)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_what_is_written_is_read_as_the_same_value(value: Any) -> None:
    assert alike(read(write(value)), value)


@given(value=values)
@settings(max_examples=60, deadline=None, derandomize=True)
@example(value=[0.5, "a"])
@example(value={"a": None})
@example(value=math.nan)
def test_no_string_looks_like_a_value_that_it_is_not(value: Any) -> None:
    for text in (write(value), brief(value)):
        assert (brief(text) == brief(value)) == (text == value)
        assert brief([text]) != brief(value)


@given(value=st.floats(allow_nan=False))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_brief_number_is_still_that_number(value: float) -> None:
    assert float(brief(value)) == float(read(write(value))) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.001, "0.001"),
        (1e-05, "1e-05"),
        (1e6, "1e+06"),
        (10000, "10000"),
        (10000.0, "10000.0"),
        (1234567.0, "1234567.0"),
        (0.00123456789, "0.00123456789"),
        ("cuda:0", "cuda:0"),
        ("???", "???"),
        ("a,b", "'a,b'"),
        ("it's", '"it\'s"'),
    ],
)
def test_a_value_is_written_as_short_as_it_can_be(value: Any, text: str) -> None:
    assert write(value) == text


@pytest.mark.parametrize("text", ["1,2", "[1", "${depth}", "a=b", "range(0,3)"])
def test_what_is_no_value_is_told(text: str) -> None:
    with pytest.raises(UserError, match="value"):
        read(text)


@pytest.mark.parametrize("key", ["ü", "1", "null", "'"])
def test_a_key_that_hydra_cannot_spell_is_written_but_not_read(key: str) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read(write({key: 1}))
