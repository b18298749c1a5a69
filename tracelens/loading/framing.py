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

from tracelens.model.events import Bools, Bytes, Int32s, Int64s

QUOTE: Final = ord('"')
OPEN: Final = ord("{")
CLOSE: Final = ord("}")
EVENT_DEPTH: Final = 1
"""Nesting of braces within an event."""
_BACKSLASH: Final = ord("\\")
_COMMA: Final = ord(",")
_FIRST_GAP: Final = re.compile(rb"[\s,]*+")
"""What is before the first event the reader has judged."""
_BRACKETS: Final = re.compile(rb"[\]:]|\[(?![^\"\[\]{}:]*+\])")
"""What begins or ends an array, but for one of words, or is no array: events behind it may not be of this one."""
_GAP: Final = re.compile(rb"[ \t\r\n]*,[ \t\r\n]*")
_LONGEST_GAP: Final = 64
"""Bytes of the usual gap between two events, with which the others are compared."""
_USUAL_RUN: Final = 16
"""Backslashes in a row that are counted for all quotes at once."""
_MOST_BRACES: Final = 1 << 17
"""Braces that are looked at together: of a slab that is full of them the rest waits, since each takes much memory."""
_DEEPEST: Final = 1024
"""Nesting that no JSON decoder follows: such text does not end as an event."""


def chars_in(chars: bytes) -> Bools:
    """Table that says of each byte whether it is one of these."""
    table = np.zeros(256, dtype=np.bool_)
    table[list(chars)] = True
    return table


_BEFORE_STRING: Final = b"{[,: \t\r\n"
_AFTER_STRING: Final = b"}],: \t\r\n"


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """The whole events at the head of a slab; all positions are in the slab."""

    starts: Int64s
    """Each event's opening brace."""
    ends: Int64s
    """Each event's closing brace."""
    odd_gaps: tuple[int, ...]
    """Events that have something else before them than white space and one comma, which is not theirs."""
    clean: bool
    """Whether nothing in the slab speaks against going on after the last event."""

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def stop(self) -> int:
        """Position behind the last event."""
        return int(self.ends[-1]) + 1 if len(self.ends) else 0


@dataclass(frozen=True, eq=False, slots=True)
class MarkedFrame(Frame):
    """Events that may be damaged within, with their strings and their braces."""

    opens: Int64s
    """Opening quote of each string."""
    closes: Int64s
    """Closing quote of each string."""
    after: Bytes
    """The character behind each string."""
    braces: Int64s
    """Each brace outside strings."""
    depth: Int32s
    """Nesting depth of braces after each brace; 1 within an event."""
    is_open: Bools
    """Whether each brace opens."""
    strings_before: Int64s
    """How many strings lie before each brace."""


def frame_events(data: bytes) -> MarkedFrame:
    """The whole events at the head of `data`, which begins between two events of an array."""
    text = np.frombuffer(data, dtype=np.uint8)
    found = _braces(text)
    crowded = len(found) > _MOST_BRACES
    opens, closes, braces, strings_before = _marks(text, data, found[:_MOST_BRACES])
    is_open = text.take(braces) == OPEN
    depth = np.cumsum(is_open.astype(np.int32) * 2 - 1, dtype=np.int32)
    after, trusted = _trusted(text, opens, closes)
    below = np.flatnonzero((depth < 0) | (depth > _DEEPEST))
    limit = min(int(np.searchsorted(braces, trusted)), int(below[0]) if len(below) else len(braces))
    begin = np.flatnonzero(is_open[:limit] & (depth[:limit] == EVENT_DEPTH))
    end = np.flatnonzero(~is_open[:limit] & (depth[:limit] == 0))
    starts, ends = braces[begin[: len(end)]], braces[end]
    whole, odd_gaps = _regular(data, text, starts, ends)
    last = int(end[whole - 1]) + 1 if whole else 0
    strings = int(strings_before[last - 1]) if whole else 0
    return MarkedFrame(
        starts[:whole],
        ends[:whole],
        odd_gaps,
        whole == len(end) and limit == len(braces) and (whole > 0 or not crowded),
        opens[:strings],
        closes[:strings],
        after[:strings],
        braces[:last],
        depth[:last],
        is_open[:last],
        strings_before[:last],
    )


