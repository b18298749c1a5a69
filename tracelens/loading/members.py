"""The members (key and value) of framed events, as arrays: who they belong to, what they are, where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tracelens.loading.framing import EVENT_DEPTH, OPEN, QUOTE, Frame, chars_in
from tracelens.loading.keys import ARGS_DEPTH, IS_TEXT, Key, codes_of
from tracelens.loading.words import KEEP, Text
from tracelens.model.events import Bools, Bytes, Int32s, Int64s

_COLON: Final = ord(":")
_SPACE: Final = ord(" ")
_BRACKET: Final = ord("[")
_MINUS: Final = ord("-")
_LITERALS: Final = np.array([int.from_bytes(word, "little") for word in (b"null", b"true", b"fals")], dtype=np.uint64)
_WHITE: Final = chars_in(b" \t\r\n")
_BETWEEN: Final = chars_in(b", \t\r\n")
_UNUSUAL_START: Final = ~chars_in(b'"[{0123456789')
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
    """Of strings the closing quote; of other texts where the next member or a brace follows; else anything."""
    odd: npt.NDArray[np.integer]
    """Events of unusual shape, to be decoded one by one."""


@dataclass(frozen=True, eq=False, slots=True)
class _Keys:
    """All keys of events and of args."""

    string: Int64s
    """Which of the frame's strings."""
    row: Int32s
    depth: npt.NDArray[np.int8]
    code: Bytes
    value: Int64s
    first: Bytes


def members_of(text: Text, frame: Frame) -> Members:
    """Find the members of all events of a frame."""
    following = np.diff(frame.strings_before, append=len(frame.opens))
    depth = np.repeat(frame.depth.astype(np.int8), following)
    row_of_brace = np.cumsum(frame.is_open & (frame.depth == EVENT_DEPTH), dtype=np.int32) - 1
    row = np.repeat(row_of_brace, following)
    keys = _keys(text, frame, row, depth)
    odd = (
        keys.row[_senseless(text, keys)],
        keys.row[_loose_strings(frame, keys)],
        _odd_args(frame, row_of_brace, keys),
    )
    wanted = np.flatnonzero(keys.code)
    return Members(
        keys.row.take(wanted),
        keys.code.take(wanted),
        keys.value.take(wanted),
        keys.first.take(wanted),
        _ends(frame, row_of_brace, keys, wanted),
        np.concatenate(odd),
    )


def _keys(text: Text, frame: Frame, row: Int32s, depth: npt.NDArray[np.int8]) -> _Keys:
    """Strings before a colon, at the depth of events or their args."""
    colon, is_key = _colons(text, frame)
    is_key &= depth <= ARGS_DEPTH
    string = np.flatnonzero(is_key)
    start, level = frame.opens.take(string) + 1, depth.take(string)
    code = codes_of(text, start, frame.closes.take(string) - start, (level - EVENT_DEPTH).view(np.uint8))
    value = colon.take(string) + 1
    value += text.at(value) == _SPACE
    first = text.at(value)
    spaced = np.flatnonzero(_WHITE.take(first))
    if len(spaced):
        value[spaced] = _after_space(text, value[spaced])
        first[spaced] = text.at(value[spaced])
    return _Keys(string, row.take(string), level, code, value, first)


def _colons(text: Text, frame: Frame) -> tuple[Int64s, Bools]:
    """Position of what follows each string but for white space, and whether it is a colon."""
    place, is_colon = frame.closes + 1, frame.after == _COLON
    spaced = np.flatnonzero(_WHITE.take(frame.after))
    if len(spaced):
        place[spaced] = _after_space(text, place[spaced])
        is_colon[spaced] = text.at(place[spaced]) == _COLON
    return place, is_colon


def _after_space(text: Text, at: Int64s) -> Int64s:
    """Move positions past white space."""
    rest = np.arange(len(at))
    while len(rest):
        rest = rest[_WHITE.take(text.at(at[rest]))]
        at[rest] += 1
    return at


def _senseless(text: Text, keys: _Keys) -> Int64s:
    """Keys whose value begins like no JSON value: NaN, inf, N/A and the like."""
    unusual = np.flatnonzero(_UNUSUAL_START.take(keys.first))
    word = text.words_at(keys.value[unusual])
    literal = np.isin(word & KEEP[4], _LITERALS)
    negative = (keys.first[unusual] == _MINUS) & _DIGITS[(word >> np.uint64(8)) & np.uint64(255)]
    return unusual[~(literal | negative)]


def _loose_strings(frame: Frame, keys: _Keys) -> Int64s:
    """Keys followed by other strings than their value holds: the value is a name with bare quotes."""
    strings = np.diff(keys.string, append=len(frame.opens)) - 1
    open_ended = (keys.first == _BRACKET) | (keys.first == OPEN)
    return np.flatnonzero((strings != (keys.first == QUOTE)) & ~open_ended)


def _odd_args(frame: Frame, row_of_brace: Int32s, keys: _Keys) -> Int32s:
    """Events with an object that is not the value of `args`, or with two of them."""
    objects = np.flatnonzero(frame.is_open & (frame.depth == ARGS_DEPTH))
    row = row_of_brace.take(objects)
    args_keys = keys.string[(keys.code == Key.ARGS) & (keys.first == OPEN)]
    before = frame.strings_before.take(objects) - 1
    if np.array_equal(before, args_keys) and (len(row) < 2 or bool(np.all(row[1:] > row[:-1]))):
        return row[:0]
    strange = ~np.isin(before, args_keys)
    strange[1:] |= row[1:] == row[:-1]
    return row[strange]


def _ends(frame: Frame, row_of_brace: Int32s, keys: _Keys, wanted: Int64s) -> Int64s:
    """End of each wanted value that is a string or a text of args."""
    end = frame.closes.take(keys.string.take(wanted) + 1, mode="clip")
    other = np.flatnonzero(IS_TEXT.take(keys.code.take(wanted)) & (keys.first.take(wanted) != QUOTE))
    if not len(other):
        return end
    closing = np.flatnonzero(~frame.is_open & (frame.depth == EVENT_DEPTH))
    args_end = frame.ends.copy()
    args_end[row_of_brace.take(closing)] = frame.braces.take(closing)
    key = wanted.take(other)
    after = np.minimum(key + 1, len(keys.row) - 1)
    owner = keys.row.take(key)
    more = (keys.row.take(after) == owner) & (keys.depth.take(after) == ARGS_DEPTH) & (after > key)
    end[other] = np.where(more, frame.opens.take(keys.string.take(after)), args_end.take(owner))
    return end


def trimmed(text: Text, end: Int64s) -> Int64s:
    """Move ends back over white space and commas."""
    end = end.copy()
    rest = np.arange(len(end))
    while len(rest):
        rest = rest[_BETWEEN.take(text.at(end.take(rest) - 1))]
        end[rest] -= 1
    return end
