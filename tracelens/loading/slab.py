"""One slab under the vectorised decoder: its members, what they say and the events set aside as odd."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tracelens.loading.digits import Numbers
from tracelens.loading.framing import Frame, MarkedFrame
from tracelens.loading.jsontext import BROKEN, json_text, parsed
from tracelens.loading.members import Members, members_of
from tracelens.loading.plain import AnyFrame, PlainFrame
from tracelens.loading.raw import raw_values
from tracelens.loading.words import Text
from tracelens.model.events import Bools, Int64s

_BACKSLASH: Final = ord("\\")
_COLON: Final = ord(":")
_SCALAR: Final = re.compile(rb'-?\d+|"(?:[^"\\]|\\.)*+"')


@dataclass(eq=False, slots=True)
class Slab:
    """Framed events and their wanted members."""

    data: bytes
    frame: Frame
    members: Members
    raw: Numbers
    """What each member says before its text is numbered."""
    odd: Bools
    """Per event: to be decoded alone. Steps add to it."""
    may_repeat: bool = True
    """Whether an event may have two members of one key."""

    @classmethod
    def of(cls, data: bytes, frame: AnyFrame) -> Slab:
        """Find the members of a frame's events."""
        if isinstance(frame, PlainFrame):
            none_odd = np.zeros(len(frame), dtype=np.bool_)
            return cls(data, frame, frame.members, frame.raw, none_odd, frame.may_repeat)
        text = Text.of(memoryview(data)[: frame.stop])
        members = members_of(text, frame)
        odd = np.zeros(len(frame), dtype=np.bool_)
        odd[members.odd] = True
        odd[_not_utf8(data, frame)] = True
        odd[_with_escaped_keys(data, text, frame)] = True
        return cls(data, frame, members, raw_values(text, members), odd)

    def event(self, row: int) -> bytes:
        """Text of one event."""
        return self.data[int(self.frame.starts[row]) : int(self.frame.ends[row]) + 1]

    def scalar(self, member: int) -> str | None:
        """Text of a member's value that is a string or a whole number; None if it is no JSON."""
        found = _SCALAR.match(self.data, int(self.members.value[member]))
        value = parsed(found[0]) if found else BROKEN
        return None if value is BROKEN else json_text(value)

    def set_aside(self, members: npt.NDArray[np.integer]) -> None:
        """Mark the events of these members as odd."""
        self.odd[self.members.row[members]] = True


def _not_utf8(data: bytes, frame: Frame) -> Int64s:
    """Events that hold bytes which are not UTF-8."""
    at = 0
    found: list[int] = []
    while not data.isascii() and at < frame.stop:
        try:
            str(memoryview(data)[at : frame.stop], "utf-8")
            break
        except UnicodeDecodeError as error:
            event = int(np.searchsorted(frame.ends, at + error.start))
            found.append(event)
            at = int(frame.ends[event]) + 1 if event < len(frame) else frame.stop
    return np.array([event for event in found if event < len(frame)], dtype=np.int64)


def _with_escaped_keys(data: bytes, text: Text, frame: MarkedFrame) -> Int64s:
    """Events with a backslash in a key, which then reads otherwise than it looks."""
    if not len(frame.opens) or b"\\" not in data:
        return np.empty(0, dtype=np.int64)
    found = np.flatnonzero(text.bytes[: frame.stop] == _BACKSLASH)
    string = np.maximum(np.searchsorted(frame.opens, found) - 1, 0)
    within = (frame.opens[string] < found) & (found < frame.closes[string])
    in_key = within & (text.at(text.after_space(frame.closes[string] + 1)) == _COLON)
    return np.searchsorted(frame.ends, found[in_key])
