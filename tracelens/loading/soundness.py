"""Damage where no column reads: whole slabs are checked to be JSON while they are decoded.

The check is SQLite's, the one JSON parser of the standard library that lets other threads run meanwhile: where a second
core is free it costs next to no time. It says yes or no of a slab; only after a no are its events looked at one by one.
"""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise
from threading import Thread
from typing import Final

import numpy as np

from tracelens.loading.framing import Frame
from tracelens.loading.jsontext import BROKEN, parsed
from tracelens.loading.plain import PlainFrame
from tracelens.model.events import Bools

try:
    import sqlite3
except ImportError:  # a Python that was built without it
    sqlite3 = None

DAMAGED: Final = "damaged event read as far as it goes"
PIECE: Final = 1 << 20
"""Bytes that are checked at once, but that no event is cut: SQLite needs some 3 times as many for it."""
LONGEST_CHECKED: Final = 1 << 22
"""An event longer than this counts as sound: to check it could take more memory than all else."""
SMALL: Final = 1 << 15
"""Bytes below which a thread costs more than the check, and the values than SQLite."""
_IS_ARRAY: Final = "SELECT json_valid('[' || CAST(? AS TEXT) || ']')"


class SoundnessCheck:
    """A check of the events of a frame, which begins at once in a thread of its own."""

    def __init__(self, data: bytes, frame: Frame) -> None:
        self._data = data
        self._frame = frame
        self._damaged: list[range] = []
        """Rows of the pieces that are no JSON."""
        self._thread: Thread | None = None
        if isinstance(frame, PlainFrame):
            return  # it has been checked
        if frame.stop <= SMALL:
            self._damaged.append(range(len(frame)))
        else:
            self._thread = Thread(target=self._check, daemon=True)
            self._thread.start()

    def unsound(self, known: Bools) -> list[int]:
        """Events that are no JSON, in order, but for those `known` to be odd; waits for the check."""
        if self._thread:
            self._thread.join()
        others = {row: self._text(row, row) for piece in self._damaged for row in piece if not known[row]}
        together = b",".join(others.values())
        if parsed(b"[%b]" % together) is not BROKEN if len(together) <= SMALL else _is_list(together):
            return []
        return [row for row, text in others.items() if parsed(bytes(text)) is BROKEN]

    def _check(self) -> None:
        for piece in _pieces(self._frame):
            text = self._text(piece[0], piece[-1])
            if len(text) <= LONGEST_CHECKED and not _is_list(text):
                self._damaged.append(piece)

    def _text(self, first: int, last: int) -> memoryview:
        return memoryview(self._data)[int(self._frame.starts[first]) : int(self._frame.ends[last]) + 1]


def _pieces(frame: Frame) -> list[range]:
    """Rows of the frame by pieces: each has the events that end within the same PIECE of bytes."""
    bounds = [*np.searchsorted(frame.ends, np.arange(0, frame.stop, PIECE)).tolist(), len(frame)]
    return [range(first, stop) for first, stop in pairwise(bounds) if stop > first]


def _is_list(text: bytes | memoryview) -> bool:
    """Whether JSON values with commas between them are sound; also False where SQLite cannot tell."""
    if sqlite3 is None:
        return False
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            return bool(connection.execute(_IS_ARRAY, (text,)).fetchone()[0])
    except (sqlite3.Error, OverflowError, MemoryError):
        return False
