"""From the text of a trace to batches of events: walks the array, and finds its feet again after damage."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise, takewhile
from typing import Final, Protocol

import numpy as np

from tracelens.loading.batch import Batch, empty_batch, fill
from tracelens.loading.careful import NO_PHASE, Record, decode_one
from tracelens.loading.document import EVENT_BEGINS
from tracelens.loading.framing import Frame
from tracelens.loading.plain import AnyFrame, frame_of
from tracelens.loading.separators import (
    EVENT_CUT,
    SHOWN,
    STRAY,
    UNREADABLE,
    events_in,
    gap_end,
    leading_gap,
    note_between,
    note_gap,
)
from tracelens.loading.stream import TextWindow
from tracelens.loading.tables import Tables
from tracelens.loading.values import end_of_value, end_or_break

SLAB: Final = 1 << 20
"""Bytes of text that are framed at once."""
SMALL_SLAB: Final = 1 << 14
"""Where frames go on after damage: the rest of a large slab would be scanned again at every further one."""
FEWEST_ALONE: Final = 8
"""Events that are read one by one after damage at first..."""
MOST_ALONE: Final = 4096
"""...and at most, twice as many at each further damage: a frame costs as much as many events."""
MOST_FRAMES_IN_VAIN: Final = 100
"""Frames without an event after which damage near damage is skipped without one."""
BLANK: Final = 1 << 12
"""White space that is longer is dropped before events are sought behind it."""
LONGEST_EVENT: Final = 1 << 26
"""Bytes after which an event that does not end is given up."""


class Decoder(Protocol):
    """Turns framed events into columns."""

    def decode(self, data: bytes, frame: AnyFrame, offset: int) -> tuple[Batch, int]:
        """Batch of the frame's leading events up to the first that cannot be read, and how many these are.

        `offset` is the byte offset of `data` in the file.
        """
        ...


NO_EVENT: Final = "objects without a ph skipped"
SKIPPED: Final = (UNREADABLE, NO_EVENT)
"""Repairs that count what is no row."""
_NEXT_EVENT: Final = re.compile(rb"\}\s*+,?\s*+(?=" + EVENT_BEGINS + rb")")
_ARRAY_END: Final = re.compile(rb'\}\s*+,?\s*+(?=\]\s*(?:,\s*"[^"]*"\s*:|\}|\Z))')
_EVENT: Final = re.compile(rb"(?<!:)(?<!: )" + EVENT_BEGINS)
"""What begins an event and is no member's value."""
_STRAY_RUN: Final = re.compile(
    rb"(?:" + STRAY.pattern + rb")(?=\s*[,\]])(?:[ \t\r\n]*+,[ \t\r\n]*+(?:" + STRAY.pattern + rb")(?=\s*[,\]]))*+",
    re.DOTALL,
)
_ELEMENT_END: Final = re.compile(rb'\s*+(?:,(?!\s*+"[^"]*+"\s*+:)|\])')
_MOST_MENDED: Final = 1000
"""Damaged events that are handed on at once."""
_BRACES: Final = (b"{", b"}")


