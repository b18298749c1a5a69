"""The keys of an event that become columns, recognised in text by a hash that knows their depth."""

from __future__ import annotations

from enum import IntEnum
from itertools import count
from typing import Final

import numpy as np

from tracelens.loading.fields import ARGUMENTS, Kind
from tracelens.loading.words import Hashes, Text, short_hash
from tracelens.model.events import Bytes, Int64s

ARGS_DEPTH: Final = 2


class Key(IntEnum):
    """Code of a key of the event itself; arguments follow from FIRST_ARGUMENT on, in the order of ARGUMENTS."""

    NONE = 0
    PHASE = 1
    CATEGORY = 2
    NAME = 3
    PID = 4
    TID = 5
    TIME = 6
    DURATION = 7
    ID = 8
    ARGS = 9
    FIRST_ARGUMENT = 10


_EVENT_KEYS: Final = {
    "ph": Key.PHASE,
    "cat": Key.CATEGORY,
    "name": Key.NAME,
    "pid": Key.PID,
    "tid": Key.TID,
    "ts": Key.TIME,
    "dur": Key.DURATION,
    "id": Key.ID,
    "args": Key.ARGS,
}
ARGUMENT_CODES: Final = {key: Key.FIRST_ARGUMENT + place for place, key in enumerate(ARGUMENTS)}
"""Key of `args` -> code."""
LAST_CODE: Final = Key.FIRST_ARGUMENT + len(ARGUMENTS) - 1

IS_TEXT: Final = np.zeros(LAST_CODE + 1, dtype=np.bool_)
"""Of each code whether it is an argument kept as text."""
IS_TEXT[[code for key, code in ARGUMENT_CODES.items() if ARGUMENTS[key][1] == Kind.TEXT]] = True

_BITS: Final = 10
_DEPTH_MARK: Final = np.uint64(0x8000_0000_0000_0001)


def codes_of(text: Text, start: Int64s, length: Int64s, is_argument: Bytes) -> Bytes:
    """Code of each key by its text and depth; Key.NONE for keys that no column wants."""
    hashes = _hashes(text, start, length, is_argument)
    slots = _slots(hashes, _MULTIPLIER)
    return _TABLE_CODES.take(slots) * (_TABLE_HASHES.take(slots) == hashes)


def _hashes(text: Text, start: Int64s, length: Int64s, is_argument: Bytes) -> Hashes:
    return short_hash(text, start, length) ^ (is_argument * _DEPTH_MARK)


def _slots(hashes: Hashes, multiplier: np.uint64) -> Int64s:
    return ((hashes * multiplier) >> np.uint64(64 - _BITS)).view(np.int64)


def _known() -> tuple[Hashes, Bytes]:
    """Hashes and codes of all wanted keys."""
    entries = [(key, int(code), 0) for key, code in _EVENT_KEYS.items()]
    entries += [(key, code, 1) for key, code in ARGUMENT_CODES.items()]
    encoded = [key.encode() for key, _, _ in entries]
    length = np.array([len(key) for key in encoded], dtype=np.int64)
    is_argument = np.array([argument for _, _, argument in entries], dtype=np.uint8)
    hashes = _hashes(Text.of(b"".join(encoded)), np.cumsum(length) - length, length, is_argument)
    return hashes, np.array([code for _, code, _ in entries], dtype=np.uint8)


def _perfect() -> tuple[np.uint64, Hashes, Bytes]:
    """A multiplier that sends all wanted keys to different slots, and the table that it fills."""
    hashes, codes = _known()
    multipliers = (np.uint64((odd * 0x9E3779B97F4A7C15) % 2**64) for odd in count(1, 2))
    multiplier = next(found for found in multipliers if len(np.unique(_slots(hashes, found))) == len(hashes))
    slots = _slots(hashes, multiplier)
    table = np.zeros(1 << _BITS, dtype=np.uint64)
    table_codes = np.zeros(1 << _BITS, dtype=np.uint8)
    table[slots], table_codes[slots] = hashes, codes
    return multiplier, table, table_codes


_MULTIPLIER, _TABLE_HASHES, _TABLE_CODES = _perfect()
