"""The members (key and value) of framed events, as arrays: who they belong to, what they are, where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tracelens.loading.framing import CLOSE, OPEN, QUOTE, Frame, chars_in
from tracelens.loading.keys import ARGS_DEPTH, EVENT_DEPTH, Key, codes_of
from tracelens.loading.words import KEEP, Words
from tracelens.model.events import Bools, Bytes, Int32s, Int64s

_COLON: Final = ord(":")
_SPACE: Final = ord(" ")
_BRACKET: Final = ord("[")
_MINUS: Final = ord("-")
_LITERALS: Final = np.array([int.from_bytes(word, "little") for word in (b"null", b"true", b"fals")], dtype=np.uint64)


_WHITE: Final = chars_in(b" \t\r\n")
_BETWEEN: Final = chars_in(b", \t\r\n")
_VALUE_STARTS: Final = chars_in(b'"[{0123456789')
_DIGITS: Final = chars_in(b"0123456789")


@dataclass(frozen=True, eq=False, slots=True)
class Members:
    """Wanted members of events and of their args, in file order."""

    row: Int32s
    """Which event."""
    code: Bytes
    """Which key."""
    value: Int64s
    """Position of the value's first character."""
    first: Bytes
    """That character."""
    end: Int64s
    """Position behind the value: of strings the closing quote, otherwise where the next member or a brace follows."""
    odd: Int64s
    """Events of unusual shape, to be decoded one by one."""


def members_of(text: Bytes, words: Words, frame: Frame) -> Members:
    """Find the members of all events of a frame; `text` is padded."""
    opening = np.flatnonzero(frame.chars == QUOTE)[0::2]
    start, close, depth = frame.marks[opening], frame.marks[opening + 1], frame.depth[opening]
    colon, is_key = _colons(text, close)
    is_key &= depth <= ARGS_DEPTH
    keys = np.flatnonzero(is_key)
    value = _after_space(text, colon[keys] + 1)
    first = text[value]
    code = codes_of(words, start[keys] + 1, (close - start)[keys] - 1, (depth[keys] - EVENT_DEPTH).astype(np.uint8))
    row = _rows(frame)[opening[keys]]
    odd = (
        row[_senseless(words, value, first)],
        row[_loose_strings(start, depth, is_key, value, first)],
        _odd_args(frame, opening[keys] + 1, code),
    )
    wanted = np.flatnonzero(code != Key.NONE)
    end = _ends(text, frame, wanted, row, depth[keys], start[keys])
    quoted = np.flatnonzero(first[wanted] == QUOTE)
    end[quoted] = close[keys[wanted[quoted]] + 1]
    return Members(row[wanted], code[wanted], value[wanted], first[wanted], end, np.concatenate(odd))


def _rows(frame: Frame) -> Int32s:
    """Which event each mark belongs to."""
    begins = (frame.chars == OPEN) & (frame.depth == EVENT_DEPTH)
    return np.cumsum(begins, dtype=np.int32) - 1


def _colons(text: Bytes, close: Int64s) -> tuple[Int64s, Bools]:
    """Position of what follows each string but for white space, and whether it is a colon."""
    after = _after_space(text, close + 1)
    return after, text[after] == _COLON


def _after_space(text: Bytes, at: Int64s) -> Int64s:
    """Move positions past white space."""
    at = at + (text[at] == _SPACE)
    rest = np.flatnonzero(_WHITE[text[at]])
    while len(rest):
        at[rest] += 1
        rest = rest[_WHITE[text[at[rest]]]]
    return at


def _senseless(words: Words, value: Int64s, first: Bytes) -> Int64s:
    """Members whose value begins like no JSON value: NaN, inf, N/A and the like."""
    unusual = np.flatnonzero(~_VALUE_STARTS[first])
    literal = np.isin(words[value[unusual]] & KEEP[4], _LITERALS)
    minus = (first[unusual] == _MINUS) & _DIGITS[(words[value[unusual]] >> np.uint64(8)) & np.uint64(255)]
    return unusual[~(literal | minus)]


def _loose_strings(start: Int64s, depth: Int32s, is_key: Bools, value: Int64s, first: Bytes) -> Int64s:
    """Members followed by a string that is neither their value nor within it: a name with bare quotes."""
    loose = np.flatnonzero(~is_key & (depth <= ARGS_DEPTH))
    owner = np.maximum(np.cumsum(is_key)[loose] - 1, 0)
    if not len(value):
        return owner[:0]
    fits = (value[owner] == start[loose]) | (first[owner] == _BRACKET) | (first[owner] == OPEN)
    return owner[~fits]


def _odd_args(frame: Frame, key_close: Int64s, code: Bytes) -> Int32s:
    """Events with an object that is not the value of `args`, or with two of them."""
    code_at = np.zeros(len(frame.marks), dtype=np.uint8)
    code_at[key_close] = code
    objects = np.flatnonzero((frame.chars == OPEN) & (frame.depth == ARGS_DEPTH))
    row = _rows(frame)[objects]
    strange = code_at[objects - 1] != Key.ARGS
    strange[1:] |= row[1:] == row[:-1]
    return row[strange]


def _ends(text: Bytes, frame: Frame, wanted: Int64s, row: Int32s, depth: Int32s, start: Int64s) -> Int64s:
    """Position behind each wanted value of args that is no string, white space and comma left out."""
    closing = np.flatnonzero((frame.chars == CLOSE) & (frame.depth == EVENT_DEPTH))
    args_end = frame.ends.copy()
    args_end[_rows(frame)[closing]] = frame.marks[closing]
    owner, level = row[wanted], depth[wanted]
    following = np.minimum(wanted + 1, len(row) - 1)
    more = (row[following] == owner) & (depth[following] == level) & (following > wanted)
    return np.where(more, start[following], np.where(level == EVENT_DEPTH, frame.ends[owner], args_end[owner]))


def trimmed(text: Bytes, end: Int64s) -> Int64s:
    """Move ends back over white space and commas."""
    end = end.copy()
    rest = np.arange(len(end))
    while len(rest):
        rest = rest[_BETWEEN[text[end[rest] - 1]]]
        end[rest] -= 1
    return end