class EventReader:
    """Reads the elements of one array of events from a window of text."""

    def __init__(self, window: TextWindow, tables: Tables, decoder: Decoder, emit: Callable[[Batch], None]) -> None:
        self._window = window
        self._tables = tables
        self._decoder = decoder
        self._emit = emit
        self._slab = SLAB
        self._in_vain = 0
        """Frames that gave no event."""
        self._reach = SLAB
        """How far the end of an array among the events is sought."""
        self._alone, self._pace = 0, FEWEST_ALONE
        """How many of the next events are read one by one, and how many are after the next damage."""
        self._commas: int | None = 0
        """How many commas must come next; None where damage left that open."""
        self._mended: list[tuple[int, int, Record]] = []
        """Place, length and content of events read one by one that are not handed on yet: each alone is dear."""

    def read(self) -> bool:
        """Read all events up to the end of the array, which is dropped; False if the text ends first."""
        while not self._closed():
            if self._skip_strays() or self._take_alone():
                continue
            frame = self._frame()
            if len(frame):
                self._take(frame)
            elif frame.clean and self._lengthen():
                continue
            elif self._at_end():
                return False
            else:
                self._in_vain += 1
                self._take_damaged()
        return True

    def _closed(self) -> bool:
        """Whether the array ends here; if so, drop its bracket. Counts what should not be before the next element."""
        if len(self._window.data) < BLANK:
            self._window.more()
        self._drop_blank()
        gap = leading_gap(self._window)
        closing = self._window.data[len(gap) : len(gap) + 1] == b"]"
        wanted = 0 if closing and self._commas else self._commas
        follows = self._window.data[len(gap) : len(gap) + SHOWN]
        if closing | note_gap(gap, wanted, follows, self._window.offset, self._tables.repairs):
            self._window.drop(len(gap) + closing)
            self._commas = None
        if closing:
            self._beware()
        return closing

    def _drop_blank(self) -> None:
        """Move past white space that goes on and on, which the window need not hold."""
        window = self._window
        while len(window.data) >= BLANK and window.data[:BLANK].isspace():
            window.drop(len(window.data) - len(window.data.lstrip()))
            if not window.data:
                window.more()

    def _skip_strays(self) -> bool:
        """Whether elements that are no objects come next; if so, count and drop them."""
        at = gap_end(self._window.data)
        if self._window.data[at : at + 1] in _BRACES:
            return False
        found = _STRAY_RUN.match(self._window.data, at)
        begin, end = found.span() if found else self._stray_array()
        if not end:
            return False
        count = len(STRAY.findall(found[0])) if found else 1
        text, offset = self._window.data[begin : min(end, begin + 200)], self._window.offset + begin
        self._tables.repairs.add(UNREADABLE, text, offset, count)
        self._window.drop(end)
        self._commas = 1
        if not found:
            self._beware()
        return True

    def _stray_array(self) -> tuple[int, int]:
        """Where an array among the events begins and ends, (0, 0) where none comes next or none that ends."""
        begin = gap_end(self._window.data)
        if self._window.data[begin : begin + 1] != b"[":
            return 0, 0
        length, whole = end_or_break(self._window.data[begin : begin + BLANK])
        if not whole:
            length = end_of_value(self._window.data[begin : begin + self._reach]) or 0
            self._reach = self._reach if length else max(self._reach // 2, BLANK)
        behind = _ELEMENT_END.match(self._window.data, begin + length) if length else None
        return (begin, begin + length) if length and behind else (0, 0)

    def _frame(self) -> AnyFrame:
        if len(self._window.data) < self._slab:
            self._window.more()
        whole = len(self._window.data) < 2 * self._slab
        return frame_of(self._window.data if whole else self._window.data[: self._slab])

    def _take(self, frame: AnyFrame) -> None:
        """Decode the framed events up to the first one that is beyond mending in its frame."""
        self.hand_on()
        batch, count = self._decoder.decode(self._window.data, frame, self._window.offset)
        if count:
            self._note_gaps(frame, count)
            self._emit(self._with_members(batch, frame))
            self._window.drop(int(frame.ends[count - 1]) + 1)
        if count < len(frame):
            self._in_vain += not count
            self._take_damaged()
            return
        self._commas = 1
        if frame.clean:
            self._slab, self._pace = min(SLAB, self._slab * 2), FEWEST_ALONE
        else:
            self._beware()

    def _note_gaps(self, frame: Frame, count: int) -> None:
        """Count what is wrong before the events of the frame that were read."""
        data, offset = self._window.data, self._window.offset
        times: Counter[tuple[bool, bytes]] = Counter()
        places: dict[tuple[bool, bytes], tuple[int, int]] = {}
        for event in takewhile(count.__gt__, frame.odd_gaps):
            begin, end = int(frame.ends[event - 1]) + 1 if event else 0, int(frame.starts[event])
            gap = event > 0, data[begin:end]
            times[gap] += 1
            places.setdefault(gap, (begin, end))
        for gap, (begin, end) in places.items():
            follows = data[end : end + SHOWN]
            wanted = 1 if gap[0] else None
            note_between(gap[1], wanted, follows, offset + begin, self._tables.repairs, times[gap])

    def _with_members(self, batch: Batch, frame: Frame) -> Batch:
        """The batch without what has no phase: columns for millions of empty objects would be many times the file."""
        lacking = batch.phase == NO_PHASE
        if not lacking.any():
            return batch
        first = int(frame.starts[int(lacking.argmax())])
        text, offset = self._window.data[first : first + BLANK], self._window.offset + first
        self._tables.repairs.add(NO_EVENT, text, offset, int(np.count_nonzero(lacking)))
        return batch.of(~lacking)

    def _lengthen(self) -> bool:
        """Look at more text for the end of an event; False when there is none or the event is absurdly long."""
        if self._slab >= LONGEST_EVENT:
            return False
        if self._slab < len(self._window.data):
            self._slab *= 4
            return True
        self._slab *= 2
        return self._window.more()

    def _at_end(self) -> bool:
        """Whether nothing but an event cut short is left; if so, count it and drop it."""
        window = self._window
        if not window.ended or _boundary(window.data):
            return False
        rest = window.data.lstrip(b" \t\r\n,")
        if rest:
            kind = EVENT_CUT if rest.startswith(b"{") else UNREADABLE
            self._tables.repairs.add(kind, rest[:200], window.offset + len(window.data) - len(rest))
        window.drop(len(window.data))
        return True

    def _beware(self) -> None:
        """Read what comes next in small steps, for damage is seldom alone."""
        self._slab = min(SMALL_SLAB, self._slab)
        if not self._alone:
            self._alone, self._pace = self._pace, min(2 * self._pace, MOST_ALONE)

    def _take_alone(self) -> bool:
        """Near damage, read the next event by itself; False where a frame must tell how far it goes."""
        window = self._window
        begin = gap_end(window.data)
        head = window.data[begin : begin + 1]
        if not self._alone or head not in _BRACES:
            return False
        if head == b"}":
            self._take_damaged()
            return True
        length, whole = end_or_break(window.data[begin : begin + BLANK])
        self._alone -= 1
        if whole:
            self._mend(window.data[begin : begin + length], window.offset + begin)
            window.drop(begin + length)
            self._commas = 1
            return True
        end = _boundary(window.data)
        if not length or begin + length >= end:
            return False
        if self._read_one(window.data[begin:end].rstrip(b" \t\r\n,"), window.offset + begin):
            window.drop(end)
            self._commas = None
            self._beware()
            return True
        if self._in_vain < MOST_FRAMES_IN_VAIN:
            return False
        self._take_damaged()
        return True

    def _take_damaged(self) -> None:
        """Read the text up to the next place where an event surely begins as one damaged event."""
        window = self._window
        end = _boundary(window.data)
        while not end and len(window.data) < LONGEST_EVENT and window.more():
            end = _boundary(window.data)
        end = end or len(window.data)
        begin = gap_end(window.data)
        text = window.data[begin:end].rstrip(b" \t\r\n,")
        self._mend(text, window.offset + begin)
        window.drop(end)
        self._commas = None
        self._beware()

    def _mend(self, text: bytes, offset: int) -> None:
        """Read a damaged text as one event, else as all that begin in it; count what cannot be read."""
        if text.startswith(b"{") and self._read_one(text, offset):
            return
        begins = (0, *(found.start() for found in _EVENT.finditer(text, 1)), len(text))
        for begin, end in pairwise(begins):
            piece = text[begin:end].rstrip(b" \t\r\n,")
            if len(begins) == 2 or b'"ph"' not in piece or not self._read_one(piece, offset + begin):
                self._skip(piece, offset + begin)

    def _skip(self, text: bytes, offset: int) -> None:
        """Count what cannot be read, but for a sound event at its head."""
        length, whole = end_or_break(text)
        if not whole or length == len(text) or not self._read_one(text[:length], offset):
            length = 0
        self._tables.repairs.add(UNREADABLE, text[length:][:200], offset + length, events_in(text[length:]))

    def _read_one(self, text: bytes, offset: int) -> bool:
        """Take a text that is one event, mended if need be; False if it is none."""
        found = decode_one(text, offset, self._tables.repairs)
        if found is None:
            return False
        if found.phase == NO_PHASE:
            self._tables.repairs.add(NO_EVENT, text[:200], offset)
            return True
        self._mended.append((offset, len(text), found))
        if len(self._mended) >= _MOST_MENDED:
            self.hand_on()
        return True

    def hand_on(self) -> None:
        """Hand on what is held back; to be called when nothing more is read."""
        if not self._mended:
            return
        offsets, lengths, records = zip(*self._mended, strict=True)
        self._mended.clear()
        batch = empty_batch(np.array(offsets, dtype=np.int64), np.array(lengths, dtype=np.int64))
        fill(batch, range(len(records)), records, self._tables)
        self._emit(batch)


def _boundary(data: bytes) -> int:
    """Position behind the damaged event at the head of the text, 0 if its end is not in sight."""
    event = _NEXT_EVENT.search(data)
    end = _ARRAY_END.search(data, 0, event.end() if event else len(data))
    return end.end() if end else event.end() if event else 0
