"""The outermost level of a trace file: finds the events, keeps everything else as metadata."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from tracelens.errors import UnreadableError
from tracelens.loading.foreign import kind_of_bytes, kind_of_first_key, kind_of_keys
from tracelens.loading.jsontext import BROKEN, parsed
from tracelens.loading.mend import mend
from tracelens.loading.repairs import RepairLog, one_line
from tracelens.loading.separators import events_in, leading_gap, note_controls, note_gap, unfinished
from tracelens.loading.stream import TextWindow
from tracelens.loading.values import end_of_value

EVENTS: Final = "traceEvents"
CUT: Final = "file cut short"
REST: Final = "text after the end skipped"
BEHIND: Final = "compressed file damaged behind the whole text"
MISMATCH: Final = "checksum of the compressed file does not match"
_MISMATCH_OF_ZLIB: Final = "incorrect data check"
"""What zlib says where any of the text may be another than was written, though all of it is there."""
BOM: Final = b"\xef\xbb\xbf"
LONGEST_VALUE: Final = 1 << 25
"""Bytes after which a key or value that does not end is given up."""
MOST_MEMBERS: Final = 2000
"""Members of the outermost object after which the rest is not read; profilers write a few dozen."""
EVENT_BEGINS: Final = rb'\{\s*+"(?:ph|cat|name|pid|tid|ts|dur|args|id|bp|s)"\s*+:'
"""What only an event begins with: damage ends there at the latest."""
_MORE_EVENTS: Final = re.compile(rb"[\s,]*+" + EVENT_BEGINS)
_LOOK_AHEAD: Final = 1 << 12
"""Bytes behind the end of an array in which further events are sought."""
_SHOWN: Final = 80
"""Bytes behind a gap that its example shows."""
_KEY: Final = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"(\s*+:\s*+)', re.DOTALL)
_UNFINISHED_KEY: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:\\?|"\s*+|"\s*+:\s*+)\Z', re.DOTALL)
_LINE_WITH_KEY: Final = re.compile(rb'\n[ \t\r]{0,4}(?="[^"\n]*+"\s*+:)')
_END_OF_MEMBER: Final = re.compile(rb'[\]}"\w]\s*+,?\s*+\Z')
_LOOK_BACK: Final = 64
"""Bytes before a line in which the member before it ends."""


class Document:
    """Reads one file: events go to `read_events` (True if their array was closed), other members to `metadata`."""

    def __init__(self, path: str, window: TextWindow, repairs: RepairLog, read_events: Callable[[], bool]) -> None:
        self.metadata: dict[str, Any] = {}
        self._path = path
        self._window = window
        self._repairs = repairs
        self._read_events = read_events
        self._found_events = False
        self._closed = False

    def read(self) -> None:
        """Read all of the window; UnreadableError if this is no Chrome trace."""
        self._window.more()
        broken = self._window.damage and not self._window.data
        foreign = (
            f"{self._window.damage} before any text; copy it again" if broken else kind_of_bytes(self._window.data)
        )
        if foreign:
            raise self._refusal(foreign)
        if self._window.data.startswith(BOM):
            self._repairs.add("byte order mark", "U+FEFF", 0)
            self._window.drop(len(BOM))
        self._skip_space(0)
        bare = self._peek() == b"["
        self._window.drop(1)
        if not bare:
            self._read_members()
        else:
            self._closed = self._read_array()
            if not self._closed:
                self._note_cut("the file ends within its array of events")
        self._note_rest()

    def _read_members(self) -> None:
        """Read the members of the outermost object; UnreadableError where none of them is an array of events."""
        commas: int | None = 0
        for _ in range(MOST_MEMBERS):
            if not self._skip_space(commas, b"}"):
                self._note_cut("the file ends within its outermost object")
                break
            if self._peek() == b"}":
                self._window.drop(1)
                self._closed = True
                break
            commas = 1 if self._read_member() else None
        if not self._found_events:
            shown = one_line(", ".join(list(self.metadata)[:5])) or "none"
            cut = self._is_broken_off() or self._repairs.made(CUT)
            kind = f"JSON {'cut short before any' if cut else 'without'} {EVENTS} (its keys: {shown})"
            if EVENTS in self.metadata:
                kind, cut = f"JSON whose {EVENTS} are no array of events; give the file that the profiler wrote", False
            raise self._refusal(kind_of_keys(self.metadata) or (f"{kind}; copy it again" if cut else kind))

    def _read_member(self) -> bool:
        """Read a key and its value; False if damage was skipped instead."""
        found = self._match_key()
        if not found:
            self._skip_damage()
            return False
        key = str(self._value(b'"%b"' % found[1]))
        note_controls(found[2], self._window.offset + found.start(2), self._repairs)
        self._window.drop(found.end())
        if key == EVENTS and self._peek() == b"[":
            self._window.drop(1)
            self._found_events = True
            self._read_array()
            return True
        if not self._found_events and not self.metadata and kind_of_first_key(key):
            raise self._refusal(kind_of_first_key(key))
        self._keep(key)
        return True

    def _read_array(self) -> bool:
        """Read the events, also those behind a bracket that closes their array too soon; False if the text ends."""
        while self._read_events():
            while len(self._window.data) < _LOOK_AHEAD and self._window.more():
                pass
            if not _MORE_EVENTS.match(self._window.data):
                return True
            self._repairs.add("array of events closed too soon", self._window.data[:200], self._window.offset)
        return False

    def _match_key(self) -> re.Match[bytes] | None:
        while _UNFINISHED_KEY.match(self._window.data) and self._within_reach():
            pass
        return _KEY.match(self._window.data)

    def _keep(self, key: str) -> None:
        """Keep one value and move behind it."""
        end = self._value_end()
        self.metadata[key] = self._value(self._window.data[:end])
        self._window.drop(end)

    def _value(self, text: bytes) -> object:
        """The value of a text at the head of the window, mended if need be, else the text itself."""
        value = parsed(text)
        if value is not BROKEN:
            return value
        mended = mend(text)
        value, kinds = mended or (one_line(text), ["unreadable metadata"])
        for kind in kinds:
            self._repairs.add(kind, (text or self._window.data)[:200], self._window.offset)
        return value

    def _value_end(self) -> int:
        while True:
            end = end_of_value(self._window.data)
            if end is not None:
                return end
            if not self._within_reach():
                found = _next_key(self._window.data)
                return found.start() if found else len(self._window.data)

    def _within_reach(self) -> bool:
        """Read on for the end of a key or value; False at the end of the text or past any sensible length."""
        return len(self._window.data) < LONGEST_VALUE and self._window.more()

    def _skip_damage(self) -> None:
        """Move to the next key of a line of its own, or to the end."""
        data = self._window.data
        found = _next_key(data)
        end = found.end() if found else max(data.rfind(b"}"), 0) or len(data)
        self._repairs.add("unreadable metadata", data[:200], self._window.offset, events_in(data[:end]))
        self._window.drop(end)

    def _note_cut(self, example: str) -> None:
        if not self._is_broken_off():
            self._repairs.add(CUT, example, self._window.offset)

    def _note_rest(self) -> None:
        """Count what follows the end of the document, or what broke it off."""
        while self._skip_space(None if self._repairs.made(REST) else 0):
            text = self._window.data
            count = events_in(text, least=0 if self._repairs.made(REST) else 1)
            self._repairs.add(REST, text[:200], self._window.offset, count)
            self._window.drop(len(text) - unfinished(text))
            if self._window.data and not self._window.more():
                self._window.drop(len(self._window.data))
        if self._window.damage:
            self._repairs.add(self._damage_kind(), self._window.damage, self._window.offset + len(self._window.data))

    def _damage_kind(self) -> str:
        """What is wrong with the compressed bytes: it may lie behind the end of the text."""
        if not self._is_broken_off():
            return MISMATCH
        return BEHIND if self._closed and not self._repairs.made(REST) else CUT

    def _is_broken_off(self) -> bool:
        """Whether there is more of the text than can be read."""
        return bool(self._window.damage) and _MISMATCH_OF_ZLIB not in self._window.damage

    def _skip_space(self, commas: int | None, closing: bytes = b"") -> bool:
        """Move past white space and so many commas, or none before what closes; False at the end of the text."""
        gap = leading_gap(self._window)
        closes = closing and self._window.data.startswith(closing, len(gap))
        follows = self._window.data[len(gap) : len(gap) + _SHOWN]
        note_gap(gap, 0 if commas and closes else commas, follows, self._window.offset, self._repairs)
        self._window.drop(len(gap))
        return bool(self._window.data)

    def _peek(self) -> bytes:
        return self._window.data[:1]

    def _refusal(self, kind: str) -> UnreadableError:
        hint = "" if ";" in kind else "; give the file that export_chrome_trace wrote"
        return UnreadableError(f"{self._path}: not a torch.profiler trace but {kind}{hint}")


def _next_key(data: bytes) -> re.Match[bytes] | None:
    """The first key on a line of its own behind what may be the end of a member, from its line end on."""
    lines = _LINE_WITH_KEY.finditer(data)
    return next((line for line in lines if _END_OF_MEMBER.search(data, *_just_before(line.start()))), None)


def _just_before(position: int) -> tuple[int, int]:
    return max(0, position - _LOOK_BACK), position
