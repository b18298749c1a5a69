"""The members (key and value) of framed events, as arrays: who they belong to, what they are, where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tracelens.loading.fields import Kind
from tracelens.loading.framing import EVENT_DEPTH, OPEN, QUOTE, MarkedFrame, chars_in
from tracelens.loading.keys import ARGS_DEPTH, LAST_CODE, Key, codes_of, codes_of_kind
from tracelens.loading.words import KEEP, Text
from tracelens.model.events import Bytes, Int64s

_COLON: Final = ord(":")
_SPACE: Final = ord(" ")
_BRACKET: Final = ord("[")
_MINUS: Final = ord("-")
_LITERALS: Final = np.array([int.from_bytes(word, "little") for word in (b"null", b"true", b"fals")], dtype=np.uint64)
_USUAL_START: Final = b'"[{0123456789'
_DIGITS: Final = chars_in(b"0123456789")
_KINDS: Final = {kind: codes_of_kind(kind) for kind in Kind}


@dataclass(frozen=True, eq=False, slots=True)
class Members:
    """Wanted members of events and of their args, sorted by their key; those with one key are in file order."""

    row: Int64s
    """Which event."""
    value: Int64s
    """Position of the value's first character."""
    first: Bytes
    """That character."""
    text_end: Int64s
    """Of a string the closing quote; of another value of kind TEXT where what follows begins, so that white space and
    a comma may come before."""
    odd: npt.NDArray[np.integer]
    """Events of unusual shape, to be decoded one by one."""
    _bounds: list[int]

    def __len__(self) -> int:
        return len(self.row)

    def having(self, key: int) -> slice:
        """The members with this key."""
        return slice(self._bounds[key], self._bounds[key + 1])

    def of_kind(self, kind: Kind) -> slice:
        """The members whose value is of this kind."""
        first, stop = _KINDS[kind]
        return slice(self._bounds[first], self._bounds[stop])


@dataclass(frozen=True, eq=False, slots=True)
class _Keys:
    """All keys of events and of args, in file order."""

    string: Int64s
    """Which of the frame's strings."""
    start: Int64s
    """Position of the key's first character."""
    row: Int64s
    code: Bytes
    value: Int64s
    first: Bytes


def members_of(text: Text, frame: MarkedFrame) -> Members:
    """Find the members of all events of a frame."""
    row_of_brace = np.cumsum(frame.is_open & (frame.depth == EVENT_DEPTH)) - 1
    keys = _keys(text, frame, row_of_brace)
    bounds = np.cumsum(np.bincount(keys.code, minlength=LAST_CODE + 1))
    order = np.argsort(keys.code, kind="stable")[bounds[Key.NONE] :]
    bounds = [0, *(bounds - bounds[Key.NONE]).tolist()]
    first, stop = (bounds[code] for code in _KINDS[Kind.TEXT])
    end = frame.closes.take(keys.string.take(order) + 1, mode="clip")
    end[first:stop] = _text_ends(frame, row_of_brace, keys, order[first:stop])
    odd = (
        keys.row[_senseless(text, keys)],
        keys.row[_loose_strings(frame, keys)],
        _odd_args(frame, row_of_brace, keys),
    )
    return Members(
        keys.row.take(order), keys.value.take(order), keys.first.take(order), end, np.concatenate(odd), bounds
    )


def _keys(text: Text, frame: MarkedFrame, row_of_brace: Int64s) -> _Keys:
    """Strings before a colon, at the depth of events or their args."""
    string, close, colon = _before_colons(text, frame)
    place = np.concatenate((np.zeros(1, dtype=np.int64), (row_of_brace << 2) | np.minimum(frame.depth, 3)))
    where = np.repeat(place, np.diff(frame.strings_before, prepend=0, append=len(frame.opens))).take(string)
    if frame.depth.max(initial=0) > ARGS_DEPTH:
        shallow = np.flatnonzero((where & 3) <= ARGS_DEPTH)
        string, close, colon, where = (every.take(shallow) for every in (string, close, colon, where))
    start = frame.opens.take(string)
    start += 1
    length = np.subtract(close, start, out=close)
    code = codes_of(text, start, length, where & 3)
    value, first = _values(text, colon)
    where >>= 2
    return _Keys(string, start, where, code, value, first)


