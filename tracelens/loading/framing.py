"""Where events begin and end in a slab of JSON text, found in one vectorised pass.

Quotes and braces are indexed together; braces within strings are struck out, and the nesting depth of the
rest delimits the events. A string whose surroundings no JSON string can have is where trust ends: the frame
stops before the event that holds it, and the caller reads that one by other means.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tracelens.model.events import Bools, Bytes, Int64s

QUOTE: Final = ord('"')
OPEN: Final = ord("{")
CLOSE: Final = ord("}")
_BACKSLASH: Final = ord("\\")
_GAP: Final = re.compile(rb"\s*,?\s*")


def chars_in(chars: bytes) -> Bools:
    """Table that says of each byte whether it is one of these."""
    table = np.zeros(256, dtype=np.bool_)
    table[list(chars)] = True
    return table


_BEFORE_STRING: Final = chars_in(b"{[,: \t\r\n")
_AFTER_STRING: Final = chars_in(b"}],: \t\r\n")


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """The whole events at the head of a slab, and the marks (quotes and structural braces) within them."""

    starts: Int64s
    """Position of each event's opening brace."""
    ends: Int64s
    """Position of each event's closing brace."""
    marks: Int64s
    """Positions of quotes and of braces outside strings, up to the last event's end."""
    chars: Bytes
    """The character at each mark."""
    depth: npt.NDArray[np.int32]
    """Nesting depth of braces after each mark; 1 within an event."""
    clean: bool
    """Whether nothing in the slab spoke against going on after the last event."""

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def stop(self) -> int:
        """Position behind the last event."""
        return int(self.ends[-1]) + 1 if len(self.ends) else 0


def frame_events(data: bytes) -> Frame:
    """The whole events at the head of `data`, which begins between two events of an array."""
    text = np.frombuffer(data, dtype=np.uint8)
    marks, chars = _marks(text, data)
    trusted = _trusted(text, marks, chars)
    depth = np.cumsum((chars == OPEN).astype(np.int8) - (chars == CLOSE), dtype=np.int32)
    below = np.flatnonzero(depth[:trusted] < 0)
    limit = int(below[0]) if len(below) else trusted
    starts = np.flatnonzero((chars[:limit] == OPEN) & (depth[:limit] == 1))
    ends = np.flatnonzero((chars[:limit] == CLOSE) & (depth[:limit] == 0))
    whole = _regular(data, text, marks[starts[: len(ends)]], marks[ends])
    last = int(ends[whole - 1]) + 1 if whole else 0
    clean = whole == len(ends) and limit == len(marks)
    return Frame(marks[starts[:whole]], marks[ends[:whole]], marks[:last], chars[:last], depth[:last], clean)


def _marks(text: Bytes, data: bytes) -> tuple[Int64s, Bytes]:
    """Unescaped quotes and braces outside strings."""
    marks = np.flatnonzero((text == QUOTE) | (text == OPEN) | (text == CLOSE))
    chars = text[marks]
    if b"\\" in data:
        plain = ~((chars == QUOTE) & _escaped(text, marks))
        marks, chars = marks[plain], chars[plain]
    quotes = chars == QUOTE
    inside = (np.cumsum(quotes, dtype=np.int32) & 1).astype(np.bool_) & ~quotes
    if inside.any():
        marks, chars = marks[~inside], chars[~inside]
    return marks, chars


def _escaped(text: Bytes, at: Int64s) -> Bools:
    """Whether an odd number of backslashes stands before each position."""
    slashes = np.flatnonzero(text == _BACKSLASH)
    run_start = np.maximum.accumulate(np.where(np.diff(slashes, prepend=-2) > 1, slashes, 0))
    before = np.searchsorted(slashes, at) - 1
    follows = (before >= 0) & (slashes[before] == at - 1)
    return follows & (((at - run_start[before]) & 1) == 1)


def _trusted(text: Bytes, marks: Int64s, chars: Bytes) -> int:
    """How many marks lie before the first string that no JSON text can hold."""
    quotes = np.flatnonzero(chars == QUOTE)
    opening, closing = quotes[0::2], quotes[1::2]
    before = text[np.maximum(marks[opening] - 1, 0)]
    after = text[np.minimum(marks[closing] + 1, len(text) - 1)]
    odd_open = opening[~_BEFORE_STRING[before] & (marks[opening] > 0)]
    odd_close = closing[~_AFTER_STRING[after] & (marks[closing] + 1 < len(text))]
    firsts = [int(odd[0]) for odd in (odd_open, odd_close) if len(odd)]
    return min(firsts, default=len(marks))


def _regular(data: bytes, text: Bytes, starts: Int64s, ends: Int64s) -> int:
    """How many of the leading events have nothing but white space and at most one comma before them."""
    if not len(starts):
        return 0
    before = np.concatenate((np.zeros(1, dtype=np.int64), ends[:-1] + 1))
    width = starts - before
    usual = int(width[len(width) // 2])
    pattern = data[int(before[len(width) // 2]) :][:usual]
    same = width == usual
    for shift, char in enumerate(pattern[:64]):
        same &= text[np.minimum(before + shift, len(text) - 1)] == char
    odd = np.flatnonzero(~same) if len(pattern) <= 64 and _GAP.fullmatch(pattern) else np.arange(len(width))
    for index in map(int, odd):
        if not _GAP.fullmatch(data, int(before[index]), int(starts[index])):
            return index
    return len(starts)