def _braces(text: Bytes) -> Int64s:
    mask = text == OPEN
    mask |= text == CLOSE
    return np.flatnonzero(mask)


def _marks(text: Bytes, data: bytes, braces: Int64s) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """Quotes that open and that close strings; of the braces those outside strings, and how many strings are before
    them."""
    quotes = np.flatnonzero(text == QUOTE)
    if b"\\" in data:
        quotes = np.delete(quotes, escaped(text, data, quotes))
    quotes_before = np.searchsorted(quotes, braces)
    outside = np.flatnonzero((quotes_before & 1) == 0)
    opens, closes = quotes[0::2], quotes[1::2]
    whole = len(closes)
    return opens[:whole].copy(), closes.copy(), braces.take(outside), quotes_before.take(outside) >> 1


def escaped(text: Bytes, data: bytes, quotes: Int64s) -> Int64s:
    """Which of the quotes, at these places, have an odd number of backslashes before them."""
    found = np.flatnonzero((text.take(quotes - 1, mode="clip") == _BACKSLASH) & (quotes > 0))
    place = quotes.take(found)
    count = np.ones(len(found), dtype=np.int64)
    rest = np.arange(len(found))
    for _ in range(_USUAL_RUN):
        rest = rest[text.take(place[rest] - count[rest] - 1, mode="clip") == _BACKSLASH]
        count[rest] += 1
    for one in rest.tolist():
        count[one] = _backslashes_before(data, int(place[one]))
    return found[count & 1 == 1]


def _backslashes_before(data: bytes, at: int) -> int:
    """How many backslashes end at a place, looked for in pieces that grow with them."""
    size = _USUAL_RUN
    while True:
        piece = data[max(at - size, 0) : at]
        count = len(piece) - len(piece.rstrip(b"\\"))
        if count < size:
            return count
        size *= 4


def _trusted(text: Bytes, opens: Int64s, closes: Int64s) -> tuple[Bytes, int]:
    """The character behind each string, and the position of the first string that no JSON text can hold."""
    before = text.take(opens - 1, mode="clip")
    after = text.take(closes + 1, mode="clip")
    if len(closes) and closes[-1] + 1 == len(text):
        after[-1] = _COMMA
    if not before.tobytes().translate(None, _BEFORE_STRING) and not after.tobytes().translate(None, _AFTER_STRING):
        return after, len(text)
    fits = chars_in(_BEFORE_STRING).take(before) & chars_in(_AFTER_STRING).take(after)
    return after, int(opens[np.argmin(fits)])


def _regular(data: bytes, text: Bytes, starts: Int64s, ends: Int64s) -> tuple[int, tuple[int, ...]]:
    """How many of the leading events are of one array, and which have something odd before them."""
    odd: list[int] = []
    if not len(starts):
        return 0, ()
    before = np.concatenate((np.zeros(1, dtype=np.int64), ends[:-1] + 1))
    middle = len(starts) // 2
    usual = data[int(before[middle]) : int(starts[middle])][:_LONGEST_GAP]
    same = starts - before == (len(usual) if _GAP.fullmatch(usual) else -1)
    for shift, char in enumerate(usual):
        same &= text.take(before + shift, mode="clip") == char
    sound: dict[bytes, bool] = {}
    for index in np.flatnonzero(~same).tolist():
        gap = data[before[index] : starts[index]]
        if gap not in sound:
            if _BRACKETS.search(gap):
                return index, tuple(odd)
            sound[gap] = bool(_GAP.fullmatch(gap))
        if not (sound[gap] or (index == 0 and _FIRST_GAP.fullmatch(gap))):
            odd.append(index)
    return len(starts), tuple(odd)