def _steps(counts: Int64s, end: int) -> Int64s:
    """From each count to the next, and from the last to the end."""
    steps = np.empty_like(counts)
    np.subtract(counts[1:], counts[:-1], out=steps[:-1])
    steps[-1:] = end - counts[-1:]
    return steps


def _before_colons(text: Text, frame: MarkedFrame) -> tuple[Int64s, Int64s, Int64s]:
    """Strings that a colon follows, their closing quotes, and where the colon is."""
    string = np.flatnonzero(frame.after == _COLON)
    close = frame.closes.take(string)
    colon = close + 1
    spaced = np.flatnonzero(frame.after <= _SPACE)
    place = text.after_space(frame.closes.take(spaced) + 1)
    late = np.flatnonzero(text.at(place) == _COLON)
    if not len(late):
        return string, close, colon
    string, colon = np.append(string, spaced.take(late)), np.append(colon, place.take(late))
    order = np.argsort(string)
    string, colon = string.take(order), colon.take(order)
    return string, frame.closes.take(string), colon


def _values(text: Text, colon: Int64s) -> tuple[Int64s, Bytes]:
    """Where the value behind each colon begins, and with which character."""
    value = colon + 1
    value += (text.at(value) == _SPACE).view(np.int8)
    first = text.at(value)
    spaced = np.flatnonzero(first <= _SPACE)
    if len(spaced):
        value[spaced] = text.after_space(value[spaced])
        first[spaced] = text.at(value[spaced])
    return value, first


def _senseless(text: Text, keys: _Keys) -> Int64s:
    """Keys whose value begins like no JSON value: NaN, inf, N/A and the like."""
    if not keys.first.tobytes().translate(None, _USUAL_START):
        return np.empty(0, dtype=np.int64)
    unusual = np.flatnonzero(~chars_in(_USUAL_START).take(keys.first))
    word = text.words_at(keys.value[unusual])
    literal = np.isin(word & KEEP[4], _LITERALS)
    negative = (keys.first[unusual] == _MINUS) & _DIGITS[(word >> np.uint64(8)) & np.uint64(255)]
    return unusual[~(literal | negative)]


def _loose_strings(frame: MarkedFrame, keys: _Keys) -> Int64s:
    """Keys followed by other strings than their value holds: the value is a name with bare quotes."""
    expected = (keys.first == QUOTE).view(np.int8) + np.int8(1)
    loose = np.flatnonzero(_steps(keys.string, len(frame.opens)) != expected)
    first = keys.first.take(loose)
    return loose[(first != OPEN) & (first != _BRACKET)]


def _odd_args(frame: MarkedFrame, row_of_brace: Int64s, keys: _Keys) -> Int64s:
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


def _text_ends(frame: MarkedFrame, row_of_brace: Int64s, keys: _Keys, texts: Int64s) -> Int64s:
    """End of the values of these keys: of strings the closing quote, else the next key or the end of the args."""
    end = frame.closes.take(keys.string.take(texts) + 1, mode="clip")
    other = np.flatnonzero(keys.first.take(texts) != QUOTE)
    if len(other):
        args_end = frame.ends.copy()
        closing = np.flatnonzero(~frame.is_open & (frame.depth == EVENT_DEPTH))
        args_end[row_of_brace.take(closing)] = frame.braces.take(closing)
        key = texts.take(other)
        next_key = keys.start.take(np.minimum(key + 1, len(keys.start) - 1)) - 1
        row = keys.row.take(key)
        limit = args_end.take(row)
        limit = np.where(limit < keys.value.take(key), frame.ends.take(row), limit)
        end[other] = np.where(key + 1 < len(keys.start), np.minimum(next_key, limit), limit)
    return end
