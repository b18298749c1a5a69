"""The keys of an event that become columns, recognised in text by their first word, their length and their depth."""

from __future__ import annotations

from enum import IntEnum
from itertools import count
from typing import Final

import numpy as np
import numpy.typing as npt

from tracelens.loading.fields import ARGUMENTS, Kind
from tracelens.loading.framing import EVENT_DEPTH
from tracelens.loading.words import KEEP, WORD, Hashes, Text
from tracelens.model.events import Bytes, Int64s

ARGS_DEPTH: Final = 2
"""Nesting of braces within an event's args."""

_EVENT_KEYS: Final = {
    "args": None,
    "ph": None,
    "cat": Kind.TEXT,
    "name": Kind.TEXT,
    "pid": Kind.INTEGER,
    "tid": Kind.INTEGER,
    "id": Kind.INTEGER,
    "ts": Kind.FLOAT,
    "dur": Kind.FLOAT,
}
_IN_ORDER: Final = (None, Kind.TEXT, Kind.INTEGER, Kind.FLOAT)


def _wanted() -> list[tuple[str, int, Kind | None]]:
    """Key, depth and kind of all wanted members; those of one kind follow each other."""
    found = [(key, EVENT_DEPTH, kind) for key, kind in _EVENT_KEYS.items()]
    found += [(key, ARGS_DEPTH, kind) for key, (_, kind) in ARGUMENTS.items()]
    return sorted(found, key=lambda one: _IN_ORDER.index(one[2]))


_WANTED: Final = _wanted()
_CODES: Final = {(key, depth): code for code, (key, depth, _) in enumerate(_WANTED, 1)}
ARGUMENT_CODES: Final = {key: _CODES[key, ARGS_DEPTH] for key in ARGUMENTS}
"""Key of `args` -> code."""
LAST_CODE: Final = len(_WANTED)


class Key(IntEnum):
    """Code of a key of the event itself. Codes grow with the kind: first no kind, then texts, integers and floats."""

    NONE = 0
    ARGS = _CODES["args", EVENT_DEPTH]
    PHASE = _CODES["ph", EVENT_DEPTH]
    CATEGORY = _CODES["cat", EVENT_DEPTH]
    NAME = _CODES["name", EVENT_DEPTH]
    PID = _CODES["pid", EVENT_DEPTH]
    TID = _CODES["tid", EVENT_DEPTH]
    ID = _CODES["id", EVENT_DEPTH]
    TIME = _CODES["ts", EVENT_DEPTH]
    DURATION = _CODES["dur", EVENT_DEPTH]


def codes_of_kind(kind: Kind) -> tuple[int, int]:
    """First code of a kind, and the one behind its last."""
    codes = [code for code, (_, _, one) in enumerate(_WANTED, 1) if one == kind]
    return codes[0], codes[-1] + 1


_BITS: Final = 10
"""Of the table's size: slots for each wanted key to be alone in one."""
_SLOT: Final = np.dtype(
    [("word", "<u8"), ("last_word", "<u8"), ("length", "<i4"), ("code", "u1"), ("kind", "u1")], align=True
)
"""A slot of the table as compiled code reads it. `kind` is the place in _IN_ORDER, of `args` the one behind all."""
_KEEP_WITH_QUOTE: Final = KEEP[[*range(1, WORD + 1), WORD]]
"""By length of a key, what keeps its first word and, where the key is shorter, the quote behind it."""


def codes_of(text: Text, start: Int64s, length: Int64s, depth: Int64s) -> Bytes:
    """Code of each key by its text, which a quote follows, and depth; Key.NONE for keys that no column wants."""
    words = _first_words(text, start, length, depth)
    slots = _slots(words, _MULTIPLIER)
    codes = _TABLE_CODES.take(slots)
    codes *= _TABLE_WORDS.take(slots) == words
    long = np.flatnonzero((length >= WORD) & (codes > Key.NONE))
    found, size = codes.take(long), length.take(long)
    last = text.words_at(start.take(long) + size - WORD)
    codes[long] *= (last == _LAST_WORDS.take(found)) & (size == _LENGTHS.take(found))
    return codes


def _first_words(text: Text, start: Int64s, length: Int64s, depth: Int64s) -> Hashes:
    """The first word of each key, marked with its length and depth."""
    words = text.words_at(start)
    words &= _KEEP_WITH_QUOTE.take(length, mode="clip")
    mark = length << 2
    mark += depth
    words ^= mark.view(np.uint64)
    return words


def _slots(words: Hashes, multiplier: np.uint64) -> Int64s:
    slots = words * multiplier
    slots >>= np.uint64(64 - _BITS)
    return slots.view(np.int64)


def _last_words(keys: list[bytes]) -> Hashes:
    """By code, the last eight bytes of keys that have so many."""
    words = [int.from_bytes(key[-WORD:], "little") if len(key) >= WORD else 0 for key in keys]
    return np.array([0, *words], dtype=np.uint64)


def _perfect(keys: list[bytes], depth: Int64s) -> tuple[np.uint64, Hashes, Bytes]:
    """A multiplier that sends all wanted keys to different slots, and the table that it fills."""
    length = np.array([len(key) for key in keys], dtype=np.int64)
    start = np.cumsum(length + 1) - length - 1
    words = _first_words(Text.of(b'"'.join([*keys, b""])), start, length, depth)
    multipliers = (np.uint64((odd * 0x9E3779B97F4A7C15) % 2**64) for odd in count(1, 2))
    multiplier = next(found for found in multipliers if len(np.unique(_slots(words, found))) == len(words))
    slots = _slots(words, multiplier)
    table = np.zeros(1 << _BITS, dtype=np.uint64)
    codes = np.zeros(1 << _BITS, dtype=np.uint8)
    table[slots], codes[slots] = words, np.arange(1, LAST_CODE + 1)
    return multiplier, table, codes


_ENCODED: Final = [key.encode() for key, _, _ in _WANTED]
_LENGTHS: Final = np.array([0, *map(len, _ENCODED)], dtype=np.int64)
_LAST_WORDS: Final = _last_words(_ENCODED)
_MULTIPLIER, _TABLE_WORDS, _TABLE_CODES = _perfect(
    _ENCODED, np.array([depth for _, depth, _ in _WANTED], dtype=np.int64)
)


def compiled_table() -> tuple[npt.NDArray[np.void], int]:
    """The same table for compiled code, and its multiplier."""
    kinds = np.array([0, *(_IN_ORDER.index(kind) for _, _, kind in _WANTED)], dtype=np.uint8)
    kinds[Key.ARGS] = len(_IN_ORDER)
    table = np.zeros(1 << _BITS, dtype=_SLOT)
    table["word"], table["code"] = _TABLE_WORDS, _TABLE_CODES
    for name, column in (("last_word", _LAST_WORDS), ("length", _LENGTHS), ("kind", kinds)):
        table[name] = column.take(_TABLE_CODES)
    return table, int(_MULTIPLIER)
