"""Hashes to small numbers: an open-addressed table that is asked for whole arrays at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from tracelens.loading.words import Hashes
from tracelens.model.events import Int32s, Int64s

_FREE: Final = -(2**31)
_SMALLEST: Final = 12
"""Bits of the first table's size."""
_ROOM: Final = 4
"""Slots for each hash at least: a lookup that finds its slot taken costs another round."""


class HashTable:
    """Numbers of 64-bit hashes; new hashes get their numbers from a function that is asked once for each."""

    def __init__(self) -> None:
        self._count = 0
        self._clear(_SMALLEST)

    def ids(self, hashes: Hashes, numbers: Callable[[Int64s], Sequence[int]]) -> Int32s:
        """Number of each hash; `numbers(new)` gives those of hashes[new], all new, in order of appearance."""
        ids = self._ids.take(self._slots(hashes))
        new = np.flatnonzero(ids == _FREE)
        if len(new):
            _, first = np.unique(hashes[new], return_index=True)
            new = new[np.sort(first)]
            self._insert(hashes[new], np.array(numbers(new), dtype=np.int32))
            ids = self._ids.take(self._slots(hashes))
        return ids

    def _slots(self, hashes: Hashes) -> Int64s:
        """Slot of each hash: the one that holds it, or the free one where it would go."""
        slots = (hashes >> np.uint64(64 - self._bits)).view(np.int64)
        lost = np.flatnonzero(self._hashes.take(slots) != hashes)
        lost = lost[self._ids[slots[lost]] != _FREE]
        while len(lost):
            slots[lost] = (slots[lost] + 1) & (len(self._ids) - 1)
            at = slots[lost]
            lost = lost[(self._hashes[at] != hashes[lost]) & (self._ids[at] != _FREE)]
        return slots

    def _insert(self, hashes: Hashes, ids: Int32s) -> None:
        """Add distinct hashes that the table does not hold."""
        self._count += len(hashes)
        if _ROOM * self._count > len(self._ids):
            held = self._ids != _FREE
            hashes = np.concatenate((self._hashes[held], hashes))
            ids = np.concatenate((self._ids[held], ids))
            self._clear((_ROOM * self._count).bit_length() + 1)
        while len(hashes):
            slots, first = np.unique(self._slots(hashes), return_index=True)
            self._hashes[slots], self._ids[slots] = hashes[first], ids[first]
            hashes, ids = np.delete(hashes, first), np.delete(ids, first)

    def _clear(self, bits: int) -> None:
        self._bits = bits
        self._hashes = np.zeros(1 << bits, dtype=np.uint64)
        self._ids = np.full(1 << bits, _FREE, dtype=np.int32)
