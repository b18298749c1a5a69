"""Nested JSON values for property tests, made of one draw each: a draw for every part takes a hundred times as long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

_TEXT = 'ab"\\{}[],: \né\0'
_SCALARS = (None, 0, -7, 10**18, 1.5, -2e-300, True, False)
_DEEPEST = 5


def values() -> st.SearchStrategy[Any]:
    """Any JSON value."""
    return st.binary(max_size=120).map(lambda data: _value(iter(data), 0))


def objects(most: int) -> st.SearchStrategy[list[dict[str, Any]]]:
    """A list of at most so many objects."""
    return st.lists(st.binary(max_size=60).map(lambda data: _object(iter(data), 0)), max_size=most)


def _value(choices: Iterator[int], depth: int) -> object:
    """The value that these choices make; each that lacks is 0."""
    kind = next(choices, 0)
    if depth < _DEEPEST and kind % 4 == 1:
        return [_value(choices, depth + 1) for _ in range(kind // 4 % 4)]
    if depth < _DEEPEST and kind % 4 == 2:
        return _object(choices, depth + 1)
    return _text(choices, kind // 4 % 13) if kind % 4 == 3 else _SCALARS[kind // 4 % len(_SCALARS)]


def _object(choices: Iterator[int], depth: int) -> dict[str, Any]:
    count = next(choices, 0) % 5
    return {_text(choices, next(choices, 0) % 4): _value(choices, depth) for _ in range(count)}


def _text(choices: Iterator[int], length: int) -> str:
    return "".join(_TEXT[next(choices, 0) % len(_TEXT)] for _ in range(length))
