"""Mending changes as little as it can."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.loading.mend import mend

CASES = {
    "empty fragments": ('{"a": 1, , "b": [2,], "c": {, "d": 3}}', {"a": 1, "b": [2], "c": {"d": 3}}, ["spare commas"]),
    "a spare comma behind white space": ('{"a": [ ,2], "b": 1 ,}', {"a": [2], "b": 1}, ["spare commas"]),
    "numbers": (
        '{"a": [007, -01.5, 1e999, 1e5, 12x, -0], "b": 1}',
        {"a": [7, -1.5, None, 1e5, None, 0], "b": 1},
        ["values that are not JSON (NaN, inf, N/A)"],
    ),
    "words between texts": (
        r'{"a \" nan": nan, "b": "nan, \"inf\"", "c": [inf,nan]}',
        {'a " nan': None, "b": 'nan, "inf"', "c": [None, None]},
        ["values that are not JSON (NaN, inf, N/A)"],
    ),
    "quotes behind a pair of backslashes": (r'{"k": "a\\"b", "n": 1}', {"k": 'a\\"b', "n": 1}, ["unescaped quotes"]),
    "commas in text stay": ('{"a": "x,, y, ]", "b": 1,}', {"a": "x,, y, ]", "b": 1}, ["spare commas"]),
    "bare words": (
        '{"a": nan, "b": [-inf, N/A, 1e5], "c": "nan"}',
        {"a": None, "b": [None, None, 1e5], "c": "nan"},
        ["values that are not JSON (NaN, inf, N/A)"],
    ),
    "separators of a path": (
        r'{"a": "C:\new\table\x", "b": "a\tb"}',
        {"a": r"C:\new\table\x", "b": "a\tb"},
        ["stray backslashes"],
    ),
    "an escaped quote stays": (r'{"a": "C:\dir \"x\" \\ y"}', {"a": r'C:\dir "x" \ y'}, ["stray backslashes"]),
    "raw newline": ('{"a": "x\ny"}', {"a": "x\ny"}, ["control characters in text"]),
    "a pair of surrogates stays": (r'{"a": "\ud83d\ude00 \udc00"}', {"a": "😀 \ufffd"}, ["lone surrogates"]),
    "two kinds": (
        '{"a": "x\ty", "b": nan}',
        {"a": "x\ty", "b": None},
        ["control characters in text", "values that are not JSON (NaN, inf, N/A)"],
    ),
    "quotes in a list": ('{"k": ["a"b"], "n": 1}', {"k": ['a"b'], "n": 1}, ["unescaped quotes"]),
}


@pytest.mark.parametrize("case", CASES)
def test_damage_is_mended_and_named(case: str) -> None:
    text, value, kinds = CASES[case]
    assert mend(text.encode()) == (value, kinds)


@pytest.mark.parametrize("text", [b"", b"{", b'{"a"}', b"}{", b'{"a": }'])
def test_what_is_beyond_mending_is_given_up(text: bytes) -> None:
    assert mend(text) is None


IN_64_BITS = st.integers(-(2**63), 2**64 - 1)
"""Longer integers are read as floats."""


@given(
    st.recursive(
        st.text() | IN_64_BITS | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_sound_json_is_left_alone(value: object) -> None:
    text = json.dumps(value).encode()
    if b"\\ud" not in text:
        assert mend(text) == (json.loads(text), [])


@given(st.binary(max_size=60))
def test_any_bytes_end_in_a_value_or_in_nothing(data: bytes) -> None:
    mended = mend(b'{"a": ' + data + b"}")
    assert mended is None or isinstance(mended[1], list)
