"""Where a JSON value ends, found without reading it."""

from __future__ import annotations

import json
import re
from typing import Final

import numpy as np

from tracelens.loading.framing import QUOTE, escaped

_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_LITERAL: Final = re.compile(rb'[^,}\]"\n]*+')
_DECODER: Final = json.JSONDecoder(strict=False)
_UNENDED: Final = "Unterminated string"
"""Its place is where the string begins: it may end behind the text."""
PIECE: Final = 1 << 18
"""Bytes that are looked at together: arrays of their brackets stay small."""
_STEP: Final = np.zeros(256, dtype=np.int8)
_STEP[list(b"[{")] = 1
_STEP[list(b"]}")] = -1
"""What each byte outside strings does to the depth of nesting."""


def end_of_value(data: bytes) -> int | None:
    """Position behind the JSON value at the head of the text, None if it does not end in it."""
    if data[:1] in (b"{", b"["):
        return _end_of_nesting(data)
    if data[:1] == b'"':
        found = _STRING.match(data)
        return found.end() if found else None
    end = _LITERAL.match(data).end()  # pyright: ignore[reportOptionalMemberAccess] - it matches nothing as well
    return end if end < len(data) else None


def end_or_break(data: bytes) -> tuple[int, bool]:
    """Length of the object or array at the head of the text and True; else how far it surely is one, and False.

    The length is right also where a value is NaN or holds control characters or bytes that are not UTF-8."""
    try:
        return (_DECODER.raw_decode(data.decode("latin-1"))[1], True) if data[:1] in (b"{", b"[") else (0, False)
    except json.JSONDecodeError as error:
        return (0 if error.msg.startswith(_UNENDED) else error.pos), False
    except (ValueError, RecursionError):
        return 0, False


def _end_of_nesting(data: bytes) -> int | None:
    """The same of an object or array."""
    text = np.frombuffer(data, dtype=np.uint8)
    depth, inside = 0, 0
    for begin in range(0, len(text), PIECE):
        piece = text[begin : begin + PIECE]
        quotes = np.flatnonzero(piece == QUOTE) + begin
        quotes = np.delete(quotes, escaped(text, data, quotes))
        marks = np.flatnonzero(_STEP.take(piece)) + begin
        marks = marks[(np.searchsorted(quotes, marks) + inside) & 1 == 0]
        depths = np.cumsum(_STEP.take(text.take(marks)), dtype=np.int64) + depth
        closing = np.flatnonzero(depths == 0)
        if len(closing):
            return int(marks[closing[0]]) + 1
        depth = int(depths[-1]) if len(depths) else depth
        inside = (inside + len(quotes)) & 1
    return None
