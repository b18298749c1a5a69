"""Places in compressed data from which inflating can go on, so that one event is read again without all before it."""

from __future__ import annotations

import os
import zlib
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

MOST_PLACES: Final = 256
"""A place holds about 40 KB: the last 32 KB of text, and tables."""
APART: Final = 1 << 21
"""Bytes of text between two places at first: what inflates in a few ms."""
_MOST_FILES: Final = 4
"""Files whose places are kept."""


class Inflater(Protocol):
    """What zlib calls a decompression object."""

    @property
    def eof(self) -> bool:
        """Whether the member has ended."""
        ...

    @property
    def unused_data(self) -> bytes:
        """Data behind the end of the member."""
        ...

    @property
    def unconsumed_tail(self) -> bytes:
        """Data not yet used, since the text had reached its greatest length."""
        ...

    def copy(self) -> Inflater:
        """The same state, to go on from twice."""
        ...

    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes:
        """Text of some more data."""
        ...

    def flush(self) -> bytes:
        """What is left of the text."""
        ...


def gzip_member() -> Inflater:
    """The state at the beginning of a gzip member."""
    return zlib.decompressobj(wbits=31)


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """How far inflating has come."""

    text: int = 0
    """Bytes of text so far."""
    data: int = 0
    """Bytes of the file used for it."""
    inflater: Inflater = field(default_factory=gzip_member)
    """The state there; copy it to go on."""


@dataclass(eq=False, slots=True)
class Places:
    """Places in one file, evenly apart: further apart the longer the text, so that their memory is bounded."""

    _all: list[Place] = field(default_factory=lambda: [Place()])
    _apart: int = APART

    def offer(self, place: Place) -> None:
        """Keep a place further on than all others if it is far enough from the last."""
        if place.text < self._all[-1].text + self._apart:
            return
        self._all.append(place)
        if len(self._all) > MOST_PLACES:
            self._apart *= 2
            self._all = self._all[::2]

    def before(self, text: int) -> Place:
        """The last place at or before a byte of the text."""
        return next(place for place in reversed(self._all) if place.text <= text)


FileKey: TypeAlias = tuple[int, ...]
_known: OrderedDict[FileKey, Places] = OrderedDict()


def remember(file: FileKey, places: Places) -> None:
    """Keep the places of a file, and of the last few before it."""
    _known[file] = places
    _known.move_to_end(file)
    while len(_known) > _MOST_FILES:
        _known.popitem(last=False)


def places_of(file: FileKey) -> Places:
    """What is known of a file, which may be nothing but its beginning."""
    return _known.get(file) or Places()


def file_key(file: int | str) -> FileKey:
    """What tells a file from every other, and from itself once it has changed."""
    state = os.stat(file)  # noqa: PTH116 - a descriptor as well
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns
